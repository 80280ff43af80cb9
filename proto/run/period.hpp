/// What a run did over its time: lines of `periods.jsonl` and of `events.jsonl`. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/run/record.hpp"

namespace driftless {

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

/// Appends one line, newline included. Every line has every key, in the order above.
void append_period(std::string& out, const Period& period);

// TimedEvent: what became of one `--event` of a run: one line of `events.jsonl`. A plain value;
// engine/watch makes it. Its schema is timed_event.schema.json.
//
// Instants are ns from time 0 of the run; unknown is nullopt and written as null, never 0.

enum class TimedEventKind : std::uint8_t { post, run, label };
/// "post", "run", "label"
const char* name_of(TimedEventKind kind);

enum class EventStatus : std::uint8_t {
    ok,         ///< exit code 0, or an HTTP status of 200 to 299
    failed,     ///< another one, or it could not be begun
    timed_out,  ///< ended by force at its time limit
    cut_off,    ///< ended by force because the run was over
    not_run,    ///< the run was over before
    unknown,    ///< the run was killed while it went on, or when it was due
};
/// "ok", "failed", "timed_out", "cut_off", "not_run", "unknown"
const char* name_of(EventStatus status);

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

/// Appends one line, newline included. Every line has every key, in the order above.
void append_timed_event(std::string& out, const TimedEvent& event);

}  // namespace driftless
