/// ClientTotals: the sums over the samples of a run (one a second and engine), for the verdict and
/// the summary. Fed in any order, with instants from time 0; can be rebuilt from `client.jsonl`. It
/// judges nothing. 56 bytes a second and engine.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/run/client_sample.hpp"

namespace driftless {

class JsonWriter;

/// How the engine thread spent a second, as shares of it.
struct BusySecond {
    std::int64_t from_ns = 0;  ///< as the sample gives it
    double busy = 0;           ///< firing, receiving, preparing
    double taken = 0;          ///< kept from the CPU: run-queue delay and steal
    double load = 0;           ///< `busy`, of what others left of it
    std::int64_t chunks = 0;
    std::int64_t engine = 0;
};

/// What others did to the engine thread in a second.
struct ClientSecond {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t taken_ns = 0;  ///< run-queue delay and steal
    /// Longest that it was away without having asked for it; may have begun in a second before.
    std::int64_t gap_max_ns = 0;
    std::int64_t receive_delay_max_ns = 0;
    std::int64_t slow_connects = 0;
    std::int64_t engine = 0;
};

/// One engine of several. The rows' drift is that of all rows, whatever held them back.
struct EngineTotals {
    std::int64_t rows_fired = 0;
    std::int64_t drift_sum_ns = 0;
    std::int64_t drift_max_ns = 0;
    double busy_max = 0;   ///< share of its busiest second
    double taken_max = 0;  ///< share of the second in which others had its CPU longest
};

/// Over all engines. Sums, but for what is named `max`. -1: no sample knew it.
struct ClientTotals {
    std::uint64_t seconds = 0;
    std::vector<ClientSecond> each;
    std::vector<EngineTotals> engines;  ///< by their numbers
    BusySecond busiest;                 ///< by `load`
    double busy_max = 0;
    double taken_max = 0;
    std::int64_t chunks_per_s_max = 0;
    std::int64_t span_ns = 0;
    std::int64_t rows_fired = 0;
    std::int64_t receives = 0;
    std::int64_t chunks = 0;
    std::int64_t bytes_sent = 0;
    std::int64_t bytes_received = 0;
    std::int64_t busy_fire_ns = 0;
    std::int64_t busy_receive_ns = 0;
    std::int64_t busy_prepare_ns = 0;
    std::int64_t busy_stamps_ns = 0;
    std::int64_t slept_ns = 0;
    std::int64_t loop_turns = 0;
    std::int64_t turn_max_ns = 0;
    std::int64_t wakes = 0;
    std::int64_t wake_error_max_ns = 0;
    std::int64_t wake_error_sum_ns = 0;
    std::int64_t user_ns = -1;
    std::int64_t system_ns = -1;
    std::int64_t instructions = -1;
    std::int64_t system_calls = 0;
    std::int64_t operations = 0;
    std::int64_t no_buffers = 0;
    std::int64_t overflows = 0;
    std::int64_t dropped_payloads = 0;
    std::int64_t dropped_entries = 0;
    std::int64_t late_arms = 0;
    std::int64_t missing_lanes = 0;
    std::int64_t slow_connects = 0;  ///< a lost SYN costs a second
    std::int64_t spin_gaps = 0;
    std::int64_t spin_gap_max_ns = 0;
    std::int64_t run_delay_ns = -1;
    std::int64_t steal_ns = -1;
    std::int64_t involuntary_switches = -1;
    std::int64_t voluntary_switches = -1;
    std::int64_t minor_faults = -1;
    std::int64_t major_faults = -1;
    std::int64_t writer_chunks = -1;
    std::int64_t writer_cpu_ns = -1;
    std::int64_t writer_run_delay_ns = -1;
    /// Chunks that the writer takes in a second of CPU time, by the second in which it took most.
    /// -1: it never had so much to do that this would say anything.
    std::int64_t writer_chunks_per_cpu_s = -1;
    double writer_busy_max = -1;  ///< CPU time, of what others left of a second; -1: not measured

    void add(const ClientSample& sample);

  private:
    void add_writer(const ClientSample& sample, std::int64_t length_ns);
    EngineTotals& engine_of(const ClientSample& sample);
};

/// The key "client": totals, and what a request and a chunk cost: the whole thread's figures
/// divided by their number. Null for null, and for what is unknown or would be divided by 0.
void write_client(JsonWriter& json, const ClientTotals* totals);

}  // namespace driftless
