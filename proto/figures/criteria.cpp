#include "proto/figures/criteria.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

namespace {

using Figures = SummaryFigures;

}  // namespace

static std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::nullopt
                      : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

namespace {

using Value = std::optional<double> (*)(const Figures&);
using OfSummary = std::optional<double> (*)(JsonValue root);

}  // namespace

/// A number of the summary over another.
static std::optional<double> quotient_in(JsonValue root, std::string_view part,
                                         std::string_view whole) {
    return quotient(root.find(part).as_double(), root.find(whole).as_double());
}

template <auto Member>
static const Distribution& of_run(const Figures& f) {
    return f.*Member;
}

/// A count or a rate.
template <auto Member>
static std::optional<double> number_of(const Figures& f) {
    if constexpr (std::is_same_v<decltype(Member), std::uint64_t Figures::*>) {
        return static_cast<double>(f.*Member);
    } else {
        return f.*Member;
    }
}

template <auto Member>
static std::optional<double> of_request(const Record& record) {
    return record.*Member ? std::optional(static_cast<double>(*(record.*Member))) : std::nullopt;
}

/// Of the requests that were sent, those that failed.
static std::optional<double> errors_in(JsonValue root) {
    const double not_sent = root.find("outcomes").find("not_sent").as_double().value_or(0);
    const std::optional<double> completed = root.find("completed").as_double();
    const std::optional<double> failed = root.find("failed").as_double();
    if (!completed || !failed) {
        return std::nullopt;
    }
    const double answered = *completed + root.find("short_output").as_double().value_or(0) +
                            root.find("long_output").as_double().value_or(0);
    const double failed_sent = *failed - std::min(*failed, not_sent);
    return quotient(failed_sent, answered + failed_sent);
}

static FigureName time(std::string_view name, std::string_view title,
                       const Distribution& (*distribution)(const Figures&),
                       Bounds Figures::* bounds,
                       std::optional<double> (*request)(const Record&) = nullptr,
                       std::optional<StopFigure> stop = {}, std::string_view key = {}) {
    return {.name = name,
            .title = title,
            .unit = FigureUnit::time,
            .is_of_stream = name != "e2e",
            .in_slo = true,
            .on_screen = true,
            .stop = stop,
            .distribution = distribution,
            .bounds = bounds,
            .of_request = request,
            .key = key.empty() ? name : key};
}

static FigureName ttft_due() {
    FigureName figure = time("ttft_due", "TTFT from due", of_run<&Figures::ttft_due>, nullptr,
                             of_request<&Record::ttft_due_ns>, StopFigure::ttft_due);
    figure.meaning = "first token minus due: free of coordinated omission";
    return figure;
}

static FigureName chunk_gap() {
    FigureName figure =
        time("chunk_gap", "chunk gap", of_run<&Figures::chunk_gap>, &Figures::chunk_gap_bounds);
    figure.on_screen = false;
    figure.meaning = "gap between token-bearing chunks; percentiles within 0.1 %";
    return figure;
}

/// A share, of which less is better.
static FigureName bad_share(std::string_view name, Value value, OfSummary of_summary,
                            std::optional<StopFigure> stop = {}) {
    return {.name = name,
            .title = name,
            .unit = FigureUnit::share,
            .in_slo = stop.has_value(),
            .stop = stop,
            .value = value,
            .of_summary = of_summary};
}

template <Value value>
static FigureName rate(std::string_view name, std::string_view title, NumberOf of,
                       OfSummary of_summary = nullptr) {
    return {.name = name,
            .title = title,
            .better = Better::high,
            .number = of,
            .value = value,
            .error = [](const Figures& f) { return f.throughput_error(value(f)); },
            .of_summary = of_summary};
}

static std::optional<double> good_of_decided(const Figures& f) {
    // Of rows without a count of tokens only those are judged that are not good.
    return f.judges_goodput() && f.uncounted.goodput == 0 ? f.goodput().share() : std::nullopt;
}

