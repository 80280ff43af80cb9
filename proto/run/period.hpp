/// What a run did over its time: lines of `fired.jsonl`, `periods.jsonl` and `events.jsonl`. Plain
/// values and their walks (proto/json/members.hpp), by which lines are written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/core/names.hpp"
#include "proto/json/members.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// FiredRow: a row that left, and why it was late: should it have no record. Older files have only
/// the row and when it was fired.
struct FiredRow {
    std::uint32_t row = 0;
    std::optional<std::uint32_t> pass = {};  ///< of users alone
    std::optional<Side> side = {};           ///< of dual fire alone
    OptionalNs due_ns;
    std::int64_t fired_ns = 0;
    std::int64_t held_ns = 0;
    LateCause late_cause = LateCause::none;
};

void walk(auto& fields, IsOf<FiredRow> auto& fired) {
    fields.value("row", 1, fired.row);
    fields.if_known("pass", 8, fired.pass);
    fields.if_known("side", 14, fired.side);
    fields.value("due_ns", 2, fired.due_ns);
    fields.value("fired_ns", 1, fired.fired_ns);
    fields.value("held_ns", 2, fired.held_ns);
    fields.value("late_cause", 2, fired.late_cause);
}

// Period: what a stretch of a run did: one line of `periods.jsonl`. A plain value; engine/record
// sums it up (periods.hpp), JSONL carries it. What each field means, and when it is known:
// README.md.
//
// Instants are ns from time 0 of the run; unknown is nullopt and written as null, never 0.

/// ns, nearest rank, within 0.1 %; null where nothing was measured.
struct PeriodPercentiles {
    std::optional<std::int64_t> p50;
    std::optional<std::int64_t> p90;
    std::optional<std::int64_t> p99;
};

struct Period {
    std::uint64_t period = 0;  ///< its number: `begin_ns` divided by `--period`, rounded down
    std::uint32_t segment = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< not in it
    Phase phase = Phase::profile;

    std::uint64_t released = 0;   ///< fired
    std::uint64_t ended = 0;      ///< records
    std::uint64_t unsent = 0;     ///< of these, never fired
    std::uint64_t failed = 0;     ///< of those that ended, without a whole answer; `abandoned` not
    std::uint64_t abandoned = 0;  ///< of those that ended, given up by their clients
    std::uint64_t censored = 0;   ///< of the failed, cut off because the time of the run was over
    std::uint64_t in_flight = 0;
    std::optional<std::uint64_t> live_trees;   ///< null without users and sessions
    std::optional<std::uint64_t> users_added;  ///< null without users

    std::uint64_t first_tokens = 0;
    std::int64_t input_tokens = 0;
    std::int64_t input_tokens_corrected = 0;  ///< of these, known at the ends only; may be negative
    std::int64_t output_tokens = 0;
    /// The same. Null where an answer that ended in it was not counted: `output_tokens` are at
    /// least so many then.
    std::optional<std::int64_t> output_tokens_corrected = 0;
    PeriodPercentiles ttft;      ///< of the first tokens
    PeriodPercentiles ttft_due;  ///< of the first tokens
    PeriodPercentiles tpot;      ///< of the ends that are ok

    std::optional<std::uint64_t> good;  ///< null without `--goodput`
    /// By the ends of their bars: so many at least and at most.
    std::optional<std::uint64_t> good_least;
    std::optional<std::uint64_t> good_most;
    std::optional<double> goodput;  ///< good / ended, undecided ones left out; or null

    // Of the requests that ended; null where none of them knows it.
    std::optional<std::int64_t> expected_cached_tokens;
    /// Of those of them that say what they had cached.
    std::optional<std::int64_t> expected_cached_tokens_reported;
    std::optional<std::int64_t> cached_tokens;
};

