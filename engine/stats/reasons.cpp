#include "engine/stats/reasons.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/stats/verdict.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

std::string rows_text(std::uint64_t count) {
    return counted(count, "row", "rows");
}

std::string times_text(std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "time", "times");
}

/// " (5.000 ms for the last of 28 rows of one instant)", where rows of one instant are allowed more
/// than the first of them; else nothing.
std::string last_of_instant_text(const SummaryFigures& figures, const TaintLimits& limits) {
    const std::uint32_t rows = figures.sending.instant_rows_max;
    const std::int64_t last = drift_limit_ns(limits, rows == 0 ? 0 : rows - 1);
    return last == drift_limit_ns(limits, 0)
               ? ""
               : " (" + milliseconds_text(last) + " for the last of " + std::to_string(rows) +
                     " rows at one instant)";
}

// A second with less is an ordinary one.
constexpr double taken_noticed = 0.01;

/// 0 where no engine is known.
std::int64_t engine_of_max(const ClientTotals& client, double EngineTotals::* share) {
    const auto most = std::max_element(
        client.engines.begin(), client.engines.end(),
        [share](const EngineTotals& a, const EngineTotals& b) { return a.*share < b.*share; });
    return client.engines.empty() ? 0 : most - client.engines.begin();
}

/// What the writer can do, and what it was asked to; empty where it was not measured.
std::string writer_text(const ClientTotals& client) {
    if (client.writer_chunks_per_cpu_s < 0) {
        return "";
    }
    return "; " + std::to_string(client.chunks_per_s_max) +
           " events came in one second, and it reads " +
           std::to_string(client.writer_chunks_per_cpu_s) +
           " in a second of CPU time; its own CPU (--writer-cpu) gives it more";
}

}  // namespace

std::string engine_text(const ClientTotals& client, std::int64_t engine) {
    return client.engines.size() > 1 ? "engine " + std::to_string(engine) : "the engine";
}

std::string milliseconds_text(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(ns) / 1e6);
    return text;
}

void add_loss_reasons(const SummaryFigures& figures, const ClientTotals& client, Reasons& reasons) {
    if (figures.tainted_lost > 0) {
        reasons.push_back(rows_text(figures.tainted_lost) +
                          " lost payload in the client's own ring: the writer was too slow" +
                          writer_text(client));
    }
    if (figures.tainted_client_failed > 0) {
        reasons.push_back(
            rows_text(figures.tainted_client_failed) +
            " failed because driftless ran out of descriptors, ports, memory or buffers");
    }
    const bool in_no_row = figures.tainted_lost == 0 && figures.warmup_rows == 0;
    if (in_no_row && client.dropped_payloads + client.dropped_entries > 0) {
        reasons.emplace_back(
            "events were lost in the client's own ring, and no record says of which row");
    }
    if (client.no_buffers > 0) {
        reasons.push_back("the client ran out of receive buffers " + times_text(client.no_buffers));
    }
    if (client.overflows > 0) {
        reasons.push_back("the completion queue overflowed " + times_text(client.overflows));
    }
}

void add_taint_reasons(const SummaryFigures& figures, const TaintLimits& limits, Reasons& reasons) {
    for (std::size_t i = 0; i < figures.tainted_late.size(); ++i) {
        if (figures.tainted_late[i] > 0) {
            reasons.push_back(rows_text(figures.tainted_late[i]) + " sent more than " +
                              milliseconds_text(drift_limit_ns(limits, 0)) + " late" +
                              last_of_instant_text(figures, limits) +
                              ", cause: " + name_of(static_cast<LateCause>(i)));
        }
    }
    if (figures.tainted_read_late > 0) {
        reasons.push_back(rows_text(figures.tainted_read_late) +
                          " with bytes that may have waited in this client for more than " +
                          milliseconds_text(limits.receive_delay_ns));
    }
    if (figures.tainted_sent_late > 0) {
        reasons.push_back(rows_text(figures.tainted_sent_late) +
                          " with a part of the request that waited in this client for more than " +
                          milliseconds_text(limits.receive_delay_ns));
    }
    if (figures.tainted_retried > 0) {
        reasons.push_back(rows_text(figures.tainted_retried) +
                          " sent again, because the server had closed the connection");
    }
    if (figures.tainted_answered_early > 0) {
        reasons.push_back(rows_text(figures.tainted_answered_early) +
                          " answered before the request had been sent: that server does not wait "
                          "for requests");
    }
    if (figures.tainted_wire_late > 0) {
        reasons.push_back(rows_text(figures.tainted_wire_late) + " reached the wire more than " +
                          milliseconds_text(limits.wire_ns) +
                          " after the fire: the host or a queue on the way delayed them");
    }
}

/// What TCP sent again, and what that means for the rows.
std::string resent_text(const SummaryFigures& figures) {
    const std::uint64_t late = figures.tainted_retransmitted;
    const std::uint64_t in_time =
        figures.retransmitted_rows - std::min(late, figures.retransmitted_rows);
    std::string text =
        "the kernel sent " + counted(figures.retransmits, "TCP segment", "TCP segments") + " of " +
        counted(figures.retransmitted_rows, "row's request", "rows' requests") + " again";
    if (late > 0) {
        text += "; for " + counted(late, "row", "rows") +
                " the network may have lost a part, so the server got the request late";
    }
    if (in_time > 0) {
        text += "; for " + counted(in_time, "row", "rows") +
                " the first copy had arrived, so the request was in time";
    }
    return text;
}

