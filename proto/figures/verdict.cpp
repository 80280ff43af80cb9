#include "proto/figures/verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/warm_cache.hpp"

namespace driftless {

static std::string rows_text(std::uint64_t count) {
    return counted(count, "row", "rows");
}

static std::string times_text(std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "time", "times");
}

/// " (5.000 ms for the last of 28 rows of one instant)", where rows of one instant are allowed more
/// than the first of them; else nothing.
static std::string last_of_instant_text(const SummaryFigures& figures, const TaintLimits& limits) {
    const std::uint32_t rows = figures.sending.instant_rows_max;
    const std::int64_t last = drift_limit_ns(limits, rows == 0 ? 0 : rows - 1);
    return last == drift_limit_ns(limits, 0)
               ? ""
               : " (" + milliseconds_text(last) + " for the last of " + std::to_string(rows) +
                     " rows at one instant)";
}

/// What others did then (add_host_reason).
static constexpr const char* at_that_time = "at that time ";

// A second with less is an ordinary one.
static constexpr double taken_noticed = 0.01;

/// 0 where no engine is known.
static std::int64_t engine_of_max(const ClientTotals& client, double EngineTotals::* share) {
    const auto most = std::ranges::max_element(client.engines, {}, share);
    return client.engines.empty() ? 0 : most - client.engines.begin();
}

/// What the writer can do, and what it was asked to; empty where it was not measured. Where it lost
/// something, what it read in that second is what it could: beside a busy engine it gets less CPU.
static std::string writer_text(const ClientTotals& client) {
    const ClientTotals::WorstLoss& loss = client.worst_loss;
    const bool has_lost = loss.dropped_payloads > 0;
    if (!has_lost && client.writer_chunks_per_cpu_s < 0) {
        return "";
    }
    std::string text = "; " + std::to_string(has_lost ? loss.chunks : client.chunks_per_s_max) +
                       " events came in one second, and it ";
    text += has_lost ? "read " + std::to_string(loss.writer_chunks) + " with the " +
                           percent_text(loss.writer_cpu_share) + " of a CPU that it got"
                     : "reads " + std::to_string(client.writer_chunks_per_cpu_s) +
                           " in a second of CPU time";
    return text + "; its own CPU (--writer-cpu) gives it more";
}

std::string engine_text(const ClientTotals& client, std::int64_t engine) {
    return client.engines.size() > 1 ? "engine " + std::to_string(engine) : "the engine";
}

std::string milliseconds_text(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(ns) / 1e6);
    return text;
}

/// A reason of so many rows, where there are any.
static void add_rows(std::uint64_t rows, const std::string& what, Reasons& reasons) {
    if (rows > 0) {
        reasons.push_back(rows_text(rows) + what);
    }
}

/// What was lost in our own hands; nothing where nothing was.
static void add_loss_reasons(const SummaryFigures& figures, const ClientTotals& client,
                             Reasons& reasons) {
    add_rows(
        figures.tainted_lost,
        " lost payload in the client's own ring: the writer was too slow" + writer_text(client),
        reasons);
    add_rows(figures.tainted_client_failed,
             " failed because driftless ran out of descriptors, ports, memory or buffers", reasons);
    const bool in_no_row = figures.tainted_lost == 0 && figures.warmup_rows == 0;
    if (in_no_row && client.sums.ring_dropped_payloads + client.sums.ring_dropped_entries > 0) {
        reasons.emplace_back(
            "events were lost in the client's own ring, and no record says of which row");
    }
    if (client.sums.no_buffers > 0) {
        reasons.push_back("the client ran out of receive buffers " +
                          times_text(client.sums.no_buffers));
    }
    if (client.sums.overflows > 0) {
        reasons.push_back("the completion queue overflowed " + times_text(client.sums.overflows));
    }
}

