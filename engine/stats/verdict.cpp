#include "engine/stats/verdict.hpp"

#include <cstdio>
#include <utility>

namespace driftless {

namespace {

std::string percent(double share) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
}

std::string milliseconds_text(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(ns) / 1e6);
    return text;
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Whose doing the tainted rows are.
struct Blame {
    std::uint64_t client = 0;
    std::uint64_t host = 0;
    std::uint64_t network = 0;
};

std::uint64_t late(const SummaryFigures& figures, LateCause cause) {
    return figures.tainted_late[static_cast<std::size_t>(cause)];
}

std::uint64_t interrupted(const SummaryFigures& figures) {
    return figures.outcomes[static_cast<std::size_t>(Outcome::interrupted)];
}

// Work that ran into a due instant while somebody else had the CPU is not our work.
Blame blame_of(const SummaryFigures& figures, const ClientTotals& client) {
    const bool host_took = client.taken_max > taken_max;
    Blame blame;
    blame.host = late(figures, LateCause::wake);
    (host_took ? blame.host : blame.client) +=
        late(figures, LateCause::guard) + late(figures, LateCause::none) +
        figures.tainted_read_late + figures.tainted_sent_late;
    blame.client += late(figures, LateCause::prepare) + late(figures, LateCause::writer) +
                    figures.interrupted_untainted;
    (client.slow_connects > 0 ? blame.network : blame.client) += late(figures, LateCause::lane);
    (host_took ? blame.host : blame.network) += figures.tainted_wire_late;
    blame.network += figures.tainted_retried;
    blame.client += figures.tainted_limit;
    blame.network += figures.tainted_retransmitted;
    return blame;
}

void add_late_reasons(const SummaryFigures& figures, const TaintLimits& limits,
                      std::vector<std::string>& reasons) {
    for (std::size_t i = 0; i < figures.tainted_late.size(); ++i) {
        if (figures.tainted_late[i] > 0) {
            const LateCause cause = static_cast<LateCause>(i);
            reasons.push_back(counted(figures.tainted_late[i], "row", "rows") + " sent more than " +
                              milliseconds_text(limits.drift_ns) +
                              " late (cause: " + name_of(cause) + ")");
        }
    }
    if (figures.tainted_read_late > 0) {
        reasons.push_back(counted(figures.tainted_read_late, "row", "rows") +
                          " with bytes that may have waited for us for more than " +
                          milliseconds_text(limits.receive_delay_ns));
    }
    if (figures.tainted_sent_late > 0) {
        reasons.push_back(counted(figures.tainted_sent_late, "row", "rows") +
                          " of whose request a part waited for us for more than " +
                          milliseconds_text(limits.receive_delay_ns));
    }
    if (figures.tainted_retried > 0) {
        reasons.push_back(counted(figures.tainted_retried, "row", "rows") +
                          " sent again, because the server had closed the connection");
    }
    if (figures.tainted_wire_late > 0) {
        reasons.push_back(counted(figures.tainted_wire_late, "row", "rows") +
                          " on the wire more than " + milliseconds_text(limits.wire_ns) +
                          " after the fire: the host or a queue on the way held them back");
    }
}

void add_interrupted(const SummaryFigures& figures, std::vector<std::string>& reasons) {
    if (const std::uint64_t rows = interrupted(figures); rows > 0) {
        reasons.push_back(counted(rows, "row was", "rows were") +
                          " in flight when an earlier segment of the run died: what they measured "
                          "is lost");
    }
}

// What was held back or failed for a lack of ours, and what the network lost.
void add_limit_reasons(const SummaryFigures& figures, std::vector<std::string>& reasons) {
    if (figures.tainted_limit > 0) {
        const Distribution& held = figures.sending.held_by_host.held;
        reasons.push_back(counted(figures.tainted_limit, "row", "rows") +
                          " held back by a limit of this host (median " +
                          milliseconds_text(static_cast<std::int64_t>(held.median())) +
                          ", at most " + milliseconds_text(static_cast<std::int64_t>(held.max)) +
                          "): raise ulimit -n or net.ipv4.ip_local_port_range");
    }
    if (figures.retransmitted_rows > 0) {
        reasons.push_back(counted(figures.retransmitted_rows, "row", "rows") + " had " +
                          counted(figures.retransmits, "segment", "segments") +
                          " sent again by the kernel, " +
                          std::to_string(figures.tainted_retransmitted) +
                          " of them because the request was lost on the way");
    }
}

// What makes a run client-limited however many rows it touched.
void add_losses(const SummaryFigures& figures, const ClientTotals& client,
                std::vector<std::string>& reasons) {
    if (figures.tainted_lost > 0) {
        reasons.push_back(counted(figures.tainted_lost, "row", "rows") +
                          " lost payload in our own ring: the writer was too slow");
    }
    if (figures.tainted_client_failed > 0) {
        reasons.push_back(counted(figures.tainted_client_failed, "row", "rows") +
                          " failed for want of our own descriptors, ports, memory or buffers");
    }
    if (client.no_buffers > 0) {
        reasons.push_back("the kernel ran out of our receive buffers " +
                          counted(static_cast<std::uint64_t>(client.no_buffers), "time", "times"));
    }
    if (client.overflows > 0) {
        reasons.push_back("the completion queue overflowed " +
                          counted(static_cast<std::uint64_t>(client.overflows), "time", "times"));
    }
}

void add_host_reasons(const ClientTotals& client, std::vector<std::string>& reasons) {
    if (client.taken_max > taken_max) {
        reasons.push_back("the CPU was taken away for " + percent(client.taken_max) +
                          " of one second (" + milliseconds_text(client.run_delay_ns) +
                          " of run-queue delay and " + milliseconds_text(client.steal_ns) +
                          " of steal in all)");
    }
}

Verdict worst_of(const Blame& blame) {
    if (blame.host >= blame.client && blame.host >= blame.network) {
        return Verdict::host_noisy;
    }
    return blame.client >= blame.network ? Verdict::client_limited : Verdict::network_limited;
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

TaintLimits taint_limits(const Calibration& calibration, std::int64_t chunks_per_s) {
    TaintLimits limits;
    limits.drift_ns = limit_ratio * drift_floor_ns(calibration, chunks_per_s);
    limits.rank_ns = calibration.fire_large.p99_ns;
    limits.receive_delay_ns = limit_ratio * receive_floor_ns(calibration, chunks_per_s);
    limits.wire_ns = limit_ratio * calibration.fire_large.p99_ns;
    return limits;
}

Judgement judge_run(const SummaryFigures& figures, const ClientTotals& client,
                    const TaintLimits& limits) {
    Judgement judged;
    add_losses(figures, client, judged.reasons);
    if (!judged.reasons.empty()) {
        judged.verdict = Verdict::client_limited;
        add_late_reasons(figures, limits, judged.reasons);
        add_limit_reasons(figures, judged.reasons);
        return judged;
    }
    add_late_reasons(figures, limits, judged.reasons);
    add_limit_reasons(figures, judged.reasons);
    if (client.busiest.busy > busy_max) {
        const bool host = client.busiest.taken > taken_max;
        judged.verdict = host ? Verdict::host_noisy : Verdict::client_limited;
        judged.reasons.push_back("the engine was busy for " + percent(client.busiest.busy) +
                                 " of one second; above " + percent(busy_max) + " queues grow");
        add_host_reasons(client, judged.reasons);
        return judged;
    }
    add_interrupted(figures, judged.reasons);
    const std::uint64_t excluded = figures.tainted_rows + figures.interrupted_untainted;
    if (excluded == 0) {
        judged.verdict = Verdict::certified;
        judged.reasons.push_back("no row was sent more than " + milliseconds_text(limits.drift_ns) +
                                 " late, the engine was busy for at most " +
                                 percent(client.busiest.busy) + " of a second, nothing was lost");
        return judged;
    }
    const double share = static_cast<double>(excluded) / static_cast<double>(figures.rows);
    if (share <= exclusions_max) {
        judged.verdict = Verdict::certified_with_exclusions;
        judged.reasons.push_back("leave the tainted and interrupted rows out: " + percent(share) +
                                 " of all");
    } else {
        judged.verdict = worst_of(blame_of(figures, client));
    }
    add_host_reasons(client, judged.reasons);
    return judged;
}

Judgement uncalibrated(std::string why) {
    return {Verdict::uncalibrated, {std::move(why)}};
}

}  // namespace driftless
