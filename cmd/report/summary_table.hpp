/// The summary of a run as a table for people, short or long, and the parts that both have. Pure:
/// text out, and nothing is computed here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/flags/summary_values.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

/// One line, with what must be known and what was asked for below it: `replay --quiet`.
std::string summary_brief(const SummaryFigures& figures, const SummaryInfo& info);
/// `--table`: 80 columns, about 25 lines, in the order in which a person asks: what happened at the
/// server, how fast were the answers, what did the cache hit, was the load sent as planned, can I
/// trust it. Or the long one below.
std::string summary_table(const SummaryFigures& figures, const SummaryInfo& info,
                          TableKind kind = TableKind::compact);
/// In the layout that users know from serving benchmarks, with what only this program measures
/// below it.
std::string full_table(const SummaryFigures& figures, const SummaryInfo& info);

/// What the servers measured of themselves. Empty where no page of metrics was read; what no page
/// says is left out.
std::vector<std::string> server_lines(const SummaryFigures& figures, const SummaryInfo& info);
/// What the prefix cache hit: first the share of all prompt tokens.
std::vector<std::string> cache_lines(const SummaryFigures& figures, const SummaryInfo& info);
/// How many requests were good (`--goodput`): of all rows, then of each group that has limits of
/// its own. Empty without --goodput.
std::vector<std::string> goodput_lines(const SummaryFigures& figures);
/// The two sides of a dual-fire run; empty where it has none. It tells of both sides' drift, and of
/// what was measured row by row; whether that is more than chance is `compare`'s to say.
std::string sides_table(const std::optional<SideFigures>& sides);
/// A line for each shard of a merged run; empty where it is not merged.
std::string shards_table(const SummaryFigures& figures, const SummaryInfo& info);

/// A set of `--rules`: its line, then what it found violated; then, where the publisher's own tests
/// would call the run valid and ours do not, which of them let it pass.
struct RuleLines {
    std::string set;
    std::vector<std::string> violated;
    std::string passed;  ///< empty: there is no such difference
};
std::vector<RuleLines> rule_lines(const std::vector<RuleFinding>& findings);

/// Below the table of a run: what became of `--rules` and of each `--fail-if`, and which
/// `--stop-when` has ended it. Empty without any.
std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds,
                         const std::optional<StoppedWhen>& stopped);

}  // namespace driftless
