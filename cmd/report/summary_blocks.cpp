#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "cmd/reading/view.hpp"
#include "cmd/report/summary_table.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

/// Parts of a line, with commas between them.
class Parts {
  public:
    void add(const std::string& part) { text_ += (text_.empty() ? "" : ", ") + part; }
    void count(std::optional<double> value, std::string_view what) {
        if (value) {
            add(fmt::format("{} {}", grouped(static_cast<std::uint64_t>(std::llround(*value))),
                            what));
        }
    }
    void percent(std::optional<double> value, std::string_view what) {
        if (value) {
            add(fmt::format("{} {:.2f} %", what, 100 * *value));
        }
    }
    void end(std::vector<std::string>& lines) {
        if (!text_.empty()) {
            lines.push_back(text_);
        }
        text_.clear();
    }

  private:
    std::string text_;
};

}  // namespace

static std::string engines_of(const ServerTotals& totals) {
    std::string engines;
    for (const ScrapedUrl& url : totals.urls) {
        const bool is_new = engines.find(url.engine) == std::string::npos;
        if (!url.engine.empty() && is_new) {
            engines += (engines.empty() ? "" : ", ") + url.engine;
        }
    }
    return engines;
}

static void add_reading(std::vector<std::string>& lines, const ServerTotals& totals) {
    const std::string engines = engines_of(totals);
    std::string text = fmt::format(
        "{} of {} read{}", counted(totals.scrapes, "page", "pages"),
        counted(totals.urls.size(), "URL", "URLs"),
        totals.failures > 0 ? fmt::format(", {} failed", grouped(totals.failures)) : "");
    text += engines.empty() ? "; no known table fits their metrics: server.jsonl has all series"
                            : fmt::format(" ({})", engines);
    std::uint64_t restarts = 0;
    for (const ScrapedUrl& url : totals.urls) {
        restarts += url.restarts;
    }
    text += totals.of_several() != nullptr ? "; several servers answered in turn: no figures"
            : restarts > 0
                ? fmt::format("; counters restarted {}", counted(restarts, "time", "times"))
                : "";
    lines.push_back(std::move(text));
}

static void add_energy(std::vector<std::string>& lines, const SummaryFigures& f,
                       const ServerTotals& totals, std::uint64_t finished_trees) {
    if (!totals.joules) {
        return;
    }
    Parts parts;
    if (const auto& watts = totals.gauge(ServerFigure::watts); watts) {
        parts.add(fmt::format("{:.0f} W on average", watts->mean));
    }
    parts.add(fmt::format("{:.0f} J", *totals.joules));
    if (f.completed > 0) {
        parts.add(
            fmt::format("{:.2f} J per request", *totals.joules / static_cast<double>(f.completed)));
    }
    if (f.output_tokens > 0 && f.uncounted.outputs == 0) {
        parts.add(fmt::format("{:.3f} J per output token",
                              *totals.joules / static_cast<double>(f.output_tokens)));
    }
    if (finished_trees > 0) {
        parts.add(fmt::format("{:.2f} J per finished tree",
                              *totals.joules / static_cast<double>(finished_trees)));
    }
    parts.end(lines);
}

std::vector<std::string> server_lines(const SummaryFigures& f, const SummaryInfo& info) {
    std::vector<std::string> lines;
    if (!info.server) {
        return lines;
    }
    const ServerTotals& totals = *info.server;
    add_reading(lines, totals);
    Parts parts;
    parts.count(totals.counter(ServerFigure::requests), "requests");
    parts.count(totals.counter(ServerFigure::prompt_tokens), "prompt tokens");
    parts.count(totals.counter(ServerFigure::generated_tokens), "generated");
    parts.count(totals.counter(ServerFigure::preemptions), "preemptions");
    parts.end(lines);
    parts.percent(totals.share(ServerFigure::prefix_hit_tokens, ServerFigure::prefix_query_tokens),
                  "prefix hits");
    parts.percent(totals.share(ServerFigure::accepted_tokens, ServerFigure::draft_tokens),
                  "drafts accepted");
    if (const auto& usage = totals.gauge(ServerFigure::kv_usage); usage) {
        parts.add(fmt::format("KV cache {:.1f} % full (at most {:.1f} %)", 100 * usage->mean,
                              100 * usage->max));
    }
    parts.end(lines);
    for (const ServerFigure requests : {ServerFigure::running, ServerFigure::waiting}) {
        if (const auto& gauge = totals.gauge(requests); gauge) {
            parts.add(fmt::format("{} {:.1f} (at most {:.0f})", name_of(requests), gauge->mean,
                                  gauge->max));
        }
    }
    for (const auto& [name, seconds] : {std::pair("queue", ServerFigure::queue_seconds),
                                        std::pair("prefill", ServerFigure::prefill_seconds)}) {
        if (const auto mean = totals.share(seconds, ServerFigure::requests); mean) {
            parts.add(fmt::format("{} {:.2f} ms", name, 1e3 * *mean));
        }
    }
    parts.end(lines);
    add_energy(lines, f, totals, info.finished_trees.value_or(0));
    return lines;
}

