/// TimedEvent: what became of one `--event` of a run: one line of `events.jsonl`. A plain value;
/// engine/events makes it. Its schema is timed_event.schema.json.
///
/// Instants are ns from time 0 of the run; unknown is nullopt and written as null, never 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace driftless {

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