/// How many rows are tainted, by kind, each with the limit that they broke.
static void add_taint_reasons(const SummaryFigures& figures, const TaintLimits& limits,
                              Reasons& reasons) {
    for (std::size_t i = 0; i < figures.tainted_late.size(); ++i) {
        add_rows(figures.tainted_late[i],
                 " sent more than " + milliseconds_text(drift_limit_ns(limits, 0)) + " late" +
                     last_of_instant_text(figures, limits) +
                     ", cause: " + name_of(static_cast<LateCause>(i)),
                 reasons);
    }
    const std::string read_limit = milliseconds_text(limits.receive_delay_ns);
    add_rows(figures.tainted_read_late,
             " with bytes that may have waited in this client for more than " + read_limit,
             reasons);
    add_rows(figures.tainted_sent_late,
             " with a part of the request that waited in this client for more than " + read_limit,
             reasons);
    add_rows(figures.tainted_retried, " sent again, because the server had closed the connection",
             reasons);
    add_rows(figures.tainted_answered_early,
             " answered before the request had been sent: that server does not wait for requests",
             reasons);
    add_rows(figures.tainted_end_unsure,
             " whose end this client may have changed, because it looked late", reasons);
    add_rows(figures.tainted_wire_late,
             " reached the wire more than " + milliseconds_text(limits.wire_ns) +
                 " after the fire: the host or a queue on the way delayed them",
             reasons);
}

/// Of rows that are late by stamps of the kernel, which go by a clock that can be set.
static void add_clock_reason(const SummaryFigures& figures, const ClientTotals& client,
                             Reasons& reasons) {
    const std::uint64_t by_kernel =
        figures.tainted_wire_late + figures.tainted_read_late + figures.tainted_sent_late;
    if (client.sums.clock_steps > 0 && by_kernel > 0) {
        reasons.emplace_back(
            "this host's clock was set during the run, and the kernel's stamps go by it");
    }
}

