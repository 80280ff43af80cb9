/// The summary as the long table (`--table full`).

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "cmd/reading/view.hpp"
#include "cmd/report/summary_table.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr std::size_t errors_shown = 5;

/// Appends lines of 50 columns: a label of 40 and a value, as those benchmarks print them.
class Table {
  public:
    void title(std::string_view text, char fill = '-') {
        const std::string padded =
            fill == '=' && !text.empty() ? fmt::format(" {} ", text) : std::string(text);
        const std::size_t room = padded.size() < 50 ? 50 - padded.size() : 0;
        text_.append(room / 2, fill).append(padded).append(room - room / 2, fill) += '\n';
    }
    void line(std::string_view label, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "{:<40} {}\n", label, value);
    }
    void count(std::string_view label, std::uint64_t value) {
        line(label, fmt::format("{}", value));
    }
    /// Where there are any.
    void some(std::string_view label, std::uint64_t value) {
        if (value > 0) {
            count(label, value);
        }
    }
    void number(std::string_view label, double value) { line(label, fmt::format("{:.2f}", value)); }
    void distribution(std::string_view name, const Distribution& d, double unit,
                      std::string_view unit_name) {
        const auto row = [&](std::string_view what, double value) {
            const std::string label = fmt::format("{} {} ({}):", what, name, unit_name);
            line(label, d.count == 0 ? "-" : fmt::format("{:.2f}", value / unit));
        };
        row("Mean", d.mean);
        row("Median", d.median());
        row("Std", d.std);
        for (std::size_t i = 0; i < percentiles.size(); ++i) {
            if (i != median_index) {
                row(fmt::format("P{}", percentiles[i].name), d.at[i]);
            }
        }
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

std::string two_digits(const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string rate_text(const std::optional<double>& rate) {
    return rate ? fmt::format("{:.3f}", *rate) : "-";
}

void add_totals(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
    table.count("Successful requests:", f.completed);
    table.some("Short outputs:", f.short_output);
    table.some("Long outputs:", f.long_output);
    const std::uint64_t unsent = f.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    table.count("Failed requests:", f.failed - std::min(unsent, f.failed));
    if (f.abandoned.requests > 0) {
        table.count("Abandoned:", f.abandoned.requests);
        table.count("- before their first token:", f.abandoned.no_first_token);
        table.count("- tokens received:", f.abandoned.output_tokens);
    }
    if (unsent > 0) {
        table.count("Not sent:", unsent);
        table.count("- waited for a row that failed:", f.dropped);
    }
    table.some("Cut off at the end of the time:", f.censored);
    table.some("Sent once more:", f.retries);
    if (f.warmup_rows > 0) {
        table.line("Warm-up requests / failed:",
                   fmt::format("{} / {}", f.warmup_rows, f.warmup_failed));
    }
    if (f.overtaken_turns > 0) {
        table.line("Turns sent before the last ended:",
                   fmt::format("{} of {}", f.overtaken_turns, f.follow_up_turns));
        table.line("", overtaken_remedy(info));
    }
    if (f.live.turns > 0) {
        table.line("Turns with answers of this run:", live_text(f.live));
    }
    table.line("Outputs exact / short / long / unknown:",
               fmt::format("{} / {} / {} / {}", f.outputs_exact, f.outputs_short, f.outputs_long,
                           f.outputs_unknown));
    table.number("Benchmark duration (s):", static_cast<double>(f.duration_ns) / 1e9);
    const auto sum = [](std::uint64_t tokens, bool is_whole) {
        return is_whole ? fmt::format("{}", tokens) : grouped_sum(tokens, false);
    };
    table.line("Total input tokens:", sum(f.input_tokens, f.uncounted.inputs == 0));
    table.line("Total generated tokens:", sum(f.output_tokens, f.uncounted.outputs == 0));
    table.line("Requests sent (req/s):", rate_text(f.timeline.sent_rate));
    if (!info.run.rate.empty()) {
        table.line("Rate asked:", fmt::format("{} ({})", info.run.rate, info.run.arrivals));
        table.line("Rate planned / sent (1/s):",
                   fmt::format("{} / {}", rate_text(info.run.planned_rate),
                               rate_text(f.timeline.sent_rate)));
    }
    table.number("Request throughput (req/s):", f.request_throughput);
    if (f.request_goodput.has_value()) {
        table.number("Request goodput (req/s):", *f.request_goodput);
    }
    table.line("Output token throughput (tok/s):", two_digits(f.output_throughput));
    const std::optional<std::uint64_t> best = shown_peak(f);
    table.line("Peak output token throughput (tok/s):", best ? fmt::format("{}", *best) : "-");
    table.count("Peak concurrent requests:", f.timeline.max_concurrent_requests);
    table.line("Total token throughput (tok/s):", two_digits(f.total_token_throughput));
}

/// "-" where nothing was measured.
std::string three(const Distribution& d, double unit) {
    return d.count == 0 ? "-"
                        : fmt::format("{:.2f} / {:.2f} / {:.2f}", d.median() / unit,
                                      d.at[p99_index] / unit, d.max / unit);
}

/// Rows that were held, if there are any, and how long or late they were.
void add_held(Table& table, std::string_view who, std::string_view what, const Distribution& d) {
    if (d.count > 0) {
        table.count(who, d.count);
        table.line(what, three(d, ns_per_ms));
    }
}

void add_drift(Table& table, const SummaryFigures& f) {
    const Distribution& drift = f.sending.drift;
    table.title("Drift (fired - due)");
    table.distribution("drift", drift, ns_per_us, "us");
    table.line("Worst drift (us):",
               drift.count == 0 ? "-" : fmt::format("{:.2f}", drift.max / ns_per_us));
    constexpr const char* held = "- held (median / P99 / worst, ms):";
    add_held(table, "Held by --max-inflight, left out:", "- late (median / P99 / worst, ms):",
             f.sending.held_by_user.drift);
    add_held(table, "Held by token budgets, left out:", held, f.sending.held_by_budget.held);
    add_held(table, "Held by a limit of this host:", held, f.sending.held_by_host.held);
    std::string causes;
    for (std::size_t i = 1; i < f.late_causes.size(); ++i) {
        if (f.late_causes[i] > 0) {
            causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ",
                                  name_of(static_cast<LateCause>(i)), f.late_causes[i]);
        }
    }
    table.line("Late rows by cause:", causes.empty() ? "none" : causes);
}

/// Median, p99 and worst: below us, and by the place in a burst where there are bursts.
void add_wire(Table& table, const SummaryFigures& f) {
    const SendingFigures& s = f.sending;
    table.title("Kernel (median / P99 / worst, us)");
    table.line("Call that fires a row:", three(s.submit, ns_per_us));
    table.line("On the wire - fired:", three(s.wire_delay, ns_per_us));
    table.line("On the wire - due:", three(s.wire_drift, ns_per_us));
    table.line("Read - received, worst of a row:", three(s.receive_delay, ns_per_us));
    if (f.retransmitted_rows > 0) {
        table.line("Segments sent again (rows, late rows):",
                   fmt::format("{} ({}, {})", f.retransmits, f.retransmitted_rows,
                               f.tainted_retransmitted));
    }
    table.some("Rows without transmit stamp (run.json):", s.wire_unknown);
    if (s.by_rank.size() < 2) {
        return;
    }
    for (const RankFigures& rank : s.by_rank) {
        const std::string place = rank.first == rank.last
                                      ? fmt::format("{}", rank.first)
                                      : fmt::format("{}-{}", rank.first, rank.last);
        table.line(fmt::format("Drift, place {} in its instant:", place),
                   three(rank.drift, ns_per_us));
    }
}

void add_observed(Table& table, const SummaryFigures& f, std::uint64_t expected,
                  std::uint64_t equal, std::uint64_t rows) {
    table.line("Cached tokens observed:",
               fmt::format("{} ({} of those expected)", f.cached_tokens_compared(),
                           share(f.cached_tokens_compared(), expected)));
    table.line("Rows with exactly the expected hits:", fmt::format("{} of {}", equal, rows));
}

void add_cache(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
    const CacheAnswer answer = cache_answer(f, info);
    if (answer == CacheAnswer::by_server_blocks) {
        table.line(fmt::format("Expected in the server's blocks ({}):", *info.server_block),
                   fmt::format("{}", f.server_cache_expected));
        add_observed(table, f, f.server_cache_expected, f.server_cache_rows_equal,
                     f.server_cache_rows);
        table.count("Expected in the trace's blocks:", f.expected_cached_tokens);
        return;
    }
    if (answer == CacheAnswer::none || answer == CacheAnswer::not_foretold) {
        table.line("Cached tokens:",
                   answer == CacheAnswer::none
                       ? no_hits_text(f)
                       : fmt::format("{} hit, {}", f.cached_tokens, why_not_foretold));
        return;
    }
    table.count("Cached tokens expected:", f.expected_cached_tokens);
    if (answer == CacheAnswer::by_trace_blocks) {
        add_observed(table, f, f.expected_cached_tokens_reported, f.cache_rows_equal,
                     f.cache_rows_compared());
        if (f.cache_rows_unforetold > 0) {
            table.line(
                "Recorded text, hits not forecast:",
                fmt::format("{} in {} rows", f.cached_tokens_unforetold, f.cache_rows_unforetold));
        }
        if (info.server_block && f.server_cache_rows > 0 && !same_cache_forecasts(f)) {
            table.line(fmt::format("Expected in the server's blocks ({}):", *info.server_block),
                       fmt::format("{}", f.server_cache_expected));
            table.line("Rows with exactly these hits:",
                       fmt::format("{} of {}", f.server_cache_rows_equal, f.server_cache_rows));
        }
        return;
    }
    table.line("Cached tokens observed:", fmt::format("0 for every row: {}", why_only_zeros));
}

void add_prompts(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
    table.title("Prompts and Prefix Cache");
    table.line("Prompts exact / off / not reported:",
               fmt::format("{} / {} / {}", f.prompts.exact, f.prompts.off,
                           f.prompts.unknown - f.prompts.lost));
    table.some("- lost by this client:", f.prompts.lost);
    if (f.prompts.off > 0) {
        table.line("Largest difference (tokens):", fmt::format("{:+}", f.prompts.largest_off));
        table.line("Likely cause:", name_of(f.prompts.cause));
        table.line("", f.prompts.explanation);
    }
    add_cache(table, f, info);
    if (info.split_unknown && f.expected_cached_tokens > 0) {
        table.line("Split of the overhead:", "unknown: rows may have lost a block each");
    }
}

/// Which server had which rows, where there are several.
void add_urls(Table& table, const std::vector<UrlFigures>& urls) {
    if (urls.size() < 2) {
        return;
    }
    table.title("Servers (rows / ok / failed)");
    for (const UrlFigures& one : urls) {
        table.line(one.url + ":", fmt::format("{} / {} / {}", one.rows, one.completed, one.failed));
    }
}

void add_goodput(Table& table, const SummaryFigures& f) {
    if (!f.judges_goodput()) {
        return;
    }
    table.title("Goodput");
    if (const GoodputLimits limits = common_limits(f.goodput_rules); limits.set()) {
        table.line("Bounds (ms):", limits_text(limits));
    }
    table.line("Good requests:", fmt::format("{} ({})", f.good, share(f.good, f.decided())));
    for (std::size_t i = 0; i < f.goodput_rules.size(); ++i) {
        const GoodputRule& rule = f.goodput_rules[i];
        const GoodputCount& count = f.goodput_counts[i];
        if (rule.key) {
            table.line(fmt::format("{} ({}):", group_text(rule), limits_text(rule.limits)),
                       fmt::format("{} of {} ({})", count.good, count.decided,
                                   share(count.good, count.decided)));
        }
    }
}

void add_outcomes(Table& table, const SummaryFigures& f) {
    table.title("Outcomes");
    for (std::size_t i = 0; i < f.outcomes.size(); ++i) {
        table.some(fmt::format("{}:", name_of(static_cast<Outcome>(i))), f.outcomes[i]);
    }
    table.some("Tainted records:", f.tainted_rows);
}

/// The reasons of most rows, one line each.
void add_errors(Table& table, const SummaryFigures& f) {
    if (f.errors.empty()) {
        return;
    }
    table.title("Errors (rows)");
    std::uint64_t shown = 0;
    for (std::size_t i = 0; i < std::min(f.errors.size(), errors_shown); ++i) {
        const ErrorText& error = f.errors[i];
        const std::string status = error.status > 0 ? fmt::format(" {}", error.status) : "";
        const std::string text = failure_text(error.outcome, error.text);
        table.line(fmt::format("{}{}: {}", name_of(error.outcome), status, error.rows), text);
        shown += error.rows;
    }
    shown += f.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    table.some("Others (summary.json):", f.failed - std::min(shown, f.failed));
}

/// What has no figure, and why.
void add_unknown(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
    if (f.ttft.count == 0) {
        return;
    }
    for (const std::string& text : no_tpot_texts(f)) {
        table.line("No TPOT:", text);
    }
    for (const std::string& text : no_itl_texts(f, info)) {
        table.line("No ITL:", text);
    }
}

void add_unfinished(Table& table, const Unfinished& unfinished) {
    table.title("Unfinished");
    table.count("Rows without a record:", unfinished.rows);
    table.count(unfinished.all_known ? "Of these sent:" : "Of these sent, at least:",
                unfinished.rows_left);
}

}  // namespace

