#include "cmd/report/text_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cmd/reading/view.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr const char* across[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static constexpr const char* upward[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The eighths of `cells` cells that a value fills.
static std::size_t eighths(double value, double full, std::size_t cells) {
    if (!(value > 0) || !(full > 0)) {
        return 0;
    }
    const double filled = std::min(value / full, 1.0) * static_cast<double>(cells * 8);
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(filled)));
}

std::string bar(double value, double full, std::size_t width) {
    std::string text;
    std::size_t left = eighths(value, full, width);
    for (std::size_t cell = 0; cell < width; ++cell) {
        const std::size_t here = std::min<std::size_t>(left, 8);
        text += across[here];
        left -= here;
    }
    return text;
}

std::vector<std::string> columns(std::span<const std::uint64_t> values, std::size_t height) {
    const std::uint64_t full = values.empty() ? 0 : *std::ranges::max_element(values);
    std::vector<std::string> lines(height);
    for (const std::uint64_t value : values) {
        std::size_t left = eighths(static_cast<double>(value), static_cast<double>(full), height);
        for (std::size_t line = height; line > 0; --line) {
            const std::size_t here = std::min<std::size_t>(left, 8);
            lines[line - 1] += upward[here];
            left -= here;
        }
    }
    return lines;
}

std::string grouped(std::uint64_t value) {
    return with_commas(std::to_string(value));
}

std::string grouped_sum(std::uint64_t sum, bool is_whole) {
    return is_whole ? grouped(sum) : sum == 0 ? "unknown" : "at least " + grouped(sum);
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.2f} %",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string rows_text(std::uint64_t rows) {
    return grouped(rows) + (rows == 1 ? " row" : " rows");
}

/// ", 3 off"; empty of none.
static std::string some(std::uint64_t count, std::string_view what) {
    return count > 0 ? fmt::format(", {} {}", grouped(count), what) : "";
}

std::string prompts_text(const PromptFigures& prompts) {
    if (prompts.exact + prompts.off + prompts.unknown == 0) {
        return "no recorded length to compare with";
    }
    return fmt::format("{} of exactly the recorded length", grouped(prompts.exact)) +
           some(prompts.off, "off") + some(prompts.unknown - prompts.lost, "not reported") +
           some(prompts.lost, "lost by this client");
}

std::string error_text(const ErrorBar& error, double unit) {
    const double most = most_of(error) / unit;
    return fmt::format("{:.{}f}", most, most < 1 ? 3 : 2);
}

std::string p99_error_text(const FigureName& figure, const SummaryFigures& f) {
    if (figure.distribution(f).count == 0 || figure.bounds == nullptr || !f.has_bounds) {
        return "-";
    }
    const std::optional<ErrorBar> error = error_of(figure, *find_statistic("p99"), f);
    return error ? error_text(*error, ns_per_ms) : "unknown";
}

/// "; the server kept up", or that it did not, and what that means; empty where it cannot be told.
static std::string kept_up_text(const SummaryFigures& f, const SummaryInfo& info) {
    const std::optional<bool> kept = kept_up(f, info);
    if (!kept) {
        return may_tell_kept_up(f, info) ? "; not known whether the server kept up" : "";
    }
    if (*kept) {
        return "; the server kept up";
    }
    return "; the server did not keep up: " +
           (f.timeline.stability.stability == Stability::unstable
                ? fmt::format("in flight rose to {}, so TTFT measures how long the run was",
                              grouped(f.timeline.max_concurrent_requests))
                : rows_text(f.timed_out()) + " waited until a time limit");
}

std::string requests_text(const SummaryFigures& f, const SummaryInfo& info) {
    // Rows that were never sent, most often because the user ended the run, did not fail.
    const std::uint64_t unsent = f.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    return fmt::format("{} of {} ok", grouped(f.completed), grouped(f.rows)) +
           some(f.short_output, "shorter than asked") + some(f.long_output, "longer than asked") +
           some(f.failed_sent(), "failed") + some(unsent, "not sent") +
           some(f.abandoned.requests, "abandoned") + some(f.censored, "cut off") +
           (info.unfinished ? some(info.unfinished->rows, "more without a record") : "") +
           fmt::format(" in {:.2f} s", static_cast<double>(f.duration_ns) / ns_per_s) +
           kept_up_text(f, info);
}

