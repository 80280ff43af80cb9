/// ClientSample: what one engine of the client did and suffered in one second. Produced by the
/// engine's thread, written by the writer as one line of `client.jsonl`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "proto/core/errors.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// A turn of the loop that took longer than this counts as a stop: the loop did not run, whatever
/// it had begun. Ten times the longest slice of work that was measured.
inline constexpr std::int64_t stop_min_ns = 20'000'000;

/// Engines of one process at most: far more than a host has use for.
inline constexpr std::int64_t engines_max = 256;

/// Counters are per second unless named otherwise; times in ns. -1: not measured (unknown).
struct ClientSample {
    std::int64_t from_ns = 0;  ///< absolute clock readings
    std::int64_t to_ns = 0;
    std::int64_t engine = 0;  ///< number of the engine that it is of, from 0
    std::int64_t rows_fired = 0;
    std::int64_t rows_ended = 0;
    std::int64_t inflight = 0;  ///< at the end of the second
    std::int64_t lanes_open = 0;
    std::int64_t lanes_idle = 0;
    std::int64_t drift_max_ns = 0;
    std::int64_t drift_sum_ns = 0;
    std::int64_t submit_max_ns = 0;  ///< longest fire call
    std::int64_t submit_sum_ns = 0;
    std::int64_t wire_stamps = 0;  ///< kernel transmit stamps of rows
    std::int64_t wire_delay_max_ns = 0;
    std::int64_t wire_delay_sum_ns = 0;
    std::int64_t wire_missing = 0;    ///< rows that ended without theirs
    std::int64_t stamps_refused = 0;  ///< kernel stamps, either way, that cannot be true
    std::int64_t receive_stamps = 0;  ///< receives with a kernel stamp
    std::int64_t receive_delay_max_ns = 0;
    std::int64_t receive_delay_sum_ns = 0;
    std::int64_t clock_offset_ns = -1;  ///< CLOCK_REALTIME - CLOCK_MONOTONIC, latest sample
    std::int64_t clock_error_ns = -1;   ///< width of the reading that it comes from
    std::int64_t clock_steps = 0;       ///< times that it jumped, whole run
    std::int64_t loop_turns = 0;
    std::int64_t turn_max_ns = 0;   ///< longest time between two looks at the schedule
    std::int64_t busy_fire_ns = 0;  ///< time in each kind of work
    std::int64_t busy_receive_ns = 0;
    std::int64_t busy_prepare_ns = 0;
    std::int64_t busy_stamps_ns = 0;  ///< collecting transmit stamps
    std::int64_t slept_ns = 0;
    std::int64_t wakes = 0;              ///< sleeps that only time ended
    std::int64_t wake_error_max_ns = 0;  ///< how late they ended
    std::int64_t wake_error_sum_ns = 0;
    std::int64_t user_ns = -1;    ///< CPU time of the engine's thread, waiting by spinning included
    std::int64_t system_ns = -1;  ///< with user_ns exact; the split between them is sampled
    std::int64_t instructions = -1;  ///< in user mode
    std::int64_t system_calls = 0;   ///< that move bytes and stamps; not those that open and close
    std::int64_t operations = 0;     ///< handed to io_uring
    std::int64_t completions = 0;
    std::int64_t receives = 0;
    std::int64_t bytes_received = 0;
    std::int64_t bytes_sent = 0;
    std::int64_t chunks = 0;
    std::int64_t coalesced_chunks = 0;
    std::int64_t no_buffers = 0;  ///< ENOBUFS
    std::int64_t overflows = 0;   ///< completion queue overflow seen
    std::int64_t ring_dropped_payloads = 0;
    std::int64_t ring_dropped_entries = 0;
    std::int64_t ring_high_bytes = 0;  ///< high-water mark of the event ring, whole run
    std::int64_t late_arms = 0;
    std::int64_t missing_lanes = 0;
    std::int64_t slow_connects = 0;  ///< connects of more than 0.9 s: a lost SYN, or a full backlog
    std::int64_t armed_bytes = 0;    ///< bytes of armed bodies at the end of the second
    std::int64_t spin_gaps = 0;      ///< gaps over 20 us between clock reads outside our own work
    std::int64_t spin_gap_max_ns = 0;
    std::int64_t run_delay_ns = -1;  ///< run-queue delay (schedstat)
    std::int64_t involuntary_switches = -1;
    std::int64_t voluntary_switches = -1;  ///< it slept
    std::int64_t minor_faults = -1;
    std::int64_t major_faults = -1;
    std::int64_t steal_ns = -1;  ///< of its CPU, by the hypervisor
    // Of the writer, in the samples of the first engine; -1 before schema 16.
    std::int64_t writer_chunks = -1;        ///< events of streams that it has read, of all engines
    std::int64_t writer_cpu_ns = -1;        ///< its thread's CPU time
    std::int64_t writer_run_delay_ns = -1;  ///< it was ready and waited for a CPU
};
static_assert(std::is_trivially_copyable_v<ClientSample>);

/// Appends one line of client.jsonl: every field of a sample under its name, instants from time 0,
/// unknown as null.
void append_client_sample(std::string& out, const ClientSample& sample, std::int64_t time_zero_ns);

/// Reads such a line back; `from_ns` and `to_ns` count from time 0 then. Errors: bad_json, missing
/// (`doing` is the key).
Result<ClientSample> read_client_sample(JsonDocument& document, std::string_view line);

}  // namespace driftless