static std::optional<double> input_throughput(const Figures& f) {
    constexpr double ns_per_s = 1e9;
    return f.duration_ns > 0 && f.uncounted.inputs == 0
               ? std::optional(static_cast<double>(f.input_tokens) * ns_per_s /
                               static_cast<double>(f.duration_ns))
               : std::nullopt;
}

static std::optional<double> good_in(JsonValue root) {
    if (root.find("request_goodput").is(JsonType::null)) {
        return std::nullopt;  // some rows could not be judged, or no limits are set
    }
    const JsonValue goodput = root.find("goodput");
    const JsonValue decided = goodput.find("decided");  // absent before schema 19
    return quotient(goodput.find("good").as_double(),
                    (decided.present() ? decided : root.find("num_prompts")).as_double());
}

static FigureName good() {
    return {.name = "good",
            .title = "good",
            .unit = FigureUnit::share,
            .better = Better::high,
            .in_slo = true,
            .value = good_of_decided,
            .error = [](const Figures& f) { return f.good_error(); },
            .of_summary = good_in};
}

/// Of the cached tokens that the trace allows, those that servers reported.
static std::optional<double> hits_in(JsonValue root) {
    // Older runs have only rows whose hits are foretold.
    const JsonValue cache = root.find("cache");
    const JsonValue compared = cache.find("cached_tokens_compared");
    const JsonValue rows = cache.find("rows_compared");
    const bool by_server =
        rows.as_i64().value_or(0) > 0 && rows.as_i64() == cache.find("server_rows").as_i64();
    return quotient(
        (compared.present() ? compared : cache.find("cached_tokens")).as_double(),
        cache.find(by_server ? "server_expected_cached_tokens" : "expected_cached_tokens_reported")
            .as_double());
}

// A warm cache has more than the trace allows.
static FigureName hits() {
    return {.name = "hits",
            .title = "cache hits",
            .unit = FigureUnit::share,
            .better = Better::high,
            .is_part = false,
            .value =
                [](const Figures& f) {
                    return f.foretells_hits() && f.cache_rows_compared() > 0
                               ? share(f.cached_tokens_compared(), f.expected_of_compared())
                               : std::nullopt;
                },
            .of_summary = hits_in};
}

static const auto& all_figures() {
    static const std::array all = {
        time("ttft", "TTFT", of_run<&Figures::ttft>, &Figures::ttft_bounds,
             of_request<&Record::ttft_ns>, StopFigure::ttft),
        ttft_due(),
        time("tpot", "TPOT", of_run<&Figures::tpot>, &Figures::tpot_bounds,
             of_request<&Record::tpot_ns>, StopFigure::tpot),
        time("itl", "ITL", of_run<&Figures::itl>, &Figures::itl_bounds),
        time("e2e", "E2E", of_run<&Figures::e2e>, &Figures::e2e_bounds, of_request<&Record::e2e_ns>,
             StopFigure::e2e, "e2el"),
        chunk_gap(),
        FigureName{
            .name = "drift",
            .title = "drift",
            .unit = FigureUnit::time,
            .distribution = [](const Figures& f) -> const Distribution& { return f.sending.drift; },
            .of_request = of_request<&Record::drift_ns>,
            .key = "drift_ns"},
        FigureName{.name = "interactivity",
                   .title = "interactivity",
                   .better = Better::high,
                   .number = NumberOf::token_rate,
                   .is_of_stream = true,
                   .is_inverse = true,
                   .distribution = of_run<&Figures::tpot>,
                   .bounds = &Figures::tpot_bounds,
                   .key = "tpot"},
        bad_share(
            "errors", [](const Figures& f) { return share(f.failed_sent(), f.ended_sent()); },
            errors_in, StopFigure::errors),
        good(),
        bad_share(
            "tainted", [](const Figures& f) { return share(f.tainted_rows, f.rows); },
            [](JsonValue root) { return quotient_in(root, "tainted_rows", "num_prompts"); }),
        bad_share(
            "overtaken",
            [](const Figures& f) { return share(f.overtaken_turns, f.follow_up_turns); },
            [](JsonValue root) { return quotient_in(root, "overtaken_turns", "follow_up_turns"); }),
        hits(),
        FigureName{.name = "completed",
                   .title = "ok",
                   .better = Better::high,
                   .value = number_of<&Figures::completed>},
        FigureName{.name = "failed",
                   .title = "failed",
                   .in_slo = true,
                   .stop = StopFigure::failed,
                   .value = number_of<&Figures::failed>},
        rate<number_of<&Figures::request_throughput>>("request_throughput", "requests/s",
                                                      NumberOf::request_rate),
        rate<input_throughput>(
            "input_throughput", "input tokens/s", NumberOf::token_rate,
            [](JsonValue root) { return quotient_in(root, "total_input_tokens", "duration"); }),
        rate<number_of<&Figures::output_throughput>>("output_throughput", "output tokens/s",
                                                     NumberOf::token_rate),
        rate<number_of<&Figures::total_token_throughput>>("total_token_throughput", "all tokens/s",
                                                          NumberOf::token_rate),
        FigureName{.name = "request_goodput",
                   .title = "good requests/s",
                   .better = Better::high,
                   .number = NumberOf::request_rate,
                   .value = number_of<&Figures::request_goodput>,
                   .error = [](const Figures& f) { return f.request_goodput_error(); }},
    };
    return all;
}