namespace {

/// What the cached tokens that a server reports can be compared with.
enum class CacheAnswer : std::uint8_t {
    none,          ///< it reports none
    not_foretold,  ///< it reports some, and nothing is expected: the prompts are recorded text
    only_zeros,    ///< it reports 0 for every row although hits are expected: no rate of misses
    by_trace_blocks,
    by_server_blocks,  ///< its own blocks are known, and explain as many rows as the trace's or
                       ///< more
};

}  // namespace

/// Whether both kinds of blocks say the same.
static bool same_cache_forecasts(const SummaryFigures& f) {
    return f.server_cache_rows == f.cache_rows_compared() &&
           f.server_cache_expected == f.expected_cached_tokens_reported &&
           f.server_cache_rows_equal == f.cache_rows_equal;
}

static CacheAnswer cache_answer(const SummaryFigures& f, const SummaryInfo& info) {
    if (f.cache_rows_reported == 0) {
        return CacheAnswer::none;
    }
    if (f.cache_rows_compared() == 0) {
        return CacheAnswer::not_foretold;
    }
    const bool blocks_known = info.server_block && f.server_cache_rows == f.cache_rows_compared();
    const std::uint64_t expected =
        blocks_known ? f.server_cache_expected : f.expected_cached_tokens_reported;
    if (f.cached_tokens_compared() == 0 && expected > 0) {
        return CacheAnswer::only_zeros;
    }
    return blocks_known && !same_cache_forecasts(f) &&
                   f.server_cache_rows_equal >= f.cache_rows_equal
               ? CacheAnswer::by_server_blocks
               : CacheAnswer::by_trace_blocks;
}

/// Why hits of recorded text are compared with nothing.
static constexpr const char* why_not_foretold = "not forecast: the prompts are recorded text";

/// What may be the reason of `only_zeros`.
static constexpr const char* why_only_zeros =
    "it may not count hits, or its cache is off or too small";

/// Why there are no hits, whose loss that is, and what was expected: the line of `none`.
static std::string no_hits_text(const SummaryFigures& f) {
    const std::string hits = f.tainted_lost == 0 ? "hits not reported by the server"
                                                 : "hits not known: " + rows_text(f.tainted_lost) +
                                                       " lost a part of the answer in this client";
    return f.foretells_hits() ? grouped(f.expected_cached_tokens) + " tokens expected, " + hits
                              : hits + ", and " + why_not_foretold;
}

/// The real hit rate first: what of the prompts was hit, and what could be. Then how much of that.
static std::vector<std::string> hit_lines(const SummaryFigures& f, std::uint64_t expected,
                                          std::uint64_t equal, std::string_view in_blocks) {
    const std::uint64_t hit = f.cached_tokens_compared();
    const std::uint64_t prompts = f.cache_prompt_tokens.value_or(0);
    std::vector<std::string> lines{
        prompts > 0 ? fmt::format("{} of prompt tokens hit; the trace allows {}{}",
                                  share(hit, prompts), share(expected, prompts), in_blocks)
                    : fmt::format("{} tokens hit; the trace allows {}{}", grouped(hit),
                                  grouped(expected), in_blocks)};
    if (equal != f.rows) {
        lines.push_back(
            fmt::format("{}{} of {} rows as expected",
                        expected > 0 ? share(hit, expected) + " of the expected hits; " : "",
                        grouped(equal), grouped(f.cache_rows_compared())));
    }
    return lines;
}