/// Of so many rows at most.
static void add_uncounted(std::vector<std::string>& texts, const UncountedRows& uncounted) {
    if (uncounted.outputs > uncounted.lost) {
        texts.push_back(rows_text(uncounted.outputs - uncounted.lost) +
                        ": the server counts no tokens: its usage is missing or 0");
    }
    if (uncounted.lost > 0) {
        texts.push_back(rows_text(uncounted.lost) +
                        ": this client lost a part of the answer (its event ring was full)");
    }
}

std::vector<std::string> no_tpot_texts(const SummaryFigures& figures) {
    std::vector<std::string> texts;
    if (figures.ttft.count == 0) {
        return texts;
    }
    if (figures.tpot_unknown > 0) {
        texts.push_back(rows_text(figures.tpot_unknown) + ": all tokens came at one instant");
    }
    add_uncounted(texts, figures.uncounted);
    return texts;
}

std::vector<std::string> no_itl_texts(const SummaryFigures& figures, const SummaryInfo& info) {
    std::vector<std::string> texts;
    const std::uint64_t left_out = figures.ttft.count > 0 ? figures.itl_rows_left_out : 0;
    if (left_out > 0 && figures.timeline.rows_without_chunks > 0) {
        texts.push_back(rows_text(left_out) + ": the chunks were not kept (--chunks none)");
        return texts;
    }
    if (left_out > 0) {
        add_uncounted(texts, figures.uncounted);
    }
    if (left_out > figures.uncounted.outputs) {
        // --continuous-usage is a wish of OpenAI's APIs.
        const Dialect* const dialect = find_dialect(info.backend);
        const bool may_wish = dialect != nullptr && dialect->has_stream_options;
        const char* remedy =
            info.continuous_usage
                ? ", which the server counts only at the end, despite --continuous-usage"
            : may_wish ? ": --continuous-usage may count them"
                       : "";
        texts.push_back(rows_text(left_out - figures.uncounted.outputs) +
                        ": several tokens per chunk" + remedy);
    }
    return texts;
}

std::string live_text(const LiveSums& live) {
    std::string text =
        counted(live.turns, "turn contains", "turns contain") + " answers of this run";
    if (live.filled > 0) {
        text += fmt::format("; {} padded by {} tokens", live.filled, live.filled_tokens);
    }
    if (live.over > 0) {
        text += fmt::format("; {} longer than recorded, by {} tokens", live.over, live.over_tokens);
    }
    return text;
}

std::string abandoned_text(const AbandonedSums& abandoned) {
    const std::uint64_t silent = abandoned.no_first_token;
    std::string text =
        fmt::format("{} by their clients (--abandon), {} of their tokens had arrived",
                    rows_text(abandoned.requests), grouped(abandoned.output_tokens));
    if (silent > 0) {
        text += fmt::format("; {} had no first token, and TTFT would be longer with them",
                            grouped(silent));
    }
    return text;
}

const char* overtaken_remedy(const SummaryInfo& info) {
    if (info.run.trace_dependencies == 0) {
        return "the trace does not record what they waited for; --users N lets each turn of a "
               "session wait for the one before";
    }
    return info.run.sessions == "closed" ? "the trace does not record that they waited for it"
                                         : "--sessions closed lets turns wait for answers";
}

std::string failure_text(Outcome outcome, const std::string& said) {
    constexpr std::pair<Outcome, const char*> texts[] = {
        {Outcome::timeout_connect, "no connection in time (--timeout-connect)"},
        {Outcome::timeout_first_byte, "no answer in time (--timeout-first-byte)"},
        {Outcome::timeout_idle, "no more bytes came in time (--timeout-idle)"},
        {Outcome::timeout_total, "the answer took too long (--timeout-total)"},
        {Outcome::truncated, "the server closed the connection inside the answer"},
        {Outcome::no_tokens, "the answer had no token"},
        {Outcome::cancelled, "in flight when the run was ended"},
        {Outcome::interrupted, "in flight when the run was killed"}};
    for (const auto& [of, text] : texts) {
        if (said.empty() && of == outcome) {
            return text;
        }
    }
    return said.empty() ? "no error text" : printable(said);
}

std::string failed_kinds(const std::array<std::uint64_t, outcome_count>& outcomes,
                         Outcome without) {
    std::vector<std::string> kinds;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        if (outcomes[i] > 0 && is_failure(outcome) && outcome != without) {
            kinds.push_back(fmt::format("{} {}", name_of(outcome), grouped(outcomes[i])));
        }
    }
    return joined(kinds, ", ");
}

std::optional<std::uint64_t> shown_peak(const SummaryFigures& f) {
    return f.duration_ns < 1'000'000'000 ? std::nullopt : f.timeline.max_output_tokens_per_s;
}

}  // namespace driftless