std::span<const FigureName> figures_of_tables() {
    static const std::array all = {
        FigureName{.name = "joules_per_token",
                   .title = "energy per token",
                   .number = NumberOf::joules,
                   .of_summary =
                       [](JsonValue root) {
                           const JsonValue energy = root.find("server").find("energy");
                           return energy.find("joules_per_token").as_double();
                       },
                   .only_in_tables = true},
        FigureName{.name = "e2e_interactivity",
                   .title = "E2E interactivity",
                   .better = Better::high,
                   .number = NumberOf::token_rate,
                   .is_inverse = true,
                   .distribution = of_run<&Figures::e2e>,
                   .only_in_tables = true},
    };
    return all;
}

// What others call them.
static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> other_names{{
    {"e2el", "e2e"},
    {"goodput", "request_goodput"},
    {"throughput", "request_throughput"},
}};

/// Of times in ns, of their inverse in tokens per second; nothing where that would be one over 0.
static std::optional<double> value_of(const FigureName& figure, const Statistic& statistic,
                                      const Distribution& distribution) {
    const double value = statistic.of(distribution);
    return figure.is_inverse ? quotient(1e9, value) : std::optional(value);
}

std::optional<double> value_of(const Threshold& threshold, const SummaryFigures& figures) {
    const FigureName& figure = *threshold.figure;
    if (!figure.has_statistics()) {
        return figure.value(figures);
    }
    const Distribution& distribution = figure.distribution(figures);
    return distribution.count == 0 ? std::nullopt
                                   : value_of(figure, *threshold.statistic, distribution);
}

std::optional<double> value_of(const Threshold& threshold, JsonValue summary) {
    const FigureName& figure = *threshold.figure;
    if (figure.of_summary != nullptr) {
        return figure.of_summary(summary);
    }
    if (!figure.has_statistics()) {
        return summary.find(figure.key).as_double();
    }
    const std::string statistic = threshold.statistic->name;
    if (figure.key.ends_with("_ns")) {
        return summary.find(figure.key).find(statistic).as_double();
    }
    const bool is_time = figure.unit == FigureUnit::time || figure.is_inverse;
    const std::string key = statistic + "_" + std::string(figure.key) + (is_time ? "_ms" : "");
    const std::optional<double> value = summary.find(key).as_double();
    return figure.is_inverse  ? quotient(1000, value)
           : value && is_time ? std::optional(*value * 1e6)
                              : value;
}

