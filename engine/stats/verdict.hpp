/// Verdict: what a run says about its own trustworthiness (design, section 7).
///
/// Two steps. Before the run, `taint_limits` turns what `calibrate` measured on this host into the
/// limits beyond which a row is tainted: ratios, never constants. After it, `judge_run` weighs the
/// tainted rows and the client's own counters. Pure functions over plain values; the simulator, a
/// rebuilt report and the product use the same ones.
///
/// - certified: no row is tainted, and nothing was lost.
/// - certified-with-exclusions: at most 1 % of the rows are tainted; leave those out.
/// - client-limited: we were too slow: work, buffers, preparation or connections of our own.
/// - host-noisy: the machine took the CPU away from us.
/// - network-limited: connections to the server stood too late, or a queue behind us (of the
///   interface, of a congestion window) held requests back.
/// - uncalibrated: nothing is known to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/calibration.hpp"
#include "engine/record/taint.hpp"
#include "engine/stats/client_totals.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

/// A limit is this many times what calibration saw at p99.
inline constexpr std::int64_t limit_ratio = 10;
/// Shares of rows and of time.
inline constexpr double exclusions_max = 0.01;
inline constexpr double busy_max = 0.6;   ///< above, queues grow (timing-and-io.md, E.3)
inline constexpr double taken_max = 0.1;  ///< of a second, kept from the CPU

/// For a run that asks for about this many chunks a second.
TaintLimits taint_limits(const Calibration& calibration, std::int64_t chunks_per_s);

enum class Verdict : std::uint8_t {
    certified,
    certified_with_exclusions,
    client_limited,
    host_noisy,
    network_limited,
    uncalibrated,
};
const char* name_of(Verdict verdict);

/// The verdict and why: at least one reason, each a clause with its figures.
struct Judgement {
    Verdict verdict = Verdict::uncalibrated;
    std::vector<std::string> reasons;
};

Judgement judge_run(const SummaryFigures& figures, const ClientTotals& client,
                    const TaintLimits& limits);
/// Where there is no calibration for this host.
Judgement uncalibrated(std::string why);

}  // namespace driftless
