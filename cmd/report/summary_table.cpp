#include "cmd/report/summary_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/reading/view.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

static constexpr std::size_t errors_shown = 3;

namespace {

/// A reason as it is shown, and its rows.
struct ShownError {
    std::string text;
    std::uint64_t rows = 0;
    bool is_ours = false;  ///< it may end with a flag: shown as a whole
};

}  // namespace

/// The reasons, most rows first. Those that would look alike on the screen are one.
static std::vector<ShownError> shown_errors(const std::vector<ErrorText>& errors) {
    constexpr std::size_t compared =
        table_columns - label_columns - std::string_view("12,031 rows, ...").size();
    std::vector<ShownError> shown;
    for (const ErrorText& error : errors) {
        const std::string status = error.status > 0 ? fmt::format(" {}", error.status) : "";
        const std::string text = failure_text(error.outcome, error.text);
        std::string line = fmt::format("{}{}: {}", name_of(error.outcome), status, text);
        const std::string start = without_numbers(line.substr(0, compared));
        const auto alike = std::ranges::find_if(shown, [&start](const ShownError& one) {
            return without_numbers(one.text.substr(0, compared)) == start;
        });
        if (alike == shown.end()) {
            shown.push_back({std::move(line), error.rows, error.text.empty()});
        } else {
            alike->rows += error.rows;
        }
    }
    std::ranges::stable_sort(shown, std::greater(), &ShownError::rows);
    return shown;
}

/// Why rows failed: the reasons of most rows. A server's words have a line each.
static void add_errors(Lines& lines, const SummaryFigures& f) {
    constexpr std::size_t room = table_columns - label_columns;
    const std::vector<ShownError> errors = shown_errors(f.errors);
    for (std::size_t i = 0; i < std::min(errors.size(), errors_shown); ++i) {
        std::string line = fmt::format("{}, {}", rows_text(errors[i].rows), errors[i].text);
        if (line.size() > room && !errors[i].is_ours) {
            line = std::string(cut_at_code_point(line, room - 3)) + "...";
        }
        lines.add("", line);
    }
}

/// Rows that the run itself kept back.
static void add_unsent(Lines& lines, const SummaryFigures& f) {
    if (f.dropped > 0) {
        lines.add("Not sent", fmt::format("{} waited for a row that failed (`error` names it)",
                                          rows_text(f.dropped)));
    }
    if (f.held_to_the_end > 0) {
        lines.add(f.dropped > 0 ? "" : "Not sent",
                  fmt::format("{} waited for --max-inflight or a token budget until the end",
                              rows_text(f.held_to_the_end)));
    }
}

/// What became of the requests, and whether the server kept up.
static void add_requests(Lines& lines, const SummaryFigures& f, const SummaryInfo& info) {
    lines.add("Requests", requests_text(f, info));
    lines.list("Warning", f.warnings);
    if (f.warmup_rows > 0) {
        lines.add("Warm-up",
                  fmt::format("{} before the measurement, {} failed; not in these figures",
                              rows_text(f.warmup_rows), grouped(f.warmup_failed)));
    }
    if (f.retries > 0) {
        lines.add("Retries",
                  fmt::format("{} sent again (`attempt` above 0)", rows_text(f.retries)));
    }
    if (f.censored > 0) {
        lines.add("Cut off", fmt::format("{} still open when the time ended (`censored`)",
                                         rows_text(f.censored)));
    }
    if (f.abandoned.requests > 0) {
        lines.add("Abandoned", abandoned_text(f.abandoned));
    }
    add_unsent(lines, f);
    if (f.short_output > f.completed) {
        lines.add(
            "",
            fmt::format(
                "latencies cover only the {} ok rows; --output cap accepts shorter answers as ok",
                grouped(f.completed)));
    }
    if (f.failed_sent() > 0) {
        std::array<std::uint64_t, outcome_count> outcomes = f.outcomes;
        outcomes[static_cast<std::size_t>(Outcome::cancelled)] -= f.censored;
        lines.add("Failed", failed_kinds(outcomes, Outcome::not_sent));
        add_errors(lines, f);
        constexpr double few = 0.01;
        if (f.answered() > 0 &&
            static_cast<double>(f.failed_sent()) > few * static_cast<double>(f.fired)) {
            lines.add("",
                      fmt::format("times and percentiles below are of the {} that were answered",
                                  rows_text(f.answered())));
        }
    }
    if (f.overtaken_turns > 0) {
        lines.add("Overtaken",
                  fmt::format("{} of {} turns were sent before the previous turn had ended; {}",
                              grouped(f.overtaken_turns), grouped(f.follow_up_turns),
                              overtaken_remedy(info)));
    }
    if (f.live.turns > 0) {
        lines.add("Live", live_text(f.live));
    }
    if (info.unfinished) {
        lines.add("Unfinished", fmt::format("{} without a record, {}{} of them had been sent",
                                            rows_text(info.unfinished->rows),
                                            info.unfinished->all_known ? "" : "at least ",
                                            grouped(info.unfinished->rows_left)));
    }
}