std::optional<ErrorBar> error_of(const FigureName& figure, const Statistic& statistic,
                                 const SummaryFigures& figures) {
    if (!figure.has_statistics()) {
        return figure.error != nullptr ? figure.error(figures) : std::nullopt;
    }
    const Distribution& measured = figure.distribution(figures);
    if (figure.bounds == nullptr || measured.count == 0 || figures.lacks_rows() ||
        (figures.*figure.bounds).upper.count == 0) {
        return std::nullopt;
    }
    const auto& [lower, upper] = figures.*figure.bounds;
    const auto value = value_of(figure, statistic, measured);
    const auto least = value_of(figure, statistic, figure.is_inverse ? upper : lower);
    const auto most = value_of(figure, statistic, figure.is_inverse ? lower : upper);
    return value && least && most ? error_bar(*value, *least, *most) : std::nullopt;
}

bool crosses(const Threshold& threshold, double value) {
    switch (threshold.compare) {
        case Compare::above:
            return value > threshold.bound;
        case Compare::at_least:
            return value >= threshold.bound;
        case Compare::below:
            return value < threshold.bound;
        case Compare::at_most:
            return value <= threshold.bound;
    }
    return true;
}

std::span<const FigureName> figure_names() {
    return all_figures();
}

const FigureName* find_figure(std::string_view name) {
    for (const auto& [other, ours] : other_names) {
        name = name == other ? ours : name;
    }
    for (const auto all : {figure_names(), figures_of_tables()}) {
        const auto found = std::ranges::find(all, name, &FigureName::name);
        if (found != all.end()) {
            return &*found;
        }
    }
    return nullptr;
}

std::string list_of_figures(bool (*is_offered)(const FigureName& figure)) {
    std::string with_statistics;
    std::string others;
    for (const FigureName& figure : all_figures()) {
        std::string& list = figure.has_statistics() ? with_statistics : others;
        if (is_offered(figure)) {
            list += (list.empty() ? "" : ", ") + std::string(figure.name);
        }
    }
    return with_statistics.empty() ? others
                                   : with_statistics + " (each with :p99 or the like), " + others;
}

std::vector<ThresholdFinding> judge_thresholds(const std::vector<Threshold>& thresholds,
                                               const SummaryFigures& figures) {
    constexpr double ns_per_ms = 1e6;
    std::vector<ThresholdFinding> findings;
    for (const Threshold& threshold : thresholds) {
        CHECK(threshold.figure != nullptr);
        ThresholdFinding finding;
        finding.condition = threshold.text;
        finding.unit = threshold.figure->unit;
        finding.value = value_of(threshold, figures);
        finding.fails = !finding.value || crosses(threshold, *finding.value);
        const bool has_bar =
            threshold.figure->error != nullptr || threshold.figure->bounds != nullptr;
        if (finding.value && has_bar && figures.has_bounds) {
            finding.error = error_of(*threshold.figure, *threshold.statistic, figures);
            finding.sure =
                finding.error &&
                crosses(threshold, *finding.value - finding.error->below) == finding.fails &&
                crosses(threshold, *finding.value + finding.error->above) == finding.fails;
        }
        if (finding.value && finding.unit == FigureUnit::time) {
            *finding.value /= ns_per_ms;
            if (finding.error) {
                finding.error = {finding.error->below / ns_per_ms,
                                 finding.error->above / ns_per_ms};
            }
        }
        findings.push_back(std::move(finding));
    }
    return findings;
}

// What a rule compares, measured in a run: a number, where there is one, and how it is told. Pure.

namespace {

struct Measured {
    std::optional<double> value;  ///< nothing: unknown; of `digest` as well
    std::string text;             ///< of `digest`: 16 hex digits
};

}  // namespace

static constexpr double ns_per_s = 1e9;

