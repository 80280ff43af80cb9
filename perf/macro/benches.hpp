/// The macro benchmarks, one per file beside this one. Each prints rows of one table: figure, floor
/// measured in the same run, ratio, bar (design, section 8).
#pragma once

namespace driftless::perf {

/// Lateness of fires with nothing else to do, against a bare spin in the same thread, in turn.
void bench_drift_idle();
/// The same with 1,000 streams at 50 chunks/s and 200 fires/s, with and without the guard.
void bench_drift_streams();
/// The client's time to first token against the mock's own, over 1,000 paced streams.
void bench_stamps();
/// Chunks a second under backlog, and CPU time a chunk, against a bare recv loop.
void bench_receive();

/// What kernel stamps cost: CPU time a chunk and a row, without them and by each way, in turn.
void bench_kernel_stamps();

/// How long one step of sending a large body keeps the loop, in slices and in one piece.
void bench_bodies();

}  // namespace driftless::perf