static std::vector<std::string> compared_lines(const SummaryFigures& f, const SummaryInfo& info) {
    if (cache_answer(f, info) == CacheAnswer::by_server_blocks) {
        return hit_lines(f, f.server_cache_expected, f.server_cache_rows_equal,
                         fmt::format(" in the server's blocks of {}", *info.server_block));
    }
    std::vector<std::string> lines =
        hit_lines(f, f.expected_cached_tokens_reported, f.cache_rows_equal, "");
    if (info.server_block && f.server_cache_rows > 0 && !same_cache_forecasts(f)) {
        lines.push_back(
            fmt::format("{} expected in the server's blocks of {}: {} of {} rows as expected",
                        grouped(f.server_cache_expected), *info.server_block,
                        grouped(f.server_cache_rows_equal), grouped(f.server_cache_rows)));
    }
    return lines;
}

std::vector<std::string> cache_lines(const SummaryFigures& f, const SummaryInfo& info) {
    std::vector<std::string> lines;
    switch (cache_answer(f, info)) {
        case CacheAnswer::none:
            return {no_hits_text(f)};
        case CacheAnswer::not_foretold:
            return {fmt::format("{} tokens hit, {}", grouped(f.cached_tokens), why_not_foretold)};
        case CacheAnswer::only_zeros:
            lines = {fmt::format(
                "{} tokens expected; the server says 0 for {}: {}",
                grouped(f.expected_cached_tokens),
                f.cache_rows_reported == f.rows ? "every row" : "all rows that it reports",
                why_only_zeros)};
            break;
        default:
            lines = compared_lines(f, info);
    }
    if (f.cache_rows_unforetold > 0) {
        lines.push_back(fmt::format("beside them {} of recorded text hit {} tokens, not forecast",
                                    rows_text(f.cache_rows_unforetold),
                                    grouped(f.cached_tokens_unforetold)));
    }
    return lines;
}

/// Without the share where others could not be judged: it would be of those that failed. Behind it
/// how many there are by the ends of their bars, where these differ.
static std::string counts_text(const GoodputCounts& count, const SummaryFigures& f) {
    if (f.uncounted.goodput > 0) {
        return fmt::format("{} of {} rows that were judged", grouped(count.good),
                           grouped(count.decided));
    }
    const auto& [least, most] = std::pair(count.worst.good, count.best.good);
    return fmt::format("{} of {} rows ({}{})", grouped(count.good), grouped(count.decided),
                       share(count.good, count.decided),
                       f.has_bars() && least != most ? fmt::format("; {} to {} without the client",
                                                                   grouped(least), grouped(most))
                                                     : "");
}

/// "ttft:200 tpot:50", in ms; empty where none is set.
static std::string limits_text(const GoodputLimits& limits) {
    std::string text;
    const auto add = [&text](std::string_view name, const OptionalNs& value) {
        if (value) {
            text += fmt::format("{}{}:{:g}", text.empty() ? "" : " ", name,
                                static_cast<double>(*value) / ns_per_ms);
        }
    };
    add("ttft", limits.ttft_ns);
    add("ttft_due", limits.ttft_due_ns);
    add("tpot", limits.tpot_ns);
    add("e2e", limits.e2e_ns);
    return text;
}

