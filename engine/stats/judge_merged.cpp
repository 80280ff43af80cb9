#include "engine/stats/judge_merged.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/stats/reasons.hpp"

namespace driftless {

namespace {

// From best to worst. Not to know is better than to know that it is bad.
constexpr std::array severity{
    Verdict::certified,    Verdict::certified_with_exclusions,
    Verdict::uncalibrated, Verdict::network_limited,
    Verdict::host_noisy,   Verdict::client_limited,
};

std::size_t rank_of(Verdict verdict) {
    const auto found = std::find(severity.begin(), severity.end(), verdict);
    return static_cast<std::size_t>(found - severity.begin());
}

/// A name that nobody gives counts as the worst.
Verdict verdict_named(const std::string& name) {
    const auto found = std::find_if(severity.begin(), severity.end(),
                                    [&name](Verdict one) { return name == name_of(one); });
    return found == severity.end() ? Verdict::client_limited : *found;
}

void worsen(Judgement& judged, Verdict verdict, std::string reason) {
    if (rank_of(verdict) > rank_of(judged.verdict)) {
        judged.verdict = verdict;
    }
    judged.reasons.push_back(std::move(reason));
}

std::string shard_text(const MergedRun& run, const MergedShard& shard) {
    return "shard " + std::to_string(shard.index) + " of " + std::to_string(run.count);
}

void judge_rows(const MergedRun& run, Judgement& judged) {
    if (const std::uint64_t rows = run.not_reported(); rows > 0) {
        worsen(judged, Verdict::client_limited,
               counted(rows, "row is", "rows are") +
                   " not reported, because shards are missing or were killed");
    }
}

void judge_clock(const MergedRun& run, const MergedShard& shard, Judgement& judged) {
    if (shard.is_missing() || run.count < 2) {
        return;
    }
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

void judge_zero(const MergedRun& run, std::size_t index, Judgement& judged) {
    if (const ZeroApart apart = zero_apart(run, index); apart.too_far) {
        worsen(judged, Verdict::client_limited,
               apart.text + "; they did not put their load on the servers together");
    }
}

/// From some instant on, the servers did not have the load of all shards.
void judge_together(const MergedRun& run, const MergedShard& shard, Judgement& judged) {
    if (shard.is_missing() || run.count < 2) {
        return;
    }
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

/// A certificate that its own records contradict is not one.
void judge_records(const SummaryFigures& figures, Judgement& judged) {
    const std::uint64_t spoiled = figures.tainted_rows + figures.interrupted_untainted;
    if (judged.verdict == Verdict::certified && spoiled > 0) {
        worsen(
            judged, Verdict::client_limited,
            counted(spoiled, "record is", "records are") +
                " tainted or interrupted, which no shard's verdict says: restore the files of the "
                "shards");
    }
}

/// The same of what the clients did while they sent.
void judge_client(const SummaryFigures& figures, const ClientTotals& client, Judgement& judged) {
    Reasons losses;
    add_loss_reasons(figures, client, losses);
    if (judged.verdict == Verdict::certified && client.busiest.load > busy_max) {
        losses.push_back("an engine was busy for " + percent_text(client.busiest.busy) +
                         " of one second");
    }
    if (judged.verdict == Verdict::certified && !losses.empty()) {
        worsen(judged, Verdict::client_limited,
               losses.front() + ", which no shard's verdict says: restore the files of the shards");
    }
}

void judge_shard(const MergedRun& run, const MergedShard& shard, Judgement& judged) {
    if (shard.is_missing()) {
        return;
    }
    const Verdict verdict = verdict_named(shard.verdict);
    if (verdict != Verdict::certified) {
        std::string text = shard_text(run, shard) + " is " + shard.verdict;
        text += shard.reasons.empty() ? "" : ": " + shard.reasons.front();
        worsen(judged, verdict, std::move(text));
    }
}

}  // namespace

Judgement judge_merged(const MergedRun& run, const SummaryFigures& figures,
                       const ClientTotals& client) {
    Judgement judged{Verdict::certified, {}};
    judge_rows(run, judged);
    for (const MergedShard& shard : run.shards) {
        judge_clock(run, shard, judged);
    }
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
        judge_zero(run, i, judged);
    }
    for (const MergedShard& shard : run.shards) {
        judge_together(run, shard, judged);
    }
    for (const MergedShard& shard : run.shards) {
        judge_shard(run, shard, judged);
    }
    judge_records(figures, judged);
    judge_client(figures, client, judged);
    if (judged.reasons.empty()) {
        judged.reasons.push_back(
            run.count == 1 ? "its one shard is certified"
                           : "all " + std::to_string(run.count) +
                                 " shards are certified, and their clocks are known to " +
                                 milliseconds_text(run.clock_error_max_ns) + " or better");
    }
    return judged;
}

}  // namespace driftless