/// Asked, planned and sent, where rows arrive at a rate.
static void add_rate(Lines& lines, const SummaryFigures& f, const RunDescription& run) {
    if (!run.arrival) {
        return;
    }
    const auto& [typed, asked_rate, law, of, planned_rate, seed] = *run.arrival;
    const std::string rate = asked_rate ? fmt::format("{:g}/s", *asked_rate) : typed;
    std::string text = fmt::format("{}{} asked ({})", rate, of == "trees" ? " sessions" : "", law);
    if (planned_rate) {
        text += fmt::format(", {:.3f}/s planned", *planned_rate);
    }
    if (f.timeline.sent_rate) {
        text += fmt::format(", {:.3f}/s {}sent", *f.timeline.sent_rate,
                            of == "trees" || f.sides ? "requests " : "");
    }
    lines.add("Rate", text);
}

/// ", peak 1,234/s", the best whole second; empty where the run is shorter than one. In a short run
/// it can lie below the mean.
static std::string peak_text(const SummaryFigures& f) {
    const std::optional<std::uint64_t> best = shown_peak(f);
    if (!best) {
        return f.duration_ns < 1'000'000'000 ? "" : ", peak not known";
    }
    const bool is_below = static_cast<double>(*best) < f.output_throughput.value_or(0);
    return ", peak " + grouped(*best) + "/s" +
           (is_below ? " (of whole seconds; the run is too short for it)" : "");
}

/// Lengths of answers against those recorded; empty where all are as recorded.
static std::string outputs_text(const SummaryFigures& f) {
    const std::uint64_t uncounted = f.outputs_unknown - f.outputs_unrecorded;
    const std::uint64_t compared = f.outputs_exact + f.outputs_short + f.outputs_long;
    if (f.outputs_short + f.outputs_long + f.outputs_unknown == 0) {
        return "";
    }
    if (compared + uncounted == 0) {
        return "no recorded length to compare with";
    }
    std::string text =
        fmt::format("{} of the recorded length, {} shorter, {} longer, {} not counted",
                    grouped(f.outputs_exact), grouped(f.outputs_short), grouped(f.outputs_long),
                    grouped(uncounted));
    return f.outputs_unrecorded == 0 ? text
                                     : text + fmt::format(", {} without a recorded length",
                                                          grouped(f.outputs_unrecorded));
}

static void add_load(Lines& lines, const SummaryFigures& f, const RunDescription& run) {
    const std::optional<double>& sent = f.timeline.sent_rate;
    const double seconds = static_cast<double>(f.duration_ns) / ns_per_s;
    lines.add("Load",
              fmt::format("{}; answered {:.2f}/s; at most {} in flight",
                          sent ? fmt::format("sent {:.2f}/s", *sent) : grouped(f.fired) + " sent",
                          seconds > 0 ? static_cast<double>(f.answered()) / seconds : 0,
                          grouped(f.timeline.max_concurrent_requests)));
    add_rate(lines, f, run);
    const auto whole = [](double rate) {
        return grouped(static_cast<std::uint64_t>(std::llround(rate)));
    };
    std::string tokens =
        fmt::format("{} in, {} out", grouped_sum(f.input_tokens, f.uncounted.inputs == 0),
                    grouped_sum(f.output_tokens, f.uncounted.outputs == 0));
    if (f.output_throughput) {
        tokens += fmt::format("; out {}/s{}", whole(*f.output_throughput), peak_text(f));
    }
    tokens += f.total_token_throughput
                  ? fmt::format("; both {}/s", whole(*f.total_token_throughput))
                  : fmt::format("; {} rate not known", f.output_throughput ? "their" : "token");
    lines.add("Tokens", tokens);
    if (const std::string outputs = outputs_text(f); !outputs.empty()) {
        lines.add("Outputs", outputs);
    }
    lines.list("Goodput", goodput_lines(f));
}

