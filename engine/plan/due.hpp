/// One request as plain values: when it is due, how it ended, when its client gives it up, and what
/// is known of those of earlier segments.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "engine/plan/plan.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// Due: one request, and the instant at which it must be sent. A plain value that goes with the
/// request all the way to its record, so that nobody behind the schedule looks anything up.
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

/// TurnEnd: how a request ended, as far as it matters to those that wait for it. A plain value.
struct TurnEnd {
    bool answered = false;  ///< by a whole answer
    /// Its client gave it up, by plan: a user who goes on with the next turn. It is not sent again.
    bool is_abandoned = false;
    bool is_429 = false;
    /// Of a 429: when its server says that the request may come again, from its end.
    std::int64_t retry_after_ns = unknown;

    static constexpr std::int64_t unknown = -1;

    /// Others go on behind it.
    bool goes_on() const { return answered || is_abandoned; }

    // NOLINTNEXTLINE(google-explicit-constructor): most ends say nothing else.
    TurnEnd(bool is_answered) : answered(is_answered) {}
};

/// How long nothing is sent in the place of what has failed so often in a row, from 1: a server
/// that refuses all at once is not asked again at once.
constexpr std::int64_t failure_pause_ns(std::uint32_t failures) {
    constexpr std::int64_t first_ns = 100'000'000;
    constexpr std::int64_t longest_ns = 30'000'000'000;
    constexpr std::uint32_t doublings_max = 9;
    const std::uint32_t doublings = failures == 0 ? 0 : failures - 1;
    const std::int64_t pause_ns = first_ns
                                  << (doublings < doublings_max ? doublings : doublings_max);
    return pause_ns < longest_ns ? pause_ns : longest_ns;
}

// Abandonment: which requests their clients give up, and how long after the fire (`--abandon`).
// A pure draw from the seed and the request itself. The same requests are given up in each run of
// a seed, whatever the order, the speed or the number of shards. Reads no clock.

/// `--abandon P:T1..T2`. Plain values.
struct AbandonRules {
    double share = 0;          ///< of the requests; 0: none
    std::int64_t from_ns = 0;  ///< after the fire
    std::int64_t to_ns = 0;    ///< inclusive; not less than `from_ns`
    std::uint64_t seed = 0;
    bool any() const { return share > 0; }
};

/// One sending of a row: each attempt of it has a draw of its own.
struct RequestIdentity {
    std::uint32_t row = 0;  ///< in file order (TraceRow::index)
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
};

/// How long after its fire the client gives up a request whose answer has not ended by then: evenly
/// distributed from `from_ns` to `to_ns`. Nothing: the client waits for the whole answer.
std::optional<std::int64_t> abandoned_after_ns(const AbandonRules& rules,
                                               const RequestIdentity& request);

// EarlierRows, RowEnds: rows of a run that went before this segment of it, as far as others wait
// for them, or come after them. Plain values, made of what the run has written (engine/history).

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