void add_limit_reasons(const SummaryFigures& figures, Reasons& reasons) {
    if (figures.tainted_limit > 0) {
        const Distribution& held = figures.sending.held_by_host.held;
        reasons.push_back(rows_text(figures.tainted_limit) +
                          " held back by a limit of this host (median " +
                          milliseconds_text(static_cast<std::int64_t>(held.median())) +
                          ", at most " + milliseconds_text(static_cast<std::int64_t>(held.max)) +
                          "); raise ulimit -n or net.ipv4.ip_local_port_range");
    }
    if (figures.retransmitted_rows > 0) {
        reasons.push_back(resent_text(figures));
    }
    if (figures.tainted_unacknowledged > 0) {
        reasons.push_back(rows_text(figures.tainted_unacknowledged) +
                          " given up before the server had acknowledged the request: the network "
                          "may have lost it");
    }
}

void add_interrupted_reason(const SummaryFigures& figures, Reasons& reasons) {
    const std::uint64_t rows = figures.outcomes[static_cast<std::size_t>(Outcome::interrupted)];
    if (rows > 0) {
        reasons.push_back(
            counted(rows, "row was", "rows were") +
            " in flight when an earlier segment of the run died: their measurements are lost");
    }
    if (figures.unrecorded > 0) {
        reasons.push_back(counted(figures.unrecorded, "row was", "rows were") + " sent but " +
                          (figures.unrecorded == 1 ? "has" : "have") +
                          " no record: their measurements are lost");
    }
    if (figures.more_unrecorded) {
        reasons.emplace_back(
            "the run was killed, and its marks in shared memory are gone: how many rows were "
            "sent without a record is not known");
    }
}

void add_host_reason(const Blame& blame, const ClientTotals& client, Reasons& reasons) {
    if (blame.taken_share <= 0 && blame.gap_max_ns <= 0) {
        return;
    }
    std::string text = "at that time ";
    if (blame.taken_share > 0) {
        text +=
            "others used the CPU" +
            (client.engines.size() > 1 ? " of " + engine_text(client, blame.taken_engine) : "") +
            " for " + milliseconds_text(blame.taken_ns) + " of a second (" +
            percent_text(blame.taken_share) + ")";
    }
    if (blame.gap_max_ns > 0) {
        text += (blame.taken_share > 0 ? "; " : "") + engine_text(client, blame.gap_engine) +
                " was stopped or kept from its CPU for up to " +
                milliseconds_text(blame.gap_max_ns) + " without a break";
    }
    reasons.push_back(std::move(text));
}

void add_load_reason(const ClientTotals& client, Reasons& reasons) {
    const std::int64_t busiest = engine_of_max(client, &EngineTotals::busy_max);
    const std::int64_t taken = engine_of_max(client, &EngineTotals::taken_max);
    std::string text = engine_text(client, busiest) + " was busy for at most " +
                       percent_text(client.busy_max) + " of a second, and nothing was lost";
    if (client.taken_max > taken_noticed) {
        text += "; others used " +
                (busiest == taken ? "its CPU" : "the CPU of " + engine_text(client, taken)) +
                " for at most " + percent_text(client.taken_max) + " of a second";
    }
    if (client.writer_busy_max > busy_max) {
        text += "; the writer was busy for " + percent_text(client.writer_busy_max) +
                " of its available CPU time" + writer_text(client);
    }
    reasons.push_back(std::move(text));
}

void add_limits_kept(const SummaryFigures& figures, const TaintLimits& limits, Reasons& reasons) {
    if (figures.fired == 0) {
        reasons.push_back(figures.unrecorded > 0 ? "no row that was sent has a record"
                                                 : "no row was sent");
        return;
    }
    const UntaintedFigures& worst = figures.taints.untainted;
    const bool excluding =
        figures.tainted_rows + figures.interrupted_untainted + figures.unrecorded > 0;
    const std::string rows = excluding ? "all other rows " : "all rows ";
    reasons.push_back(rows + "were sent at most " + milliseconds_text(worst.drift_max_ns) +
                      " late; limit " + milliseconds_text(drift_limit_ns(limits, 0)) +
                      last_of_instant_text(figures, limits));
    if (limits.wire_ns > 0) {
        reasons.push_back(rows + "reached the wire at most " +
                          milliseconds_text(worst.wire_delay_max_ns) + " later; limit " +
                          milliseconds_text(limits.wire_ns));
    }
    if (limits.receive_delay_ns > 0) {
        reasons.push_back(rows + "were read at most " +
                          milliseconds_text(worst.receive_delay_max_ns) + " late; limit " +
                          milliseconds_text(limits.receive_delay_ns));
    }
}

void add_held_reason(const SummaryFigures& figures, Reasons& reasons) {
    const auto add = [&reasons](const Distribution& drift, const std::string& what) {
        if (drift.count == 0) {
            return;
        }
        reasons.push_back(rows_text(drift.count) + " that " + what +
                          " held back are judged from their release: they were sent up to " +
                          milliseconds_text(static_cast<std::int64_t>(drift.max)) +
                          " late (median " +
                          milliseconds_text(static_cast<std::int64_t>(drift.median())) + ")");
    };
    add(figures.sending.held_by_user.drift, "--max-inflight");
    add(figures.sending.held_by_budget.drift, "token budgets");
}

}  // namespace driftless