static void add_latency(Lines& lines, const FigureName& figure, const SummaryFigures& f) {
    const Distribution& d = figure.distribution(f);
    std::string line = fmt::format("{:<{}}", figure.title, label_columns);
    for (const Statistic& statistic : shown_statistics) {
        line += d.count == 0 ? fmt::format("{:>9}", "-")
                             : fmt::format(" {:>8.2f}", statistic.of(d) / ns_per_ms);
    }
    lines.raw(line + fmt::format("{:>10}", p99_error_text(figure, f)));
}

static void add_latencies(Lines& lines, const SummaryFigures& f, const SummaryInfo& info) {
    lines.blank();
    std::string head = fmt::format("{:<{}}", "ms", label_columns);
    for (const Statistic& statistic : shown_statistics) {
        head += fmt::format("{:>9}", statistic.name);
    }
    lines.raw(head + fmt::format("{:>10}", "client"));
    for (const FigureName& figure : figure_names()) {
        if (figure.on_screen) {
            add_latency(lines, figure, f);
        }
    }
    lines.list("No TPOT", no_tpot_texts(f));
    lines.list("No ITL", no_itl_texts(f, info));
    lines.blank();
}

/// Which server had which rows, where several share them out.
static void add_urls(Lines& lines, const SummaryFigures& f) {
    const bool shared = f.urls.size() > 1 && !f.sides;
    std::vector<std::string> texts;
    for (const UrlFigures& one : shared ? f.urls : std::vector<UrlFigures>()) {
        std::string& text = texts.emplace_back();
        text = fmt::format("{}: {}, {} ok, {} failed", one.url, rows_text(one.rows),
                           grouped(one.completed), grouped(one.failed));
        if (one.ttft.count > 0) {
            text += fmt::format(", TTFT p50 {:.2f} p99 {:.2f} ms", one.ttft.median() / ns_per_ms,
                                one.ttft.at[p99_index] / ns_per_ms);
        }
    }
    lines.list("Servers", texts);
}

static void add_prompts(Lines& lines, const SummaryFigures& f, const SummaryInfo& info) {
    lines.list("Cache", cache_lines(f, info));
    if (info.split_unknown && f.expected_cached_tokens > 0) {
        lines.add("",
                  "it is unknown how many template tokens come before the prompt: a row may have "
                  "missed a block");
    }
    std::string prompts = prompts_text(f.prompts);
    if (f.prompts.off > 0) {
        prompts +=
            fmt::format("; by up to {:+} tokens: {}", f.prompts.largest_off, f.prompts.explanation);
    }
    lines.add("Prompts", prompts);
    if (info.clamped_rows > 0) {
        lines.add("", fmt::format("{} no longer than the overhead: sent with one word",
                                  rows_text(info.clamped_rows)));
    }
}