/// Up to three digits behind the point, without zeros at the end.
static std::string number_text(double value) {
    char text[64];
    (void)std::snprintf(text, sizeof text, "%.3f", value);
    std::string out = text;
    out.erase(out.find_last_not_of('0') + 1);
    out.erase(out.ends_with('.') ? out.size() - 1 : out.size());
    return out;
}

static std::string share_text(double share) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f %%", 100 * share);
    return text;
}

/// `part` of `whole`, told as "12 of 120 requests failed (10.00 %)"; unknown where there is none.
static Measured share_of(std::uint64_t part, std::uint64_t whole, const std::string& what) {
    if (whole == 0) {
        return {std::nullopt, "no " + what};
    }
    const double share = static_cast<double>(part) / static_cast<double>(whole);
    return {share, std::to_string(part) + " of " + std::to_string(whole) + " " + what + " (" +
                       share_text(share) + ")"};
}

static Measured count_of(std::uint64_t count, const char* one, const char* many) {
    return {static_cast<double>(count), counted(count, one, many)};
}

static Measured first_turn_hits(const SummaryFigures& f) {
    const FirstTurnFigures& turns = f.phase.first_turns;
    if (turns.reported == 0 || turns.input_tokens == 0) {
        return {std::nullopt,
                turns.trees == 0 ? "no trees" : "the server reports no cached tokens"};
    }
    if (turns.unforetold > 0) {
        return {std::nullopt, "hits of recorded text cannot be foretold"};
    }
    const std::uint64_t possible = turns.expected_tokens + f.template_pre * turns.reported;
    const std::uint64_t beyond = turns.cached_tokens - std::min(possible, turns.cached_tokens);
    return {static_cast<double>(beyond) / static_cast<double>(turns.input_tokens),
            "first requests of " + counted(turns.reported, "tree", "trees") + " hit " +
                std::to_string(turns.cached_tokens) + " of " + std::to_string(turns.input_tokens) +
                " tokens, " + std::to_string(possible) +
                " of them possible in an initially empty cache"};
}

static Measured coverage(const RunDescription& run, const SummaryFigures& f, const OptionalNs& last,
                         const char* what) {
    if (!run.for_ns) {
        return {std::nullopt, "the phase has no length: --for"};
    }
    if (!run.measured_from_ns && f.warmup_rows > 0) {
        return {std::nullopt, "when the phase began after the warm-up is not known"};
    }
    const std::int64_t begin_ns = run.measured_from_ns.value_or(0);
    const double phase_s = static_cast<double>(*run.for_ns) / ns_per_s;
    const double last_s =
        last ? static_cast<double>(std::max<std::int64_t>(*last - begin_ns, 0)) / ns_per_s : 0;
    return {last_s / phase_s, std::string(last ? "" : "no ") + what +
                                  (last ? " at " + number_text(last_s) + " s" : "") + " of " +
                                  number_text(phase_s) + " s (" + share_text(last_s / phase_s) +
                                  ")"};
}

static Measured cut_short(Ending ending) {
    switch (ending) {
        case Ending::by_itself:
            return {0, "the run ended by itself"};
        case Ending::interrupted:
            return {1, "the run was interrupted"};
        case Ending::none:
            return {1, "the run was killed, or is still running"};
    }
    return {};
}

static Measured mean_output(const SummaryFigures& f) {
    if (f.completed == 0) {
        return {std::nullopt, "no answers"};
    }
    if (f.uncounted.outputs > 0) {
        return {std::nullopt, "the tokens of some answers were not counted"};
    }
    const double mean = static_cast<double>(f.output_tokens) / static_cast<double>(f.completed);
    return {mean, number_text(mean) + " tokens over " + counted(f.completed, "answer", "answers")};
}

static Measured exact_output(const SummaryFigures& f) {
    const std::uint64_t known = f.outputs_exact + f.outputs_short + f.outputs_long;
    return share_of(f.outputs_exact, known, "counted answers have the recorded length");
}

