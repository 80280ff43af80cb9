/// The summary of a run as a table for people, short or long, and the parts that both have. Text
/// out; it computes nothing and prints nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/flags/summary_values.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

// The summary as a table of 80 columns, about 25 lines, in the order in which a person asks: what
// happened at the server, how fast were the answers, what did the cache hit, was the load sent as
// planned, can I trust it. Text out; it computes nothing and prints nothing.

/// One line, with what must be known and what was asked for below it: `replay --quiet`.
std::string summary_brief(const SummaryFigures& figures, const SummaryInfo& info);
/// `--table`: this one, or the long one below.
std::string summary_table(const SummaryFigures& figures, const SummaryInfo& info,
                          TableKind kind = TableKind::compact);

// The summary as a long table, in the layout that users know from serving benchmarks, with what
// only this program measures below it. Text out; it computes nothing and prints nothing.

std::string full_table(const SummaryFigures& figures, const SummaryInfo& info);

// What the servers measured of themselves, as a few lines for people. Pure.

/// Empty where no page of metrics was read. What no page says is left out.
std::vector<std::string> server_lines(const SummaryFigures& figures, const SummaryInfo& info);

// What the prefix cache hit, as a few lines for people: first the share of all prompt tokens. Pure.

std::vector<std::string> cache_lines(const SummaryFigures& figures, const SummaryInfo& info);

// How many requests were good (`--goodput`), as a few lines for people. Pure.

/// Of all rows, then of each group that has limits of its own. Empty without --goodput.
std::vector<std::string> goodput_lines(const SummaryFigures& figures);

// The two sides of a dual-fire run, as a short table for people. Pure.

/// Empty where the run has no sides. It tells of both sides' drift, and of what was measured row by
/// row; whether that is more than chance is `compare`'s to say.
std::string sides_table(const std::optional<SideFigures>& sides);

// The shards of a merged run, as a short table for people. Pure.

/// A line for each shard; empty where the run is not merged.
std::string shards_table(const SummaryFigures& figures, const SummaryInfo& info);

// What became of `--rules`, for the screen: a line for each set, and one for each rule that is
// violated. Texts without labels; they compute nothing.

/// A set's line, then what it found violated; then, where the publisher's own tests would call the
/// run valid and ours do not, which of them let it pass.
struct RuleLines {
    std::string set;
    std::vector<std::string> violated;
    std::string passed;  ///< empty: there is no such difference
};
std::vector<RuleLines> rule_lines(const std::vector<RuleFinding>& findings);

// Below the table of a run, whichever it is: what became of `--rules`, of each
// `--fail-if`, and which `--stop-when` has ended it.

/// Nothing without any.
std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds,
                         const std::optional<StoppedWhen>& stopped);

}  // namespace driftless