std::vector<std::string> goodput_lines(const SummaryFigures& f) {
    std::vector<std::string> lines;
    if (!f.judges_goodput()) {
        return lines;
    }
    const bool has_groups = std::ranges::any_of(
        f.goodput_rules, [](const GoodputRule& one) { return one.key.has_value(); });
    const std::uint64_t uncounted = f.uncounted.goodput;
    lines.push_back(fmt::format(
        "{}: {}{}",
        f.request_goodput
            ? fmt::format("{:.2f}/s", *f.request_goodput)
            : "not known, for " + counted(uncounted, "row has", "rows have") +
                  (f.ttft.count == 0    ? " no first token (--no-stream)"
                   : f.tainted_lost > 0 ? " no count of tokens, or lost a part in this client"
                                        : " no count of tokens, and no TPOT"),
        counts_text(f.goodput(), f),
        has_groups ? "" : " within " + limits_text(common_limits(f.goodput_rules)) + " ms"));
    for (std::size_t i = 0; has_groups && i < f.goodput_rules.size(); ++i) {
        lines.push_back(fmt::format("{}: {} within {} ms", group_text(f.goodput_rules[i]),
                                    counts_text(f.goodput_counts[i], f),
                                    limits_text(f.goodput_rules[i].limits)));
    }
    const bool from_due = std::ranges::any_of(
        f.goodput_rules, [](const auto& one) { return one.limits.ttft_due_ns.has_value(); });
    const SendingFigures& sending = f.sending;
    for (const auto& [held, flag] : {std::pair(&sending.held_by_user.held, "--max-inflight"),
                                     std::pair(&sending.held_by_budget.held, "a token budget")}) {
        if (held->count > 0 && !from_due) {
            lines.push_back(fmt::format(
                "{} held {} back, up to {:.0f} ms, which ttft and e2e do not count; ttft_due:MS "
                "does",
                flag, counted(held->count, "row", "rows"), held->max / ns_per_ms));
        }
    }
    return lines;
}

static std::string cell(const Distribution& d, double value, double unit) {
    return d.count == 0 ? fmt::format(" {:>8}", "-") : fmt::format(" {:>8.2f}", value / unit);
}

static void add_side(Lines& lines, const char* name, const OneSideFigures& side) {
    const Distribution& drift = side.drift;
    lines.raw(fmt::format("{:<{}}{:>8}{:>8}", name, label_columns - 6, grouped(side.completed),
                          grouped(side.failed)) +
              cell(side.ttft, side.ttft.median(), ns_per_ms) +
              cell(side.ttft, side.ttft.at[p99_index], ns_per_ms) +
              cell(side.tpot, side.tpot.median(), ns_per_ms) +
              cell(side.e2e, side.e2e.median(), ns_per_ms) +
              cell(drift, drift.median(), ns_per_us) + cell(drift, drift.at[p99_index], ns_per_us));
}

/// A difference, in the unit that shows it.
static std::string signed_time(double ns) {
    const bool small = ns > -ns_per_ms && ns < ns_per_ms;
    return small ? fmt::format("{:+.1f} us", ns / ns_per_us)
                 : fmt::format("{:+.2f} ms", ns / ns_per_ms);
}

static std::string order_text(const Distribution& d, const char* first) {
    return d.count == 0 ? fmt::format("none was sent to {} first", first)
                        : fmt::format("mean {} where {} went first ({})", signed_time(d.mean),
                                      first, grouped(d.count));
}

static void add_pairs(Lines& lines, const PairFigures& pairs) {
    if (pairs.ttft.count > 0) {
        lines.add("TTFT, b less a",
                  fmt::format("p50 {} over {}; {}, {}", signed_time(pairs.ttft.median()),
                              rows_text(pairs.ttft.count), order_text(pairs.a_first, "a"),
                              order_text(pairs.b_first, "b")));
    }
    if (pairs.unpaired > 0) {
        lines.add(pairs.ttft.count > 0 ? "" : "TTFT, b less a",
                  rows_text(pairs.unpaired) + " without a first token on both sides left out");
    }
}

std::string sides_table(const std::optional<SideFigures>& sides) {
    if (!sides) {
        return "";
    }
    Lines lines;
    lines.rule("Sides");
    lines.add("a", sides->a.url.empty() ? "-" : sides->a.url);
    lines.add("b", sides->b.url.empty() ? "-" : sides->b.url);
    lines.raw(fmt::format("{:<{}}{:>8}{:>8}{:>9}{:>9}{:>9}{:>9}{:>18}", "ms", label_columns - 6,
                          "ok", "failed", "TTFT p50", "p99", "TPOT p50", "E2E p50",
                          "drift p50, p99 us"));
    add_side(lines, "a", sides->a);
    add_side(lines, "b", sides->b);
    add_pairs(lines, sides->pairs);
    lines.rule("");
    return lines.take();
}

/// Shards that are shown; summary.json has all.
static constexpr std::size_t shown_max = 32;