/// How late the load was, and what was held back by a wish or a limit.
static void add_sent(Lines& lines, const SummaryFigures& f, const SummaryInfo& info) {
    const Distribution& late = f.load_late();
    if (late.count > 0) {
        std::string text =
            fmt::format("p50 {:.3f}, p99 {:.3f}, worst {:.3f} ms", late.median() / ns_per_ms,
                        late.at[p99_index] / ns_per_ms, late.max / ns_per_ms);
        if (const std::int64_t limit_ns = drift_limit_ns(info.limits, 0); limit_ns > 0) {
            text += fmt::format(
                "; {} of {} rows above the limit ({:.3f} ms for the first of an instant)",
                grouped(f.sent_late()), grouped(f.fired),
                static_cast<double>(limit_ns) / ns_per_ms);
        }
        lines.add("Sent late", text);
    }
    if (const std::uint64_t held = f.sending.held_by_user.drift.count; held > 0) {
        lines.add("", fmt::format("{} held by --max-inflight left out", rows_text(held)));
    }
    if (const Distribution& held = f.sending.held_by_budget.held; held.count > 0) {
        lines.add("", fmt::format("{} held by token budgets, up to {:.2f} s, left out",
                                  rows_text(held.count), held.max / ns_per_s));
    }
    if (const Distribution& held = f.sending.held_by_host.held; held.count > 0) {
        lines.add("", fmt::format("{} held by a limit of this host, up to {:.2f} ms",
                                  rows_text(held.count), held.max / ns_per_ms));
    }
    if (f.retransmitted_rows > 0) {
        lines.add("", fmt::format("{} of {} sent again by the kernel",
                                  counted(f.retransmits, "TCP segment", "TCP segments"),
                                  rows_text(f.retransmitted_rows)));
    }
}

/// Whether to trust the figures: the reason that decided.
static void add_trust(Lines& lines, const SummaryFigures& f, const SummaryInfo& info) {
    const std::vector<std::string>& reasons = info.verdict_reasons;
    lines.add("Verdict", info.verdict + (reasons.empty() ? "" : ": " + reasons.front()));
    if (reasons.size() > 1 && info.verdict != name_of(Verdict::certified)) {
        lines.add(
            "", fmt::format("and {} more: driftless report RUN --certificate", reasons.size() - 1));
    }
    const std::vector<std::string>& flags = info.run.arguments;
    if (info.verdict == name_of(Verdict::host_noisy)) {
        const bool is_first = std::ranges::any_of(
            flags, [](const std::string& one) { return one.starts_with("--realtime"); });
        lines.add("", is_first ? "others use this host: a quieter CPU, --cpu N, helps"
                               : "others use this host: --realtime goes before them (or a quieter "
                                 "CPU, --cpu N)");
    }
    if (f.tainted_rows > 0) {
        const std::uint64_t read_late = f.taints.read_late_only;
        lines.add("Tainted",
                  rows_text(f.tainted_rows) +
                      (read_late > 0 && f.has_bounds
                           ? fmt::format("; {} of them were only read late, and count with "
                                         "the client's error",
                                         grouped(read_late))
                           : " (`tainted` in requests.jsonl says why)"));
    }
}

static std::string compact_table(const SummaryFigures& f, const SummaryInfo& info) {
    Lines lines;
    lines.rule("Result");
    add_requests(lines, f, info);
    add_load(lines, f, info.run);
    add_latencies(lines, f, info);
    add_urls(lines, f);
    add_prompts(lines, f, info);
    const std::vector<std::string> server = server_lines(f, info);
    for (const std::string& line : server) {
        lines.add(&line == &server.front() ? "Metrics" : "", line);
    }
    add_sent(lines, f, info);
    add_trust(lines, f, info);
    lines.rule("");
    return lines.take();
}

std::string summary_brief(const SummaryFigures& figures, const SummaryInfo& info) {
    std::string text = requests_text(figures, info);
    if (figures.ttft.count > 0 && !figures.sides) {
        text += fmt::format("; TTFT p99 {:.2f} ms", figures.ttft.at[p99_index] / ns_per_ms);
    }
    text += "; " + info.verdict + '\n';
    for (const std::string& warning : figures.warnings) {
        text += "warning: " + warning + '\n';
    }
    return text + sides_table(figures.sides) +
           judged_table(info.rules, info.thresholds, info.stopped_when);
}

std::string summary_table(const SummaryFigures& figures, const SummaryInfo& info, TableKind kind) {
    return (kind == TableKind::full ? full_table(figures, info) : compact_table(figures, info)) +
           sides_table(figures.sides) + shards_table(figures, info) +
           judged_table(info.rules, info.thresholds, info.stopped_when);
}

}  // namespace driftless