void walk(auto& fields, IsOf<Period> auto& period) {
    fields.value("period", 1, period.period);
    fields.value("segment", 1, period.segment);
    fields.value("begin_ns", 1, period.begin_ns);
    fields.value("end_ns", 1, period.end_ns);
    fields.value("phase", 1, period.phase);
    fields.value("released", 1, period.released);
    fields.value("ended", 1, period.ended);
    fields.value("unsent", 1, period.unsent);
    fields.value("failed", 1, period.failed);
    fields.value("abandoned", 1, period.abandoned);
    fields.value("censored", 1, period.censored);
    fields.value("in_flight", 1, period.in_flight);
    fields.value("live_trees", 1, period.live_trees);
    fields.value("users_added", 1, period.users_added);
    fields.value("first_tokens", 1, period.first_tokens);
    fields.value("input_tokens", 1, period.input_tokens);
    fields.value("input_tokens_corrected", 1, period.input_tokens_corrected);
    fields.value("output_tokens", 1, period.output_tokens);
    fields.value("output_tokens_corrected", 1, period.output_tokens_corrected);
    fields.value("ttft_p50_ns", 1, period.ttft.p50);
    fields.value("ttft_p90_ns", 1, period.ttft.p90);
    fields.value("ttft_p99_ns", 1, period.ttft.p99);
    fields.value("ttft_due_p50_ns", 1, period.ttft_due.p50);
    fields.value("ttft_due_p90_ns", 1, period.ttft_due.p90);
    fields.value("ttft_due_p99_ns", 1, period.ttft_due.p99);
    fields.value("tpot_p50_ns", 1, period.tpot.p50);
    fields.value("tpot_p90_ns", 1, period.tpot.p90);
    fields.value("tpot_p99_ns", 1, period.tpot.p99);
    fields.value("good", 1, period.good);
    fields.value("good_least", 1, period.good_least);
    fields.value("good_most", 1, period.good_most);
    fields.value("goodput", 1, period.goodput);
    fields.value("expected_cached_tokens", 1, period.expected_cached_tokens);
    fields.value("expected_cached_tokens_reported", 1, period.expected_cached_tokens_reported);
    fields.value("cached_tokens", 1, period.cached_tokens);
}

// TimedEvent: what became of one `--event` of a run: one line of `events.jsonl`. A plain value;
// engine/watch makes it. Its schema is timed_event.schema.json.
//
// Instants are ns from time 0 of the run; unknown is nullopt and written as null, never 0.

enum class TimedEventKind : std::uint8_t { post, run, label };
template <>
inline constexpr auto closed_list<TimedEventKind> = name_list("post", "run", "label");

enum class EventStatus : std::uint8_t {
    ok,         ///< exit code 0, or an HTTP status of 200 to 299
    failed,     ///< another one, or it could not be begun
    timed_out,  ///< ended by force at its time limit
    cut_off,    ///< ended by force because the run was over
    not_run,    ///< the run was over before
    unknown,    ///< the run was killed while it went on, or when it was due
};
template <>
inline constexpr auto closed_list<EventStatus> =
    name_list("ok", "failed", "timed_out", "cut_off", "not_run", "unknown");

/// Bytes of an output that are kept.
inline constexpr std::size_t event_output_max = 4096;

struct TimedEvent {
    std::uint64_t event = 0;  ///< its number, as given, from 0
    std::uint32_t segment = 0;
    TimedEventKind kind = TimedEventKind::label;
    std::string what;        ///< URL, command line or label
    std::int64_t at_ns = 0;  ///< when it was to begin
    std::optional<std::int64_t> begin_ns;
    std::optional<std::int64_t> end_ns;
    EventStatus status = EventStatus::not_run;
    std::optional<std::int64_t> code;    ///< exit code, or HTTP status
    std::optional<std::int64_t> signal;  ///< that ended the command
    std::string error;                   ///< why there is neither; empty: null
    std::string output;                  ///< its first `event_output_max` bytes
    std::uint64_t output_bytes = 0;      ///< all that were read
};

void walk(auto& fields, IsOf<TimedEvent> auto& event) {
    fields.value("event", 1, event.event);
    fields.value("segment", 1, event.segment);
    fields.value("kind", 1, event.kind);
    fields.value("what", 1, event.what);
    fields.value("at_ns", 1, event.at_ns);
    fields.value("begin_ns", 1, event.begin_ns);
    fields.value("end_ns", 1, event.end_ns);
    fields.value("status", 1, event.status);
    fields.value("code", 1, event.code);
    fields.value("signal", 1, event.signal);
    fields.text("error", 1, event.error);
    fields.value("output", 1, event.output);
    fields.value("output_bytes", 1, event.output_bytes);
}

}  // namespace driftless
