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
/// - certified: nothing was lost, each row was sent as planned, and the client has moved no mean,
///   p50, p90, p95 or p99 of TTFT, TPOT and E2E by more than 1 % (by its bound; at least 1 ms, of
///   TPOT 0.1 ms, and at most 50 ms). Rows that were only read late count in that bound.
/// - certified-with-exclusions: at most 1 % of the rows that were sent are tainted otherwise; leave
///   those out.
/// - client-limited: we were too slow: work, buffers, preparation or connections of our own.
/// - host-noisy: the machine took the CPU away from us.
/// - network-limited: connections to the server were established too late, or a queue behind us (of
///   the interface, of a congestion window) held requests back.
/// - uncalibrated: nothing is known to compare with but the bar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/core/names.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"

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
template <>
inline constexpr auto closed_list<Verdict> =
    name_list("certified", "certified-with-exclusions", "client-limited", "host-noisy",
              "network-limited", "uncalibrated");

/// The verdict and why: at least one reason, each a clause with its figures. The first decided.
struct Judgement {
    Verdict verdict = Verdict::uncalibrated;
    std::vector<std::string> reasons;
};

Judgement judge_calibrated(const SummaryFigures& figures, const ClientTotals& client,
                           const TaintLimits& limits);
/// Where there is no calibration for this host: `why`, and what became of the bar.
Judgement judge_uncalibrated(std::string why, const SummaryFigures& figures,
                             const ClientTotals& client, const TaintLimits& limits);

// Reasons: the sentences of a verdict. Each is a clause with its figures. Used by those alone who
// judge: verdict.cpp, breakdowns.cpp.

using Reasons = std::vector<std::string>;

std::string milliseconds_text(std::int64_t ns);
/// "the engine", or "engine 1" where there are several.
std::string engine_text(const ClientTotals& client, std::int64_t engine);

/// What others did in the seconds that coincide with the tainted rows.
void add_host_reason(const Blame& blame, const ClientTotals& client, Reasons& reasons);
/// The worst second of the whole run, where it is worth a word.
void add_load_reason(const ClientTotals& client, Reasons& reasons);

// The verdict of a merged run: that of all its rows, as if one run had sent them, and what its
// shards add. Pure.

/// `judged` is the judgement of all rows, by the widest limits of any shard. Client-limited: a
/// shard that is missing, rows of one that was killed, or that it sent later, when it was resumed;
/// one that its user stopped; a clock that is known worse than to `clock_error_max_ns`, a time 0
/// that lies too far from that of the first shard. Uncalibrated at best: a clock that was compared
/// with none. What a shard was judged by itself is told, and decides where the rows are
/// uncalibrated, and who was too slow where somebody was.
Judgement judge_merged(const MergedRun& run, Judgement judged);

// Warnings: what a reader of the figures must know before he believes them, though no row failed.
// Pure; each is one line for people, with the remedy.

/// What follows from the figures, from what was seen of the cache before the first row, and from
/// how the run was asked for.
std::vector<std::string> warnings_of(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