static Measured users_live(const RunDescription& run, const SummaryFigures& f) {
    return share_of(std::min(f.phase.users, run.users), run.users, "users sent requests");
}

/// It leaves no trace in a run that happens to go in that order.
static std::string barrier_of(const std::vector<std::string>& arguments) {
    const std::vector<std::string> given = values_given(arguments, "--barrier");
    return given.empty() ? "stream" : given.back();
}

static Measured overtaken(const SummaryFigures& f) {
    if (f.follow_up_turns == 0) {
        return {std::nullopt, "no turn follows another"};
    }
    return {static_cast<double>(f.overtaken_turns),
            std::to_string(f.overtaken_turns) + " of " + std::to_string(f.follow_up_turns) +
                " turns were sent before the previous turn had ended"};
}

/// Length of the profile phase, s: what was asked for, where the run ended by itself.
static double phase_seconds(const RunDescription& run, const SummaryFigures& figures) {
    const bool whole = run.for_ns && run.ending == Ending::by_itself;
    return static_cast<double>(whole ? *run.for_ns : figures.duration_ns) / ns_per_s;
}

/// A bound as the measure's own unit writes it: "95.00 %", "900 s", "393".
static std::string bound_text(Measure measure, double bound) {
    switch (measure) {
        case Measure::ceiling_hit_rate:
        case Measure::first_turn_hits:
        case Measure::ttft_coverage:
        case Measure::token_coverage:
        case Measure::error_share:
        case Measure::overflow_share:
        case Measure::users_live:
        case Measure::exact_output:
            return share_text(bound);
        case Measure::duration:
            return number_text(bound) + " s";
        default:
            return number_text(bound);
    }
}

static Measured measure(const Rule& rule, const RunDescription& run, const SummaryFigures& f) {
    switch (rule.measure) {
        case Measure::trees:
            return run.trees.value_or(0) > 0 ? count_of(*run.trees, "session tree", "session trees")
                                             : Measured{std::nullopt, "no users play trees"};
        case Measure::rows:
            return count_of(run.rows, "row", "rows");
        case Measure::digest:
            return {std::nullopt, run.trace_digest};
        case Measure::ceiling_hit_rate:
            return run.expected_cached_tokens
                       ? share_of(*run.expected_cached_tokens, run.input_tokens.value_or(0),
                                  "prompt tokens can hit in an infinite cache")
                       : Measured{std::nullopt, "hits of recorded text cannot be foretold"};
        case Measure::first_turn_hits:
            return first_turn_hits(f);
        case Measure::ttft_coverage:
            return coverage(run, f, f.phase.last_first_token_ns, "first token");
        case Measure::token_coverage:
            return coverage(run, f, f.phase.last_token_ns, "last token");
        case Measure::error_share:
            return share_of(f.failed_sent(), f.ended_sent(), "requests failed");
        case Measure::answered:
            return count_of(f.answered(), "request was answered", "requests were answered");
        case Measure::overflow_share:
            return share_of(f.phase.context_overflows, f.ended_sent(),
                            "requests were longer than the server's context");
        case Measure::duration: {
            const double seconds = phase_seconds(run, f);
            return {seconds, number_text(seconds) + " s"};
        }
        case Measure::users_live:
            return users_live(run, f);
        case Measure::exact_output:
            return exact_output(f);
        case Measure::mean_output:
            return mean_output(f);
        case Measure::cut_short:
            return cut_short(run.ending);
        case Measure::warmup_failures:
            return {static_cast<double>(f.warmup_failed), std::to_string(f.warmup_failed) + " of " +
                                                              std::to_string(f.warmup_rows) +
                                                              " requests of the warm-up failed"};
        case Measure::overtaken:
            return overtaken(f);
        case Measure::barrier:
            return {std::nullopt, barrier_of(run.arguments)};
        case Measure::unchecked:
            return {std::nullopt, rule.why};
    }
    return {};
}

