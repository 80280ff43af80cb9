/// What the mock does wrong on purpose (`--fault`, `--fault-row`). No clock, no global randomness:
/// the same seed and request meet the same fault.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/core/names.hpp"

namespace driftless::mock {

enum class Fault : std::uint8_t {
    none,
    refuse,     ///< reset the connection: right after accepting it, or at the head of its row
    reset,      ///< reset it in the middle of the answer
    stall,      ///< send no more in the middle of the answer, keep the connection open
    truncate,   ///< close in good order in the middle of the answer, without its last chunk
    malformed,  ///< one event in the middle is broken JSON; the answer goes on
    error,      ///< an error object in the middle of the stream, then [DONE]
    http_429,   ///< 429 with Retry-After
    http_500,   ///< 500 with vLLM's body
    slow,       ///< the first bytes of the answer leave one by one
};

}  // namespace driftless::mock

namespace driftless {
/// As the command line spells them.
template <>
inline constexpr auto closed_list<mock::Fault> = name_list(
    "none", "refuse", "reset", "stall", "truncate", "malformed", "error", "429", "500", "slow");
template <>
inline constexpr bool first_is_null<mock::Fault> = true;
}  // namespace driftless

namespace driftless::mock {

struct FaultRule {
    Fault fault = Fault::none;
    double probability = 0;  ///< where there is no row
    std::optional<std::uint64_t> row;
};

/// The fault of one request: the first rule for its row, else one drawn from the probabilities by
/// `seed`. Refusal by probability belongs to connections and is left out.
Fault fault_of_request(const std::vector<FaultRule>& rules, std::optional<std::uint64_t> row,
                       std::uint64_t seed);
/// Whether a new connection is refused.
bool refuses_connection(const std::vector<FaultRule>& rules, std::uint64_t seed);

/// The row that a request id names: its digits after the last '-'. None for the probes of a
/// preflight (RequestName) and for ids that end otherwise.
std::optional<std::uint64_t> row_of_request_id(std::string_view id);

}  // namespace driftless::mock
