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

static constexpr std::size_t errors_shown = 5;

namespace {

/// Appends lines of 50 columns: a label of 40 and a value, as those benchmarks print them.
class Table {
  public:
    void title(std::string_view text, char fill = '-') { text_ += centred(text, 50, fill) + '\n'; }
    void line(std::string_view label, std::string_view value) {
        fmt::format_to(std::back_inserter(text_), "{:<40} {}\n", label, value);
    }
    void list(std::string_view label, const std::vector<std::string>& lines) {
        for (const std::string& text : lines) {
            line(&text == &lines.front() ? label : "", text);
        }
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

}  // namespace

static std::string fixed_or_dash(const std::optional<double>& value, int decimals) {
    return value ? fixed(*value, decimals) : "-";
}

static void add_totals(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
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
    table.number("Benchmark duration (s):", in_s(f.duration_ns));
    const auto sum = [](std::uint64_t tokens, bool is_whole) {
        return is_whole ? std::to_string(tokens) : grouped_sum(tokens, false);
    };
    table.line("Total input tokens:", sum(f.input_tokens, f.uncounted.inputs == 0));
    table.line("Total generated tokens:", sum(f.output_tokens, f.uncounted.outputs == 0));
    const std::string sent_rate = fixed_or_dash(f.timeline.sent_rate, 3);
    table.line("Requests sent (req/s):", sent_rate);
    if (const auto& arrival = info.run.arrival) {
        table.line("Rate asked:", fmt::format("{} ({})", arrival->rate, arrival->law));
        table.line("Rate planned / sent (1/s):",
                   fixed_or_dash(arrival->planned_rate, 3) + " / " + sent_rate);
    }
    table.number("Request throughput (req/s):", f.request_throughput);
    if (f.request_goodput.has_value()) {
        table.number("Request goodput (req/s):", *f.request_goodput);
    }
    table.line("Output token throughput (tok/s):", fixed_or_dash(f.output_throughput, 2));
    const std::optional<std::uint64_t> best = shown_peak(f);
    table.line("Peak output token throughput (tok/s):", best ? fmt::format("{}", *best) : "-");
    table.count("Peak concurrent requests:", f.timeline.max_concurrent_requests);
    table.line("Total token throughput (tok/s):", fixed_or_dash(f.total_token_throughput, 2));
}

/// "-" where nothing was measured.
static std::string three(const Distribution& d, double unit) {
    return d.count == 0 ? "-"
                        : fmt::format("{:.2f} / {:.2f} / {:.2f}", d.median() / unit,
                                      d.at[p99_index] / unit, d.max / unit);
}

/// Rows that were held, if there are any, and how long or late they were.
static void add_held(Table& table, std::string_view who, std::string_view what,
                     const Distribution& d) {
    if (d.count > 0) {
        table.count(who, d.count);
        table.line(what, three(d, ns_per_ms));
    }
}

static void add_drift(Table& table, const SummaryFigures& f) {
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
    std::vector<std::string> causes;
    for (std::size_t i = 1; i < f.late_causes.size(); ++i) {
        if (f.late_causes[i] > 0) {
            causes.push_back(
                fmt::format("{} {}", name_of(static_cast<LateCause>(i)), f.late_causes[i]));
        }
    }
    table.line("Late rows by cause:", causes.empty() ? "none" : joined(causes, ", "));
}

/// Median, p99 and worst: below us, and by the place in a burst where there are bursts.
static void add_wire(Table& table, const SummaryFigures& f) {
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

static void add_prompts(Table& table, const SummaryFigures& f, const SummaryInfo& info) {
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
    table.list("Prefix cache:", cache_lines(f, info));
    if (info.split_unknown && f.expected_cached_tokens > 0) {
        table.line("Split of the overhead:", "unknown: rows may have lost a block each");
    }
}

/// Which server had which rows, where there are several.
static void add_urls(Table& table, const std::vector<UrlFigures>& urls) {
    if (urls.size() < 2) {
        return;
    }
    table.title("Servers (rows / ok / failed)");
    for (const UrlFigures& one : urls) {
        table.line(one.url + ":", fmt::format("{} / {} / {}", one.rows, one.completed, one.failed));
    }
}

static void add_outcomes(Table& table, const SummaryFigures& f) {
    table.title("Outcomes");
    for (std::size_t i = 0; i < f.outcomes.size(); ++i) {
        table.some(fmt::format("{}:", name_of(static_cast<Outcome>(i))), f.outcomes[i]);
    }
    table.some("Tainted records:", f.tainted_rows);
}

/// The reasons of most rows, one line each.
static void add_errors(Table& table, const SummaryFigures& f) {
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

static void add_times(Table& table, std::string_view title, std::string_view name,
                      std::string_view key, const SummaryFigures& f) {
    const FigureName& figure = *find_figure(key);
    table.title(title);
    table.distribution(name, figure.distribution(f), ns_per_ms, "ms");
    if (figure.bounds != nullptr) {
        table.line("Client moved P99 by (ms):", p99_error_text(figure, f));
    }
}

std::string full_table(const SummaryFigures& f, const SummaryInfo& info) {
    Table table;
    table.title(" Serving Benchmark Result ", '=');
    add_totals(table, f, info);
    add_times(table, "Time to First Token", "TTFT", "ttft", f);
    add_times(table, "Time per Output Token (excl. 1st token)", "TPOT", "tpot", f);
    add_times(table, "Inter-token Latency", "ITL", "itl", f);
    table.list("No TPOT:", no_tpot_texts(f));
    table.list("No ITL:", no_itl_texts(f, info));
    add_times(table, "End-to-end Latency", "E2EL", "e2e", f);
    add_times(table, "First Token from the Due Instant", "TTFT-due", "ttft_due", f);
    add_drift(table, f);
    add_wire(table, f);
    add_prompts(table, f, info);
    table.some("Rows within the overhead (1 word sent):", info.clamped_rows);
    table.list("Goodput:", goodput_lines(f));
    add_urls(table, f.urls);
    table.list("Servers' metrics:", server_lines(f, info));
    add_outcomes(table, f);
    add_errors(table, f);
    if (const std::optional<Unfinished>& unfinished = info.unfinished) {
        table.title("Unfinished");
        table.count("Rows without a record:", unfinished->rows);
        table.count(unfinished->all_known ? "Of these sent:" : "Of these sent, at least:",
                    unfinished->rows_left);
    }
    table.title("", '=');
    table.line("Verdict:", info.verdict);
    table.list("", info.verdict_reasons);
    for (const std::string& warning : f.warnings) {
        table.line("Warning:", warning);
    }
    return table.take();
}

}  // namespace driftless