static RuleFinding finding_of(const RuleSet& set, const std::string& rule) {
    RuleFinding finding;
    finding.set = set.name;
    finding.version = set.version;
    finding.source = set.source;
    finding.rule = rule;
    return finding;
}

static std::string bounds_of(const Rule& rule) {
    if (rule.min && rule.max && *rule.min == *rule.max) {
        return bound_text(rule.measure, *rule.min);
    }
    std::string text = rule.equals;
    if (rule.min) {
        text = "at least " + bound_text(rule.measure, *rule.min);
    }
    if (rule.max) {
        text += (rule.min ? ", at most " : "at most ") + bound_text(rule.measure, *rule.max);
    }
    return text;
}

static RuleState state_of(const Rule& rule, const Measured& measured) {
    if (!rule.equals.empty()) {
        return measured.text == rule.equals ? RuleState::met : RuleState::violated;
    }
    if (!measured.value || (!rule.min && !rule.max)) {
        return RuleState::unknown;
    }
    const bool below = rule.min && *measured.value < *rule.min;
    const bool above = rule.max && *measured.value > *rule.max;
    return below || above ? RuleState::violated : RuleState::met;
}

static RuleFinding judge_rule(const RuleSet& set, const Rule& rule, const RunDescription& run,
                              const SummaryFigures& figures) {
    RuleFinding finding = finding_of(set, rule.name);
    finding.published = rule.published;
    finding.bound = bounds_of(rule);
    Measured measured = measure(rule, run, figures);
    finding.evidence = std::move(measured.text);
    const double phase_s = phase_seconds(run, figures);
    if (rule.exempt_below_s && phase_s < *rule.exempt_below_s) {
        finding.state = RuleState::met;
        finding.evidence +=
            "; a phase below " + bound_text(Measure::duration, *rule.exempt_below_s) + " is exempt";
        return finding;
    }
    measured.text = finding.evidence;
    finding.state = state_of(rule, measured);
    return finding;
}

/// A flag that fixes how a run is asked for: what was given in its place.
static RuleFinding judge_flag(const RuleSet& set, const FixedFlag& flag, const RunDescription& run,
                              SameValue same) {
    RuleFinding finding = finding_of(set, flag.name);
    const std::vector<std::string> given = values_given(run.arguments, flag.name);
    const std::string is_given = flag.is_switch ? "given" : joined(given, ", ");
    finding.evidence = given.empty() ? "not given" : is_given;
    finding.bound = flag.absent ? "not given" : flag.is_switch ? "given" : flag.value.value_or("");
    bool met = flag.absent ? given.empty() : !given.empty();
    if (met && flag.value) {
        met = std::ranges::all_of(
            given, [&](const std::string& value) { return same(value, *flag.value); });
    }
    finding.state = met ? RuleState::met : RuleState::violated;
    return finding;
}

std::vector<std::string> values_given(const std::vector<std::string>& arguments,
                                      std::string_view flag) {
    std::vector<std::string> values;
    for (const std::string& argument : arguments) {
        const std::size_t equals = std::min(argument.find('='), argument.size());
        if (std::string_view(argument).substr(0, equals) == flag) {
            values.push_back(argument.substr(std::min(equals + 1, argument.size())));
        }
    }
    return values;
}

std::vector<RuleFinding> judge_rules(const std::vector<RuleSet>& sets, const RunDescription& run,
                                     const SummaryFigures& figures, SameValue same) {
    std::vector<RuleFinding> findings;
    for (const RuleSet& set : sets) {
        for (const FixedFlag& flag : set.flags) {
            if (flag.other != OtherValue::allowed) {
                findings.push_back(judge_flag(set, flag, run, same));
            }
        }
        for (const Rule& rule : set.rules) {
            findings.push_back(judge_rule(set, rule, run, figures));
        }
    }
    return findings;
}

bool any_violated(const std::vector<RuleFinding>& findings) {
    return std::ranges::count(findings, RuleState::violated, &RuleFinding::state) > 0;
}

}  // namespace driftless