/// What TCP sent again, and what that means for the rows.
static std::string resent_text(const SummaryFigures& figures) {
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

/// What was held back for a lack of this host's, and what the network lost.
static void add_limit_reasons(const SummaryFigures& figures, Reasons& reasons) {
    const Distribution& held = figures.sending.held_by_host.held;
    add_rows(figures.tainted_limit,
             " held back by a limit of this host (median " +
                 milliseconds_text(static_cast<std::int64_t>(held.median())) + ", at most " +
                 milliseconds_text(static_cast<std::int64_t>(held.max)) +
                 "); raise ulimit -n or net.ipv4.ip_local_port_range",
             reasons);
    if (figures.retransmitted_rows > 0) {
        reasons.push_back(resent_text(figures));
    }
    add_rows(figures.tainted_unacknowledged,
             " given up before the server had acknowledged the request: the network may have lost "
             "it",
             reasons);
}

/// What the death of an earlier segment cost.
static void add_interrupted_reason(const SummaryFigures& figures, Reasons& reasons) {
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
    std::string taken;
    if (blame.taken_share > 0) {
        taken =
            "others used the CPU" +
            (client.engines.size() > 1 ? " of " + engine_text(client, blame.taken_engine) : "") +
            " for " + milliseconds_text(blame.taken_ns) + " of a second (" +
            percent_text(blame.taken_share) +
            "; --realtime or a quieter CPU, --cpu N, avoids that)";
    }
    // Where the thread waits for its CPU, that is taken time; where it is stopped, it is not.
    const bool stopped = client.sums.run_delay_ns >= 0 && blame.gap_max_ns > 2 * blame.taken_ns;
    std::string gap;
    if (blame.gap_max_ns > 0) {
        gap = engine_text(client, blame.gap_engine) +
              (stopped ? " was stopped" : " was stopped or kept from its CPU") + " for up to " +
              milliseconds_text(blame.gap_max_ns) + " without a break" +
              (stopped ? " (a signal, a debugger, a CPU quota, or all of this host)" : "");
    }
    const char* between = gap.empty() || taken.empty() ? "" : "; ";
    reasons.push_back(at_that_time + (stopped ? gap + between + taken : taken + between + gap));
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

/// The limits that every row that is not tainted has kept, and the worst that was seen of them.
static void add_limits_kept(const SummaryFigures& figures, const TaintLimits& limits,
                            Reasons& reasons) {
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

/// How late rows left because the user wanted them held back.
static void add_held_reason(const SummaryFigures& figures, Reasons& reasons) {
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

static Verdict worst_of(const Blame& blame) {
    if (blame.host >= blame.client && blame.host >= blame.network) {
        return Verdict::host_noisy;
    }
    return blame.client >= blame.network ? Verdict::client_limited : Verdict::network_limited;
}

/// What decided comes first, then what others did at that time.
static void decide_by(std::string reason, const Blame& blame, const ClientTotals& client,
                      Reasons& reasons) {
    Reasons first{std::move(reason)};
    add_host_reason(blame, client, first);
    reasons.insert(reasons.begin(), first.begin(), first.end());
}

/// Queues grow: the engine had more to do than it had time, or others left it too little.
static bool overloaded(const Blame& blame, const ClientTotals& client, Judgement& judged) {
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
    text += "; above " + percent_text(busy_max) + " of its available CPU time, queues grow";
    decide_by(text + (host ? "" : " (a lower --speed or --rate, or more --engines)"), blame, client,
              judged.reasons);
    return true;
}

double MovedFigure::allowed_ns(const TaintLimits& limits) const {
    constexpr double share = 0.01;
    constexpr double most_ns = 50e6;
    const double least_ns = least_part * static_cast<double>(limits.error_ns);
    return std::clamp(share * value_ns, least_ns, std::max(most_ns, least_ns));
}

/// The one that is moved most against what is allowed; null: none is known.
static const MovedFigure* moved_most(const SummaryFigures& figures, const TaintLimits& limits) {
    const auto part = [&limits](const MovedFigure& one) {
        return one.by_ns / one.allowed_ns(limits);
    };
    const auto most = std::ranges::max_element(figures.moved, {}, part);
    return most == figures.moved.end() ? nullptr : &*most;
}

/// Tainted rows that stay in: what reading them late may have moved is known.
static std::uint64_t rows_kept(const SummaryFigures& figures) {
    return figures.moved.empty() ? 0 : figures.taints.read_late_only;
}

static std::string moved_text(const MovedFigure& moved, const TaintLimits& limits) {
    return "this client may have moved " + moved.name + " by up to " +
           milliseconds_text(std::llround(moved.by_ns)) + "; limit " +
           milliseconds_text(std::llround(moved.allowed_ns(limits)));
}

Judgement judge_calibrated(const SummaryFigures& figures, const ClientTotals& client,
                           const TaintLimits& limits) {
    Judgement judged;
    add_loss_reasons(figures, client, judged.reasons);
    const bool lost = !judged.reasons.empty();
    add_taint_reasons(figures, limits, judged.reasons);
    add_clock_reason(figures, client, judged.reasons);
    add_limit_reasons(figures, judged.reasons);
    if (lost) {
        judged.verdict = Verdict::client_limited;
        return judged;
    }
    add_interrupted_reason(figures, judged.reasons);
    if (figures.more_unrecorded) {
        judged.verdict = Verdict::client_limited;
        std::rotate(judged.reasons.begin(), judged.reasons.end() - 1, judged.reasons.end());
        return judged;
    }
    Blame blame = blame_of(figures.taints.rows, client);
    const std::uint64_t lost_rows = figures.interrupted_untainted + figures.unrecorded;
    blame.client += lost_rows;
    if (overloaded(blame, client, judged)) {
        return judged;
    }
    // Rows that were only read late stay in, however late: to leave them out would move the
    // percentiles. What they may have moved is in the client's error.
    const MovedFigure* const moved = moved_most(figures, limits);
    if (moved != nullptr && moved->by_ns > moved->allowed_ns(limits)) {
        const TaintedRow run{client.each.empty() ? 0 : client.each.front().from_ns,
                             client.each.empty() ? 0 : client.each.back().to_ns,
                             std::llround(moved->by_ns), Suspect::reading};
        const Blame of_reading = blame_of(std::span(&run, 1), client);
        judged.verdict = worst_of(of_reading);
        decide_by(moved_text(*moved, limits), of_reading, client, judged.reasons);
        return judged;
    }
    const std::uint64_t kept = rows_kept(figures);
    const double share =
        figures.taints.share(figures.interrupted_untainted, figures.unrecorded, kept);
    if (share > exclusions_max) {
        judged.verdict = worst_of(blame);
        decide_by(percent_text(share) + " of the rows that were sent are tainted or lost", blame,
                  client, judged.reasons);
        return judged;
    }
    if (figures.fired == 0) {
        judged.verdict = Verdict::uncalibrated;
        judged.reasons.emplace_back("no row was sent, so there is nothing to certify");
        return judged;
    }
    judged.verdict = Verdict::certified;
    if (figures.tainted_rows + lost_rows > kept) {
        judged.verdict = Verdict::certified_with_exclusions;
        decide_by("leave the tainted and interrupted rows out: " + percent_text(share) +
                      " of the rows that were sent",
                  blame, client, judged.reasons);
    }
    if (moved != nullptr) {
        const bool decides = judged.verdict == Verdict::certified;
        judged.reasons.insert(decides ? judged.reasons.begin() : judged.reasons.end(),
                              moved_text(*moved, limits));
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
        add_clock_reason(figures, client, judged.reasons);
    }
    add_limit_reasons(figures, judged.reasons);
    add_interrupted_reason(figures, judged.reasons);
    if (limits.drift_ns > 0) {
        add_limits_kept(figures, limits, judged.reasons);
    }
    return judged;
}

// From best to worst. Not to know is better than to know that it is bad.
static constexpr std::array severity{
    Verdict::certified,    Verdict::certified_with_exclusions,
    Verdict::uncalibrated, Verdict::network_limited,
    Verdict::host_noisy,   Verdict::client_limited,
};

static std::size_t rank_of(Verdict verdict) {
    const auto found = std::find(severity.begin(), severity.end(), verdict);
    return static_cast<std::size_t>(found - severity.begin());
}

/// A name that nobody gives counts as the worst.
static Verdict verdict_named(const std::string& name) {
    return from_name<Verdict>(name).value_or(Verdict::client_limited);
}

/// A reason that makes it worse comes first.
static void worsen(Judgement& judged, Verdict verdict, std::string reason) {
    const bool decides = rank_of(verdict) > rank_of(judged.verdict);
    judged.verdict = decides ? verdict : judged.verdict;
    judged.reasons.insert(decides ? judged.reasons.begin() : judged.reasons.end(),
                          std::move(reason));
}

static void judge_rows(const MergedRun& run, Judgement& judged) {
    if (const std::uint64_t rows = run.not_reported(); rows > 0) {
        worsen(judged, Verdict::client_limited,
               counted(rows, "row is", "rows are") +
                   " not reported, because shards are missing or were killed");
    }
}

static void judge_clock(const MergedRun& run, const MergedShard& shard, Judgement& judged) {
    if (!shard.clock) {
        worsen(judged, Verdict::uncalibrated,
               "the clock of " + shard_text(run, shard) +
                   " was not compared with another, so its time 0 is not known; use --meet");
    } else if (shard.clock->error_ns > run.clock_error_max_ns) {
        worsen(judged, Verdict::client_limited,
               "the clock of " + shard_text(run, shard) + " is known only to within " +
                   milliseconds_text(shard.clock->error_ns) + "; --clock-error-max is " +
                   milliseconds_text(run.clock_error_max_ns));
    }
}

static void judge_zero(const MergedRun& run, std::size_t index, Judgement& judged) {
    if (const ZeroApart apart = zero_apart(run, index); apart.too_far) {
        worsen(judged, Verdict::client_limited,
               apart.text + "; they did not put their load on the servers together");
    }
}

/// From some instant on, the servers did not have the load of all shards.
static void judge_together(const MergedRun& run, const MergedShard& shard, Judgement& judged) {
    if (shard.rows_later > 0) {
        worsen(judged, Verdict::client_limited,
               counted(shard.rows_later, "row", "rows") + " of " + shard_text(run, shard) +
                   " came later (replay --resume), without the load of the other shards");
    }
    if (shard.interrupted) {
        worsen(judged, Verdict::client_limited,
               shard_text(run, shard) +
                   " was interrupted: the servers had less load than planned from then on");
    }
    if (!shard.stopped_when.empty()) {
        worsen(judged, Verdict::client_limited,
               shard_text(run, shard) + " was stopped by its --stop-when (" + shard.stopped_when +
                   "): the servers had less load than planned from then on");
    }
}

/// Somebody was too slow: this client, its host or the network.
static bool is_blamed(Verdict verdict) {
    return rank_of(verdict) > rank_of(Verdict::uncalibrated);
}

/// Seconds and engines of the client are not told apart by shard: of all rows together they may
/// blame the host of another one. Each shard knows of its own rows who was too slow.
static void blame_parts(const MergedRun& run, Judgement& judged) {
    Verdict worst = Verdict::certified;
    for (const MergedShard& shard : run.shards) {
        const Verdict verdict = verdict_named(shard.verdict);
        worst = !shard.is_missing() && rank_of(verdict) > rank_of(worst) ? verdict : worst;
    }
    if (is_blamed(judged.verdict) && is_blamed(worst)) {
        judged.verdict = worst;
        std::erase_if(judged.reasons,
                      [](const std::string& one) { return one.starts_with(at_that_time); });
    }
}

/// A part may be worse than the whole, of which all bars and shares are known. Where the whole was
/// not judged, its parts decide.
static void judge_shard(const MergedRun& run, const MergedShard& shard, bool decides,
                        Judgement& judged) {
    const Verdict verdict = verdict_named(shard.verdict);
    if (shard.is_missing() || verdict == Verdict::certified) {
        return;
    }
    std::string text = shard_text(run, shard) + " is " + shard.verdict;
    text += shard.reasons.empty() ? "" : ": " + shard.reasons.front();
    worsen(judged, decides ? verdict : Verdict::certified, std::move(text));
}

Judgement judge_merged(const MergedRun& run, Judgement judged) {
    const bool is_unjudged = judged.verdict == Verdict::uncalibrated;
    blame_parts(run, judged);
    const std::size_t of_rows = judged.reasons.size();
    judge_rows(run, judged);
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
        if (run.count < 2 || run.shards[i].is_missing()) {
            continue;
        }
        judge_clock(run, run.shards[i], judged);
        judge_zero(run, i, judged);
        judge_together(run, run.shards[i], judged);
    }
    if (run.count > 1 && judged.reasons.size() == of_rows) {
        judged.reasons.push_back("the clocks of all " + std::to_string(run.count) +
                                 " shards are known to " +
                                 milliseconds_text(run.clock_error_max_ns) + " or better");
    }
    for (const MergedShard& shard : run.shards) {
        judge_shard(run, shard, is_unjudged, judged);
    }
    return judged;
}

std::vector<std::string> warnings_of(const SummaryFigures& figures, const SummaryInfo& info) {
    std::vector<std::string> warnings;
    if (info.merged) {
        warnings = merged_warnings(*info.merged);
    }
    if (figures.shard_role.forecast_apart && figures.cache_rows_compared() > 0) {
        warnings.emplace_back(
            "expected hits are too few: they are forecast from the rows of each shard alone, and "
            "rows hit what other shards sent, too");
    }
    if (std::string text = warm_warning(figures, info.cache_probe); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    if (std::string text = server_counts_warning(figures, info); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    for (const std::string& argument : info.run.arguments) {
        if (argument.starts_with("--grow=")) {
            warnings.push_back("the run adapted its load (" + argument + "): it ended with " +
                               counted(figures.phase.users, "user", "users") +
                               ", so its figures do not show one load and must not be published; "
                               "repeat with a fixed number (--users N)");
        }
    }
    return warnings;
}

}  // namespace driftless
