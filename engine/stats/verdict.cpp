#include "engine/stats/verdict.hpp"

#include <algorithm>
#include <utility>

#include "engine/stats/blame.hpp"
#include "engine/stats/reasons.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

Verdict worst_of(const Blame& blame) {
    if (blame.host >= blame.client && blame.host >= blame.network) {
        return Verdict::host_noisy;
    }
    return blame.client >= blame.network ? Verdict::client_limited : Verdict::network_limited;
}

/// Queues grow: the engine had more to do than it had time, or others left it too little.
bool overloaded(const ClientTotals& client, Judgement& judged) {
    const BusySecond& second = client.busiest;
    if (second.load <= busy_max) {
        return false;
    }
    const bool host = second.taken > taken_max;
    judged.verdict = host ? Verdict::host_noisy : Verdict::client_limited;
    std::string text = engine_text(client, second.engine) + " was busy for " +
                       percent_text(second.busy) + " of one second";
    if (host) {
        text += ", and others used its CPU for " + percent_text(second.taken);
    }
    judged.reasons.push_back(text + "; above " + percent_text(busy_max) +
                             " of its available CPU time, queues grow");
    return true;
}

}  // namespace

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::certified:
            return "certified";
        case Verdict::certified_with_exclusions:
            return "certified-with-exclusions";
        case Verdict::client_limited:
            return "client-limited";
        case Verdict::host_noisy:
            return "host-noisy";
        case Verdict::network_limited:
            return "network-limited";
        case Verdict::uncalibrated:
            return "uncalibrated";
    }
    return "";
}

Judgement judge_calibrated(const SummaryFigures& figures, const ClientTotals& client,
                           const TaintLimits& limits) {
    Judgement judged;
    add_loss_reasons(figures, client, judged.reasons);
    const bool lost = !judged.reasons.empty();
    add_taint_reasons(figures, limits, judged.reasons);
    add_limit_reasons(figures, judged.reasons);
    if (lost) {
        judged.verdict = Verdict::client_limited;
        return judged;
    }
    add_interrupted_reason(figures, judged.reasons);
    if (figures.more_unrecorded) {
        judged.verdict = Verdict::client_limited;
        return judged;
    }
    Blame blame = blame_of(figures.taints.rows, client);
    const std::uint64_t lost_rows = figures.interrupted_untainted + figures.unrecorded;
    blame.client += lost_rows;
    if (overloaded(client, judged)) {
        add_host_reason(blame, client, judged.reasons);
        return judged;
    }
    const double share = figures.taints.share(figures.interrupted_untainted, figures.unrecorded);
    if (share > exclusions_max) {
        judged.verdict = worst_of(blame);
        judged.reasons.push_back(percent_text(share) +
                                 " of the rows that were sent are tainted or lost");
        add_host_reason(blame, client, judged.reasons);
        return judged;
    }
    if (figures.fired == 0) {
        judged.verdict = Verdict::uncalibrated;
        judged.reasons.emplace_back("no row was sent, so there is nothing to certify");
        return judged;
    }
    judged.verdict = Verdict::certified;
    if (figures.tainted_rows + lost_rows > 0) {
        judged.verdict = Verdict::certified_with_exclusions;
        judged.reasons.push_back("leave the tainted and interrupted rows out: " +
                                 percent_text(share) + " of the rows that were sent");
        add_host_reason(blame, client, judged.reasons);
    }
    add_limits_kept(figures, limits, judged.reasons);
    add_held_reason(figures, judged.reasons);
    add_load_reason(client, judged.reasons);
    CHECK(!judged.reasons.empty() && !lost);
    return judged;
}

Judgement judge_uncalibrated(std::string why, const SummaryFigures& figures,
                             const ClientTotals& client, const TaintLimits& limits) {
    CHECK(!why.empty());
    Judgement judged{Verdict::uncalibrated, {std::move(why)}};
    add_loss_reasons(figures, client, judged.reasons);
    if (limits.drift_ns > 0) {  // none in runs of before --certify-within
        add_taint_reasons(figures, limits, judged.reasons);
    }
    add_limit_reasons(figures, judged.reasons);
    add_interrupted_reason(figures, judged.reasons);
    if (limits.drift_ns > 0) {
        add_limits_kept(figures, limits, judged.reasons);
    }
    return judged;
}

}  // namespace driftless
