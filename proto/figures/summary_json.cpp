#include <algorithm>
#include <cstdio>
#include <string_view>

#include "proto/core/text.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/json/put.hpp"

namespace driftless {

bool any_fails(const std::vector<ThresholdFinding>& findings) {
    return std::ranges::any_of(findings, &ThresholdFinding::fails);
}

static std::string value_text(double value, FigureUnit unit) {
    char text[64];
    switch (unit) {
        case FigureUnit::time:
            (void)std::snprintf(text, sizeof text, "%.3f ms", value);
            break;
        case FigureUnit::share:
            (void)std::snprintf(text, sizeof text, "%.4g %%", 100 * value);
            break;
        case FigureUnit::number:
            (void)std::snprintf(text, sizeof text, "%.6g", value);
            break;
    }
    return text;
}

std::string value_text(const ThresholdFinding& finding) {
    if (!finding.value) {
        return "not measured";
    }
    const std::string text = value_text(*finding.value, finding.unit);
    if (!finding.sure) {
        return text;
    }
    return text + (!finding.error
                       ? " (client: not known)"
                       : " (client at most " + value_text(most_of(*finding.error), finding.unit) +
                             (*finding.sure ? ")" : "; the limit lies within)"));
}

std::string value_text(const StoppedWhen& stopped) {
    return value_text(stopped.value, stopped.unit);
}

static constexpr double ns_per_ms = 1e6;

static std::optional<double> in_ms(const OptionalNs& ns) {
    return ns ? std::optional(static_cast<double>(*ns) / ns_per_ms) : std::nullopt;
}

/// A number of a distribution: null where nothing was measured.
static std::optional<double> ms_of(const Distribution& d, double ns) {
    return known_if(d.count > 0, ns / ns_per_ms);
}

// `put` finds these by the types of their values, so that they are in no namespace of the file.

static void put_value(JsonWriter& json, const RunDescription& run) {
    const ArrivalFacts arrival = run.arrival.value_or(ArrivalFacts());
    put_object(json, {{"urls", run.urls},
                      {"trace_paths", run.trace_paths},
                      {"trace_rows", run.trace_rows},
                      {"trace_dependencies", run.trace_dependencies},
                      {"trace_digest", or_null(run.trace_digest)},
                      {"rows", run.rows},
                      {"speed", run.speed},
                      {"start_ns", run.start_ns},
                      {"end_ns", run.end_ns},
                      {"duration_ns", run.duration_ns},
                      {"limit", run.limit},
                      {"last_due_ns", run.last_due_ns},
                      {"schedule_digest", or_null(run.schedule_digest)},
                      {"rate", or_null(arrival.rate)},
                      {"arrivals", or_null(arrival.law)},
                      {"arriving", or_null(arrival.of)},
                      {"planned_rate", arrival.planned_rate},
                      {"sessions", run.sessions},
                      {"users", known_if(run.users > 0, run.users)},
                      {"for_ns", run.for_ns},
                      {"spread", run.spread},
                      {"seed", run.seed},
                      {"cache_salt", or_null(run.cache_salt)},
                      {"prompt", run.prompt},
                      {"output", run.output},
                      {"arguments", run.arguments}});
}

static void put_value(JsonWriter& json, const UrlFigures& one) {
    put_object(json, {{"url", one.url},
                      {"rows", one.rows},
                      {"completed", one.completed},
                      {"failed", one.failed},
                      {"median_ttft_ms", ms_of(one.ttft, one.ttft.median())},
                      {"p99_ttft_ms", ms_of(one.ttft, one.ttft.at[p99_index])},
                      {"cached_tokens", one.cached_tokens}});
}

static void put_value(JsonWriter& json, const ErrorText& error) {
    put_object(json, {{"outcome", error.outcome},
                      {"status", known_if(error.status > 0, error.status)},
                      {"error", or_null(error.text)},
                      {"rows", error.rows},
                      {"first_row", error.first_row}});
}

static void put_value(JsonWriter& json, const RankFigures& rank) {
    put_object(json, {{"rank_first", rank.first},
                      {"rank_last", rank.last},
                      {"count", rank.drift.count},
                      {"p50", rank.drift.median()},
                      {"p99", rank.drift.at[p99_index]},
                      {"max", rank.drift.max}});
}

static void put_value(JsonWriter& json, const HeldFigures& held) {
    put_object(json, {{"held_ns", held.held}, {"drift_ns", held.drift}});
}

/// A number; or the serving benchmarks' keys: mean_ttft_ms, median_ttft_ms, std_ttft_ms,
/// p99_ttft_ms, and how many values there are, the least and the most.
static void put_figure(JsonWriter& json, const FigureName& figure, const SummaryFigures& f) {
    const std::string name(figure.key);
    if (!figure.has_statistics()) {
        put(json, {{name, figure.value(f)}});
        return;
    }
    const bool is_time = figure.unit == FigureUnit::time;
    const std::string ending = "_" + name + (is_time ? "_ms" : "");
    const Distribution& d = figure.distribution(f);
    const auto known = [&](double value) {
        return known_if(d.count > 0, is_time ? value / ns_per_ms : value);
    };
    put(json, {{"count_" + name, d.count},
               {"min" + ending, known(d.min)},
               {"max" + ending, known(d.max)},
               {"mean" + ending, known(d.mean)},
               {"median" + ending, known(d.median())},
               {"std" + ending, known(d.std)}});
    for (const Statistic& one : statistics) {
        if (one.per_mille > 0) {
            put(json, {{one.name + ending, known(one.of(d))}});
        }
    }
}

static std::optional<ErrorBar> bar_in_ms(double value, double lower, double upper) {
    const std::optional<ErrorBar> bar = error_bar(value, lower, upper);
    return bar ? std::optional(ErrorBar{bar->below / ns_per_ms, bar->above / ns_per_ms}) : bar;
}

/// Of each statistic of a time; null where none is known.
static void put_bars(JsonWriter& json, const FigureName& figure, const SummaryFigures& f) {
    const Distribution& d = figure.distribution(f);
    const Bounds& bounds = f.*figure.bounds;
    json.key(std::string(figure.key) + "_ms");
    if (f.lacks_rows() || bounds.upper.count == 0 || d.count == 0) {
        json.null();
        return;
    }
    json.begin_object();
    for (const Statistic& one : statistics) {
        if (one.per_mille > 0 || one.name == std::string_view("mean")) {
            put(json,
                {{one.name, bar_in_ms(one.of(d), one.of(bounds.lower), one.of(bounds.upper))}});
        }
    }
    json.end_object();
}

static void put_client_error(JsonWriter& json, const SummaryFigures& f) {
    json.begin_object();
    for (const FigureName& figure : figure_names()) {
        if (figure.bounds != nullptr && !figure.is_inverse) {
            put_bars(json, figure, f);
        }
    }
    for (const char* const name : {"good", "request_goodput", "request_throughput",
                                   "output_throughput", "total_token_throughput"}) {
        put(json, {{name, find_figure(name)->error(f)}});
    }
    json.end_object();
}

/// How far the load that was sent lies from the one that was planned.
static void put_load_error(JsonWriter& json, const SummaryFigures& f, const TaintLimits& limits) {
    const Distribution& late = f.load_late();
    const std::int64_t limit_ns = drift_limit_ns(limits, 0);
    put_object(json, {{"p50_ms", ms_of(late, late.median())},
                      {"p99_ms", ms_of(late, late.at[p99_index])},
                      {"max_ms", ms_of(late, late.max)},
                      {"late_rows", f.sent_late()},
                      {"limit_ms", in_ms(known_if(limit_ns > 0, limit_ns))}});
}

static void put_head(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    const auto rate = [&arrival = info.run.arrival](JsonWriter& to) {
        arrival && arrival->asked_rate ? to.number(*arrival->asked_rate)
                                       : to.string(arrival ? arrival->rate : "trace");
    };
    put(json, {{"schema", summary_schema},
               {"date", info.date},
               {"endpoint_type", info.backend},
               {"backend", info.backend},
               {"model_id", info.model_id},
               {"tokenizer_id", or_null(info.tokenizer_id)},
               {"num_prompts", f.rows},
               {"request_rate", rate},
               {"sent_rate", f.timeline.sent_rate},
               {"kept_up", kept_up(f, info)},
               {"max_concurrency", info.max_concurrency},
               {"duration", static_cast<double>(f.duration_ns) / 1e9},
               {"completed", f.completed},
               {"failed", f.failed},
               {"total_input_tokens", known_if(f.uncounted.inputs == 0, f.input_tokens)},
               {"total_output_tokens", known_if(f.uncounted.outputs == 0, f.output_tokens)},
               {"request_throughput", f.request_throughput},
               {"request_goodput", f.request_goodput},
               {"output_throughput", f.output_throughput},
               {"total_token_throughput", f.total_token_throughput},
               {"max_output_tokens_per_s", f.timeline.max_output_tokens_per_s},
               {"max_concurrent_requests", f.timeline.max_concurrent_requests}});
    for (const char* const name : {"ttft", "tpot", "itl", "e2e"}) {
        put_figure(json, *find_figure(name), f);
    }
    for (const FigureName& figure : figure_names()) {
        if (!figure.meaning.empty()) {
            put_figure(json, figure, f);
        }
    }
    put_client_error(json.key("client_error"), f);
    put_load_error(json.key("load_error"), f, info.limits);
}

/// Counts by the names of a closed list.
template <ClosedList Enum, typename Count>
static auto by_name(const std::array<Count, closed_list<Enum>.size()>& counts) {
    return [&counts](JsonWriter& json) {
        json.begin_object();
        for (std::size_t i = 0; i < counts.size(); ++i) {
            put(json, {{closed_list<Enum>[i], counts[i]}});
        }
        json.end_object();
    };
}

static void put_counts(JsonWriter& json, const SummaryFigures& f) {
    put(json, {{"short_output", f.short_output},
               {"long_output", f.long_output},
               {"abandoned", JsonPairs{{"requests", f.abandoned.requests},
                                       {"no_first_token", f.abandoned.no_first_token},
                                       {"undecided", f.abandoned.undecided},
                                       {"input_tokens", f.abandoned.input_tokens},
                                       {"output_tokens", f.abandoned.output_tokens}}},
               {"censored", f.censored},
               {"fired", f.fired},
               {"dropped", f.dropped},
               {"retries", f.retries},
               {"warmup", JsonPairs{{"requests", f.warmup_rows},
                                    {"fired", f.warmup_fired},
                                    {"failed", f.warmup_failed}}},
               {"follow_up_turns", f.follow_up_turns},
               {"overtaken_turns", known_if(f.follow_up_turns > 0, f.overtaken_turns)},
               {"live", JsonPairs{{"turns", f.live.turns},
                                  {"filled", f.live.filled},
                                  {"filled_tokens", f.live.filled_tokens},
                                  {"over", f.live.over},
                                  {"over_tokens", f.live.over_tokens}}},
               {"output_tokens_all", f.output_tokens_all},
               {"outcomes", by_name<Outcome>(f.outcomes)},
               {"late_causes", by_name<LateCause>(f.late_causes)},
               {"tokens_sources", by_name<TokensSource>(f.tokens_sources)},
               {"tainted_rows", f.tainted_rows},
               {"stale_retries", f.stale_retries},
               {"coalesced_chunks", f.coalesced_chunks},
               {"receive_delay_max_ns", f.receive_delay_max_ns},
               {"retransmits", JsonPairs{{"segments", f.retransmits},
                                         {"rows", f.retransmitted_rows},
                                         {"rows_late", f.tainted_retransmitted},
                                         {"rows_unacknowledged", f.tainted_unacknowledged},
                                         {"rows_unknown", f.retransmits_unknown}}},
               // Lengths of the answers, and why rows failed.
               {"outputs", JsonPairs{{"exact", f.outputs_exact},
                                     {"short", f.outputs_short},
                                     {"long", f.outputs_long},
                                     {"unknown", f.outputs_unknown}}},
               {"errors", f.errors},
               {"errors_others", f.errors_others},
               {"tpot_unknown", f.tpot_unknown + f.uncounted.outputs}});
}

/// From the due instant to the wire, by stage, cause and rank; and the way back.
static void put_sending(JsonWriter& json, const SummaryFigures& f) {
    const SendingFigures& s = f.sending;
    const auto by_cause = [&s](JsonWriter& to) {
        to.begin_object();
        for (std::size_t i = 0; i < s.by_cause.size(); ++i) {
            if (const auto cause = static_cast<LateCause>(i); !is_wish(cause)) {
                put(to, {{name_of(cause), s.by_cause[i]}});
            }
        }
        to.end_object();
    };
    put(json, {{"drift_ns", s.drift},
               {"drift_left_out", f.drift_left_out},
               {"submit_ns", s.submit},
               {"wire_delay_ns", s.wire_delay},
               {"wire_drift_ns", s.wire_drift},
               {"wire_unknown", s.wire_unknown},
               {"receive_delay_ns", s.receive_delay},
               {"drift_by_cause_ns", by_cause},
               {"held", JsonPairs{{name_of(LateCause::inflight), s.held_by_user},
                                  {name_of(LateCause::budget), s.held_by_budget},
                                  {name_of(LateCause::limit), s.held_by_host}}},
               {"drift_by_rank_ns", s.by_rank}});
}

/// What was expected: in blocks of the trace, and in the server's own.
static void put_cache(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    const bool foretells = f.foretells_hits();
    const bool compares = foretells && f.cache_rows_compared() > 0;
    const bool has_blocks = f.server_cache_rows > 0;
    put_object(
        json,
        {{"expected_cached_tokens", known_if(foretells, f.expected_cached_tokens)},
         {"rows_reported", f.cache_rows_reported},
         {"cached_tokens", known_if(f.cache_rows_reported > 0, f.cached_tokens)},
         {"rows_compared", f.cache_rows_compared()},
         {"prompt_tokens_compared", compares ? f.cache_prompt_tokens : std::nullopt},
         {"cached_tokens_compared", known_if(compares, f.cached_tokens_compared())},
         {"expected_cached_tokens_reported", known_if(compares, f.expected_cached_tokens_reported)},
         {"rows_equal", known_if(compares, f.cache_rows_equal)},
         {"rows_above", known_if(compares, f.cache_rows_above)},
         {"split_unknown", info.split_unknown},
         {"server_block", info.server_block},
         {"server_rows", f.server_cache_rows},
         {"server_rows_equal", known_if(has_blocks, f.server_cache_rows_equal)},
         {"server_expected_cached_tokens", known_if(has_blocks, f.server_cache_expected)}});
}

static void put_limits(JsonWriter& json, const GoodputLimits& limits) {
    put(json, {{"ttft_ms", in_ms(limits.ttft_ns)},
               {"ttft_due_ms", in_ms(limits.ttft_due_ns)},
               {"tpot_ms", in_ms(limits.tpot_ns)},
               {"e2el_ms", in_ms(limits.e2e_ns)}});
}

static void put_goodput(JsonWriter& json, const SummaryFigures& f) {
    const bool judges = f.judges_goodput();
    json.begin_object();
    put_limits(json, common_limits(f.goodput_rules));
    put(json,
        {{"good", known_if(judges, f.good)}, {"decided", known_if(judges, f.goodput().decided)}});
    json.key("groups").begin_array();
    for (std::size_t i = 0; i < f.goodput_rules.size(); ++i) {
        const GoodputRule& rule = f.goodput_rules[i];
        const auto& count = f.goodput_counts[i];
        json.begin_object();
        put(json, {{"key", rule.key ? std::optional(rule.key->text) : std::nullopt},
                   {"value", known_if(rule.key.has_value(), rule.value)}});
        put_limits(json, rule.limits);
        put(json, {{"good", count.good},
                   {"decided", count.decided},
                   {"client_error", f.has_bars() ? count.error() : std::nullopt}});
        json.end_object();
    }
    json.end_array().end_object();
}

static void put_prompts(JsonWriter& json, const PromptFigures& prompts) {
    put_object(json, {{"exact", prompts.exact},
                      {"off", prompts.off},
                      {"unknown", prompts.unknown},
                      {"largest_off", prompts.largest_off},
                      {"likely_cause", prompts.cause},
                      {"explanation", or_null(prompts.explanation)}});
}

/// With what the verdict goes by: its limits, and the worst of the rows that are not tainted.
static void put_verdict(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    const auto limit = [](std::int64_t ns) { return known_if(ns > 0, ns); };
    const TaintLimits& limits = info.limits;
    const std::uint32_t rows = f.sending.instant_rows_max;
    const UntaintedFigures& worst = f.taints.untainted;
    put_object(
        json, {{"name", info.verdict},
               {"reasons", info.verdict_reasons},
               {"warnings", f.warnings},
               {"tainted_rows", f.tainted_first},
               {"limits",
                JsonPairs{{"sent_ns", limit(drift_limit_ns(limits, 0))},
                          {"sent_last_ns", limit(drift_limit_ns(limits, rows == 0 ? 0 : rows - 1))},
                          {"wire_ns", limit(limits.wire_ns)},
                          {"read_ns", limit(limits.receive_delay_ns)},
                          {"error_ns", limit(limits.error_ns)}}},
               {"worst_untainted", JsonPairs{{"sent_ns", worst.drift_max_ns},
                                             {"wire_ns", worst.wire_delay_max_ns},
                                             {"read_ns", worst.receive_delay_max_ns}}}});
}

std::string summary_json(const SummaryFigures& figures, const SummaryInfo& info) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    put_head(json, figures, info);
    put_counts(json, figures);
    put_sending(json, figures);
    put(json, {{"itl_rows_left_out", figures.itl_rows_left_out},
               {"histogram_relative_error", Histogram::relative_error}});
    put_cache(json.key("cache"), figures, info);
    write_warm_cache(json, figures, info.cache_probe);
    put_prompts(json.key("prompts"), figures.prompts);
    put_goodput(json.key("goodput"), figures);
    put(json, {{"clamped_rows", info.clamped_rows},
               {"unfinished", info.unfinished},
               {"urls", figures.urls},
               {"sides", figures.sides}});
    write_shards(json, info.merged, figures.shards);
    put(json, {{"run", info.run}, {"trace", info.trace}, {"labels", put_named(info.labels)}});
    put_verdict(json.key("verdict"), figures, info);
    put(json, {{"rules", info.rules},
               {"thresholds", info.thresholds},
               {"stopped_when", info.stopped_when}});
    write_client(json, info.client);
    write_server(json, info.server,
                 {figures.completed, figures.uncounted.inputs > 0 ? 0 : figures.input_tokens,
                  figures.uncounted.outputs > 0 ? 0 : figures.output_tokens,
                  info.finished_trees.value_or(0)},
                 figures.sent);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
