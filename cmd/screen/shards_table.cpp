#include "cmd/screen/shards_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/screen/lines.hpp"
#include "cmd/screen/plots.hpp"
#include "cmd/screen/words.hpp"

namespace driftless {

namespace {

constexpr double ns_per_us = 1e3;
constexpr double ns_per_ms = 1e6;
/// Shards that are shown; summary.json has all.
constexpr std::size_t shown_max = 32;

std::string milliseconds_text(std::int64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / ns_per_ms);
}

/// How its time 0 lies to that of the first shard, and how well that is known.
std::string zero_text(const MergedRun& run, std::size_t index) {
    const std::optional<ZeroDifference> apart = zero_difference(run, index);
    if (!apart) {
        return "-";
    }
    return milliseconds_text(apart->ns) +
           (apart->error_ns ? " +-" + milliseconds_text(*apart->error_ns) : " +-?");
}

void add_shard(Lines& lines, const MergedRun& run, std::size_t index,
               const std::vector<ShardFigures>& figures) {
    const MergedShard& shard = run.shards[index];
    if (shard.is_missing()) {
        lines.raw(fmt::format("{:<7}{:>10}", shard.index, "missing"));
        return;
    }
    const auto found =
        std::find_if(figures.begin(), figures.end(),
                     [&shard](const ShardFigures& one) { return one.index == shard.index; });
    const bool drifts = found != figures.end() && found->drift.count > 0;
    const auto drift = [&](std::size_t at) {
        return drifts ? fmt::format("{:.2f}", found->drift.at[at] / ns_per_us) : "-";
    };
    lines.raw(fmt::format("{:<7}{:>10} {:>13} {:>10} {:>9} {:>17}  {}", shard.index,
                          grouped(shard.rows), grouped(shard.not_reported), drift(median_index),
                          drift(p99_index), zero_text(run, index), shard.verdict));
}

}  // namespace

std::string shards_table(const SummaryFigures& figures, const SummaryInfo& info) {
    if (!info.merged) {
        return "";
    }
    const MergedRun& run = *info.merged;
    Lines lines;
    lines.rule("Shards");
    lines.raw(fmt::format("{:<7}{:>10} {:>13} {:>10} {:>9} {:>17}  {}", "", "rows", "not reported",
                          "drift p50", "p99, us", "time 0, ms", "verdict"));
    for (std::size_t i = 0; i < std::min(run.shards.size(), shown_max); ++i) {
        add_shard(lines, run, i, figures.shards);
    }
    if (run.shards.size() > shown_max) {
        lines.raw(fmt::format("and {} more, in summary.json", run.shards.size() - shown_max));
    }
    if (const std::uint64_t rows = run.not_reported(); rows > 0) {
        lines.add("Not reported", fmt::format("{} of {}", rows_text(rows), grouped(run.rows)));
    }
    lines.rule("");
    return lines.take();
}

}  // namespace driftless
