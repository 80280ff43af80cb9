/// Due: one request, and the instant at which it must be sent. A plain value that goes with the
/// request all the way to its record, so that nobody behind the schedule looks anything up.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "proto/record/outcome.hpp"

namespace driftless {

struct Due {
    std::int64_t due_ns = 0;    ///< from time 0
    std::uint32_t request = 0;  ///< number of the sending: where each row is sent once, its
                                ///< position in the plan; users use it again in a later pass
    std::uint32_t row = 0;      ///< position in `Trace::rows`
    std::uint32_t rank = 0;     ///< how many requests of the same instant go before it
    /// Position in `Trace::rows` of a row that this one waited for, in vain: it will not be sent.
    std::uint32_t failed_row = none_failed;
    /// From time 0: when the last of the rows that it waited for had ended, or had left where it
    /// waited for that alone.
    std::int64_t parent_end_ns = no_parent;
    std::uint32_t pass = 0;        ///< how often the corpus had been gone through before
    std::uint32_t user = no_user;  ///< who sends it
    Phase phase = Phase::profile;  ///< what it is sent for
    std::uint8_t attempt = 0;      ///< how often the row was sent before in this pass, in vain
    bool one_token = false;        ///< of its answer no more is asked for
    Side side = Side::none;        ///< which of two servers it is for (dual fire)

    static constexpr std::uint8_t attempts_max = 31;  ///< an event has room for no more
    static constexpr std::uint32_t no_user = UINT32_MAX;
    static constexpr std::uint32_t none_failed = UINT32_MAX;
    static constexpr std::int64_t no_parent = INT64_MIN;  ///< it waited for none
};
static_assert(sizeof(Due) == 48);

/// Tokens that the answer is to have; 0: not known.
inline std::uint32_t asked_tokens(const Due& due, const TraceRow& row) {
    return due.one_token ? 1 : row.output_length;
}

/// A row or a namespace, in one pass through the corpus: passes have nothing in common.
constexpr std::uint64_t number_in_pass(std::uint32_t number, std::uint32_t pass) {
    return std::uint64_t{pass} << 32 | number;
}

/// Tells the sendings of a run apart, but for attempts: by row, pass and side. `pass`: below 2^31.
constexpr std::uint64_t sending_number(std::uint32_t row, std::uint32_t pass, Side side) {
    return number_in_pass(row, pass) | std::uint64_t{side == Side::b ? 1U : 0U} << 63;
}

/// That of one row of a plan whose instants are all known, in O(log rows).
Due due_at(const Plan& plan, std::uint32_t position);

}  // namespace driftless