static std::string ms_text(std::int64_t ns) {
    return fmt::format("{:.3f}", static_cast<double>(ns) / ns_per_ms);
}

/// How its time 0 lies to that of the first shard, and how well that is known.
static std::string zero_text(const MergedRun& run, std::size_t index) {
    const std::optional<ZeroDifference> apart = zero_difference(run, index);
    if (!apart) {
        return "-";
    }
    return ms_text(apart->ns) + (apart->error_ns ? " +-" + ms_text(*apart->error_ns) : " +-?");
}

static void add_shard(Lines& lines, const MergedRun& run, std::size_t index,
                      const std::vector<ShardFigures>& figures) {
    const MergedShard& shard = run.shards[index];
    if (shard.is_missing()) {
        lines.raw(fmt::format("{:<7}{:>10}", shard.index, "missing"));
        return;
    }
    const auto found = std::ranges::find(figures, shard.index, &ShardFigures::index);
    const bool drifts = found != figures.end() && found->drift.count > 0;
    const auto drift = [&](std::size_t at) {
        return drifts ? fmt::format("{:.2f}", found->drift.at[at] / ns_per_us) : "-";
    };
    lines.raw(fmt::format("{:<7}{:>10} {:>13} {:>10} {:>9} {:>17}  {}", shard.index,
                          grouped(shard.rows), grouped(shard.not_reported), drift(median_index),
                          drift(p99_index), zero_text(run, index), shard.verdict));
}

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

/// Those that `pick` wants.
template <typename Pick>
static std::string names_of(std::vector<const RuleFinding*> set, Pick pick) {
    std::erase_if(set, [&pick](const RuleFinding* one) { return !pick(*one); });
    return joined(set, ", ", &RuleFinding::rule);
}

static RuleLines lines_of(const std::vector<const RuleFinding*>& set) {
    RuleLines lines;
    const auto count = [&set](RuleState state) {
        return std::to_string(std::ranges::count(set, state, &RuleFinding::state));
    };
    const auto is_violated = [](const RuleFinding& one) {
        return one.state == RuleState::violated;
    };
    bool published_violated = false;
    for (const RuleFinding* one : set) {
        if (is_violated(*one)) {
            lines.violated.push_back(one->rule + ": " + one->evidence + "; " + one->bound);
            published_violated = published_violated || one->published;
        }
    }
    lines.set = set.front()->set + " (" + set.front()->version + "): " + count(RuleState::met) +
                " met, " + count(RuleState::violated) + " violated, " + count(RuleState::unknown) +
                " unknown";
    if (!lines.violated.empty() && !published_violated) {
        // The publisher's thresholds; flags let nothing pass.
        const auto passed = [](const RuleFinding& one) {
            return one.published && one.state == RuleState::met && !one.rule.starts_with("--");
        };
        lines.passed = "the publisher's own tests call this run valid: " + names_of(set, passed) +
                       " passed; of our own, " + names_of(set, is_violated) + " did not";
    }
    return lines;
}

std::vector<RuleLines> rule_lines(const std::vector<RuleFinding>& findings) {
    std::vector<RuleLines> all;
    for (std::size_t begin = 0; begin < findings.size();) {
        std::vector<const RuleFinding*> set;
        for (std::size_t i = begin; i < findings.size() && findings[i].set == findings[begin].set;
             ++i) {
            set.push_back(&findings[i]);
        }
        begin += set.size();
        all.push_back(lines_of(set));
    }
    return all;
}

std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds,
                         const std::optional<StoppedWhen>& stopped) {
    Lines lines;
    for (const RuleLines& set : rule_lines(rules)) {
        lines.add("Rules", set.set);
        for (const std::string& text : set.violated) {
            lines.add("Violated", text);
        }
        if (!set.passed.empty()) {
            lines.add("", set.passed);
        }
    }
    for (const ThresholdFinding& one : thresholds) {
        lines.add(one.fails ? "Fails" : "Within", one.condition + ": " + value_text(one));
    }
    if (stopped) {
        lines.add("Stopped", fmt::format("after {:.1f} s, --stop-when {}: {}", stopped->at_s,
                                         stopped->condition, value_text(*stopped)));
    }
    return lines.take();
}

}  // namespace driftless