std::string full_table(const SummaryFigures& f, const SummaryInfo& info) {
    Table table;
    table.title("Serving Benchmark Result", '=');
    add_totals(table, f, info);
    table.title("Time to First Token");
    table.distribution("TTFT", f.ttft, ns_per_ms, "ms");
    table.title("Time per Output Token (excl. 1st token)");
    table.distribution("TPOT", f.tpot, ns_per_ms, "ms");
    table.title("Inter-token Latency");
    table.distribution("ITL", f.itl, ns_per_ms, "ms");
    add_unknown(table, f, info);
    table.title("End-to-end Latency");
    table.distribution("E2EL", f.e2e, ns_per_ms, "ms");
    table.title("First Token from the Due Instant");
    table.distribution("TTFT-due", f.ttft_due, ns_per_ms, "ms");
    add_drift(table, f);
    add_wire(table, f);
    add_prompts(table, f, info);
    table.some("Rows within the overhead (1 word sent):", info.clamped_rows);
    add_goodput(table, f);
    add_urls(table, f.urls);
    for (const std::string& text : server_lines(f, info)) {
        table.line("Servers' metrics:", text);
    }
    add_outcomes(table, f);
    add_errors(table, f);
    if (info.unfinished) {
        add_unfinished(table, *info.unfinished);
    }
    table.title("", '=');
    table.line("Verdict:", info.verdict);
    for (const std::string& reason : info.verdict_reasons) {
        table.line("", reason);
    }
    for (const std::string& warning : f.warnings) {
        table.line("Warning:", warning);
    }
    return table.take();
}

}  // namespace driftless
