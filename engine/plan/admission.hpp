/// Admission: which whole families of a trace are played, by their length and their number.
///
/// A server with a short context can not take every conversation. Leaving out single rows would
/// change what the others share, so families (families.hpp) stay or go whole: first those go that
/// have a row which is too long, then those behind the first N. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/families.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct AdmissionRules {
    std::optional<std::uint64_t> context_max;  ///< `--max-context`: tokens of a row, in and out
    std::optional<std::uint32_t> trees_max;    ///< `--max-trees`: families, in file order
    bool any() const { return context_max.has_value() || trees_max.has_value(); }
};

struct AdmissionFigures {
    std::uint32_t families = 0;  ///< 0 where none was asked to go
    std::uint32_t too_long = 0;  ///< left out for a row that is too long
    std::uint32_t kept = 0;
};

/// Rows of families that do not stay leave the trace, with what waits for them. Rows that stay keep
/// their indices and times.
void keep_families(const Families& families, const std::vector<bool>& stays, Trace& trace);

/// The trace may be empty afterwards.
AdmissionFigures admit(const AdmissionRules& rules, Trace& trace);

}  // namespace driftless
