/// Verdict: what a run says about its own trustworthiness (design, section 7).
///
/// Two steps. Before the run, `taint_limits` turns what was measured on this host into the limits
/// beyond which a row is tainted: ratios, and above them an absolute bar (`--certify-within`), so
/// that a noisy host does not certify more easily. After it, `judge_calibrated` weighs the tainted
/// rows and the client's own counters. Pure functions over plain values; the simulator, a rebuilt
/// report and the product use the same ones.
///
/// The law: in a row that is not tainted, nothing was late by more than the limits that the reasons
/// name. So a run without tainted rows may be certified though others had our CPU for a while: each
/// of their turns was short, or nothing of ours was due or came in it. It may not where queues grew
/// in what they left of the CPU.
///
/// - certified: no row is tainted, and nothing was lost.
/// - certified-with-exclusions: at most 1 % of the rows that were sent are tainted; leave those
/// out.
/// - client-limited: we were too slow: work, buffers, preparation or connections of our own.
/// - host-noisy: the machine took the CPU away from us.
/// - network-limited: connections to the server were established too late, or a queue behind us (of
///   the interface, of a congestion window) held requests back.
/// - uncalibrated: nothing is known to compare with but the bar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/stats/client_totals.hpp"
#include "engine/stats/summary.hpp"
#include "engine/stats/taint.hpp"

namespace driftless {

/// Shares of rows and of time.
inline constexpr double exclusions_max = 0.01;
inline constexpr double busy_max = 0.6;  ///< above, queues grow (timing-and-io.md, E.3)

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

Judgement judge_calibrated(const SummaryFigures& figures, const ClientTotals& client,
                           const TaintLimits& limits);
/// Where there is no calibration for this host: `why`, and what became of the bar.
Judgement judge_uncalibrated(std::string why, const SummaryFigures& figures,
                             const ClientTotals& client, const TaintLimits& limits);

}  // namespace driftless
