/// RuleFacts: what rules ask of a run that its records do not say: its corpus, how it was asked
/// for, and how it ended. A value; the same from a run that has just ended and from its run.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

enum class Ending : std::uint8_t {
    by_itself,
    interrupted,  ///< by the user
    none,         ///< it was killed, or still goes on
};

struct RuleFacts {
    std::uint64_t trace_digest = 0;
    std::optional<std::uint64_t> trees;  ///< that users play; unknown without users
    std::uint64_t rows = 0;
    std::uint64_t input_tokens = 0;  ///< of those rows, once each
    /// In an infinite cache that begins empty; nothing where a row is recorded text.
    std::optional<std::uint64_t> expected_cached_tokens;
    std::uint64_t users = 0;
    OptionalNs for_ns;                   ///< `--for`
    OptionalNs measured_from_ns;         ///< begin of the profile phase, from time 0; or not known
    std::vector<std::string> arguments;  ///< TRACE.., then `--flag=value`
    Ending ending = Ending::by_itself;
};

}  // namespace driftless
