/// EarlierRows, RowEnds: rows of a run that went before this segment of it, as far as others wait
/// for them, or come after them. Plain values, made of what the run has written (engine/history).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace driftless {

/// Instants from time 0 of the run.
struct EarlierRow {
    std::optional<std::int64_t> fired_ns;
    std::optional<std::int64_t> answered_ns;  ///< its answer was whole then, or it was abandoned
};

/// By the `index` of the row.
using EarlierRows = std::unordered_map<std::uint32_t, EarlierRow>;

/// Sendings with a record, by their `sending_number` (the `index` of the row, where each is sent
/// once, to one server): whether it is known that they ended. Those that were not sent, or were
/// lost, are not known to have.
using RowEnds = std::unordered_map<std::uint64_t, bool>;

}  // namespace driftless
