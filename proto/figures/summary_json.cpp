#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "proto/core/text.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/json/write.hpp"

namespace driftless {

void write_run(JsonWriter& json, const RunDescription& run) {
    json.key("run").begin_object();
    write_texts(json, "urls", run.urls);
    write_texts(json, "trace_paths", run.trace_paths);
    json.key("trace_rows").unsigned_integer(run.trace_rows);
    json.key("trace_dependencies").unsigned_integer(run.trace_dependencies);
    write_optional_text(json, "trace_digest", run.trace_digest);
    json.key("rows").unsigned_integer(run.rows);
    json.key("speed").string(run.speed);
    json.key("start_ns").optional(run.start_ns);
    json.key("end_ns").optional(run.end_ns);
    json.key("duration_ns").optional(run.duration_ns);
    json.key("limit").optional(run.limit);
    json.key("last_due_ns").integer(run.last_due_ns);
    write_optional_text(json, "schedule_digest", run.schedule_digest);
    write_optional_text(json, "rate", run.rate);
    write_optional_text(json, "arrivals", run.arrivals);
    write_optional_text(json, "arriving", run.arriving);
    json.key("planned_rate").optional(run.planned_rate);
    json.key("sessions").string(run.sessions);
    json.key("users");
    run.users > 0 ? json.unsigned_integer(run.users) : json.null();
    json.key("for_ns").optional(run.for_ns);
    json.key("spread").boolean(run.spread);
    json.key("seed").unsigned_integer(run.seed);
    write_optional_text(json, "cache_salt", run.cache_salt);
    json.key("prompt").string(run.prompt);
    json.key("output").string(run.output);
    write_texts(json, "arguments", run.arguments);
    json.end_object();
}

bool any_fails(const std::vector<ThresholdFinding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const ThresholdFinding& one) { return one.fails; });
}

namespace {

std::string value_text(double value, FigureUnit unit) {
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

}  // namespace

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

void write_stopped_when(JsonWriter& json, const std::optional<StoppedWhen>& stopped) {
    json.key("stopped_when");
    if (!stopped) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("cond").string(stopped->condition);
    json.key("at_s").number(stopped->at_s);
    json.key("value").number(stopped->value);
    json.key("unit").string(name_of(stopped->unit));
    json.end_object();
}

std::optional<StoppedWhen> read_stopped_when(JsonValue value) {
    const auto condition = value.find("cond").as_string();
    const auto at_s = value.find("at_s").as_double();
    const auto measured = value.find("value").as_double();
    const auto unit = value.find("unit").as_string();
    if (!condition || !at_s || !measured || !unit) {
        return std::nullopt;
    }
    StoppedWhen stopped{std::string(*condition), *at_s, *measured, FigureUnit::number};
    for (const FigureUnit one : {FigureUnit::time, FigureUnit::share}) {
        stopped.unit = *unit == name_of(one) ? one : stopped.unit;
    }
    return stopped;
}

void write_thresholds(JsonWriter& json, const std::vector<ThresholdFinding>& findings) {
    json.key("thresholds").begin_array();
    for (const ThresholdFinding& one : findings) {
        json.begin_object();
        json.key("fail_if").string(one.condition);
        json.key("value").optional(one.value);
        json.key("unit").string(name_of(one.unit));
        json.key("fails").boolean(one.fails);
        write_error(json, "client_error", one.error);
        json.key("sure").optional(one.sure);
        json.end_object();
    }
    json.end_array();
}

void write_rules(JsonWriter& json, const std::vector<RuleFinding>& findings) {
    json.key("rules").begin_array();
    for (const RuleFinding& one : findings) {
        json.begin_object();
        json.key("set").string(one.set);
        json.key("version").string(one.version);
        json.key("source").string(one.source);
        json.key("rule").string(one.rule);
        json.key("published").boolean(one.published);
        json.key("state").string(name_of(one.state));
        json.key("evidence").string(one.evidence);
        write_optional_text(json, "bound", one.bound);
        json.end_object();
    }
    json.end_array();
}

namespace {

constexpr double ns_per_ms = 1e6;

void write_count(JsonWriter& json, std::string_view key, std::uint64_t count) {
    json.key(key).unsigned_integer(count);
}

void write_known(JsonWriter& json, std::string_view key, bool is_known, std::uint64_t count) {
    json.key(key);
    is_known ? json.unsigned_integer(count) : json.null();
}

/// A number of a distribution: null where nothing was measured.
void write_of(JsonWriter& json, const std::string& key, const Distribution& d, double value) {
    json.key(key);
    d.count == 0 ? json.null() : json.number(value);
}

/// The serving benchmarks' keys: mean_ttft_ms, median_ttft_ms, std_ttft_ms, p99_ttft_ms; and how
/// many values there are, the least and the most.
void write_ms(JsonWriter& json, const std::string& metric, const Distribution& d) {
    const std::string ending = "_" + metric + "_ms";
    write_count(json, "count_" + metric, d.count);
    write_of(json, "min" + ending, d, d.min / ns_per_ms);
    write_of(json, "max" + ending, d, d.max / ns_per_ms);
    write_of(json, "mean" + ending, d, d.mean / ns_per_ms);
    write_of(json, "median" + ending, d, d.median() / ns_per_ms);
    write_of(json, "std" + ending, d, d.std / ns_per_ms);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        write_of(json, "p" + std::string(percentiles[i].name) + ending, d, d.at[i] / ns_per_ms);
    }
}

void write_bars(JsonWriter& json, std::string_view key, const Distribution& d,
                const Bounds& bounds) {
    json.key(key);
    if (bounds.upper.count == 0 || d.count == 0) {
        json.null();
        return;
    }
    json.begin_object();
    write_error(json, "mean", error_bar(d.mean, bounds.lower.mean, bounds.upper.mean), ns_per_ms);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        write_error(json, "p" + std::string(percentiles[i].name),
                    error_bar(d.at[i], bounds.lower.at[i], bounds.upper.at[i]), ns_per_ms);
    }
    json.end_object();
}

void write_client_error(JsonWriter& json, const SummaryFigures& f) {
    const auto write = [&](std::string_view key, const Distribution& d, const Bounds& bounds) {
        write_bars(json, key, d, f.lacks_rows() ? Bounds() : bounds);
    };
    json.key("client_error").begin_object();
    write("ttft_ms", f.ttft, f.ttft_bounds);
    write("tpot_ms", f.tpot, f.tpot_bounds);
    write("itl_ms", f.itl, f.itl_bounds);
    write("e2el_ms", f.e2e, f.e2e_bounds);
    write("chunk_gap_ms", f.chunk_gap, f.chunk_gap_bounds);
    write_error(json, "good", f.good_error());
    write_error(json, "request_goodput", f.request_goodput_error());
    write_error(json, "request_throughput", f.throughput_error(f.request_throughput));
    write_error(json, "output_throughput", f.throughput_error(f.output_throughput));
    write_error(json, "total_token_throughput", f.throughput_error(f.total_token_throughput));
    json.end_object();
}

/// How far the load that was sent lies from the one that was planned.
void write_load_error(JsonWriter& json, const SummaryFigures& f, const TaintLimits& limits) {
    const Distribution& late = f.load_late();
    json.key("load_error").begin_object();
    write_of(json, "p50_ms", late, late.median() / ns_per_ms);
    write_of(json, "p99_ms", late, late.at[p99_index] / ns_per_ms);
    write_of(json, "max_ms", late, late.max / ns_per_ms);
    write_count(json, "late_rows", f.sent_late());
    json.key("limit_ms");
    const std::int64_t limit_ns = drift_limit_ns(limits, 0);
    limit_ns > 0 ? json.number(static_cast<double>(limit_ns) / ns_per_ms) : json.null();
    json.end_object();
}

void write_limit(JsonWriter& json, std::string_view key, const OptionalNs& limit) {
    json.key(key);
    limit ? json.number(static_cast<double>(*limit) / ns_per_ms) : json.null();
}

void write_urls(JsonWriter& json, const std::vector<UrlFigures>& urls) {
    json.key("urls").begin_array();
    for (const UrlFigures& one : urls) {
        json.begin_object();
        json.key("url").string(one.url);
        write_count(json, "rows", one.rows);
        write_count(json, "completed", one.completed);
        write_count(json, "failed", one.failed);
        write_of(json, "median_ttft_ms", one.ttft, one.ttft.median() / ns_per_ms);
        write_of(json, "p99_ttft_ms", one.ttft, one.ttft.at[p99_index] / ns_per_ms);
        write_count(json, "cached_tokens", one.cached_tokens);
        json.end_object();
    }
    json.end_array();
}

void write_head(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    json.key("schema").integer(summary_schema);
    json.key("date").string(info.date);
    json.key("endpoint_type").string(info.backend);
    json.key("backend").string(info.backend);
    json.key("model_id").string(info.model_id);
    write_optional_text(json, "tokenizer_id", info.tokenizer_id);
    write_count(json, "num_prompts", f.rows);
    json.key("request_rate");
    if (info.run.asked_rate) {
        json.number(*info.run.asked_rate);
    } else {
        json.string(info.run.rate.empty() ? "trace" : info.run.rate);
    }
    json.key("sent_rate").optional(f.timeline.sent_rate);
    json.key("kept_up").optional(kept_up(f, info));
    json.key("max_concurrency").optional(info.max_concurrency);
    json.key("duration").number(static_cast<double>(f.duration_ns) / 1e9);
    write_count(json, "completed", f.completed);
    write_count(json, "failed", f.failed);
    write_known(json, "total_input_tokens", f.uncounted.inputs == 0, f.input_tokens);
    write_known(json, "total_output_tokens", f.uncounted.outputs == 0, f.output_tokens);
    json.key("request_throughput").number(f.request_throughput);
    json.key("request_goodput").optional(f.request_goodput);
    json.key("output_throughput").optional(f.output_throughput);
    json.key("total_token_throughput").optional(f.total_token_throughput);
    json.key("max_output_tokens_per_s").optional(f.timeline.max_output_tokens_per_s);
    write_count(json, "max_concurrent_requests", f.timeline.max_concurrent_requests);
    write_ms(json, "ttft", f.ttft);
    write_ms(json, "tpot", f.tpot);
    write_ms(json, "itl", f.itl);
    write_ms(json, "e2el", f.e2e);
    write_ms(json, "ttft_due", f.ttft_due);
    write_ms(json, "chunk_gap", f.chunk_gap);
    write_client_error(json, f);
    write_load_error(json, f, info.limits);
}

void write_counts(JsonWriter& json, const SummaryFigures& f) {
    write_count(json, "short_output", f.short_output);
    write_count(json, "long_output", f.long_output);
    json.key("abandoned").begin_object();
    write_count(json, "requests", f.abandoned.requests);
    write_count(json, "no_first_token", f.abandoned.no_first_token);
    write_count(json, "undecided", f.abandoned.undecided);
    write_count(json, "input_tokens", f.abandoned.input_tokens);
    write_count(json, "output_tokens", f.abandoned.output_tokens);
    json.end_object();
    write_count(json, "censored", f.censored);
    write_count(json, "fired", f.fired);
    write_count(json, "dropped", f.dropped);
    write_count(json, "retries", f.retries);
    json.key("warmup").begin_object();
    write_count(json, "requests", f.warmup_rows);
    write_count(json, "fired", f.warmup_fired);
    write_count(json, "failed", f.warmup_failed);
    json.end_object();
    write_count(json, "follow_up_turns", f.follow_up_turns);
    write_known(json, "overtaken_turns", f.follow_up_turns > 0, f.overtaken_turns);
    json.key("live").begin_object();
    write_count(json, "turns", f.live.turns);
    write_count(json, "filled", f.live.filled);
    write_count(json, "filled_tokens", f.live.filled_tokens);
    write_count(json, "over", f.live.over);
    write_count(json, "over_tokens", f.live.over_tokens);
    json.end_object();
    write_count(json, "output_tokens_all", f.output_tokens_all);
    json.key("outcomes").begin_object();
    for (std::size_t i = 0; i < f.outcomes.size(); ++i) {
        write_count(json, name_of(static_cast<Outcome>(i)), f.outcomes[i]);
    }
    json.end_object().key("late_causes").begin_object();
    for (std::size_t i = 0; i < f.late_causes.size(); ++i) {
        write_count(json, name_of(static_cast<LateCause>(i)), f.late_causes[i]);
    }
    json.end_object().key("tokens_sources").begin_object();
    for (std::size_t i = 0; i < f.tokens_sources.size(); ++i) {
        write_count(json, name_of(static_cast<TokensSource>(i)), f.tokens_sources[i]);
    }
    json.end_object();
    write_count(json, "tainted_rows", f.tainted_rows);
    write_count(json, "stale_retries", f.stale_retries);
    write_count(json, "coalesced_chunks", f.coalesced_chunks);
    json.key("receive_delay_max_ns").optional(f.receive_delay_max_ns);
    json.key("retransmits").begin_object();
    write_count(json, "segments", f.retransmits);
    write_count(json, "rows", f.retransmitted_rows);
    write_count(json, "rows_late", f.tainted_retransmitted);
    write_count(json, "rows_unacknowledged", f.tainted_unacknowledged);
    write_count(json, "rows_unknown", f.retransmits_unknown);
    json.end_object();
}

void write_held(JsonWriter& json, std::string_view cap, const HeldFigures& held) {
    json.key(cap).begin_object();
    write_distribution(json, "held_ns", held.held);
    write_distribution(json, "drift_ns", held.drift);
    json.end_object();
}

/// Lengths of the answers, and why rows failed.
void write_answers(JsonWriter& json, const SummaryFigures& f) {
    json.key("outputs").begin_object();
    write_count(json, "exact", f.outputs_exact);
    write_count(json, "short", f.outputs_short);
    write_count(json, "long", f.outputs_long);
    write_count(json, "unknown", f.outputs_unknown);
    json.end_object().key("errors").begin_array();
    for (const ErrorText& error : f.errors) {
        json.begin_object();
        json.key("outcome").string(name_of(error.outcome));
        json.key("status");
        error.status > 0 ? json.integer(error.status) : json.null();
        write_optional_text(json, "error", error.text);
        write_count(json, "rows", error.rows);
        write_count(json, "first_row", error.first_row);
        json.end_object();
    }
    json.end_array();
    write_count(json, "errors_others", f.errors_others);
    write_count(json, "tpot_unknown", f.tpot_unknown + f.uncounted.outputs);
}

/// From the due instant to the wire, by stage, cause and rank; and the way back.
void write_sending(JsonWriter& json, const SendingFigures& s) {
    write_distribution(json, "submit_ns", s.submit);
    write_distribution(json, "wire_delay_ns", s.wire_delay);
    write_distribution(json, "wire_drift_ns", s.wire_drift);
    write_count(json, "wire_unknown", s.wire_unknown);
    write_distribution(json, "receive_delay_ns", s.receive_delay);
    json.key("drift_by_cause_ns").begin_object();
    for (std::size_t i = 0; i < s.by_cause.size(); ++i) {
        if (!is_wish(static_cast<LateCause>(i))) {
            write_distribution(json, name_of(static_cast<LateCause>(i)), s.by_cause[i]);
        }
    }
    json.end_object().key("held").begin_object();
    write_held(json, name_of(LateCause::inflight), s.held_by_user);
    write_held(json, name_of(LateCause::budget), s.held_by_budget);
    write_held(json, name_of(LateCause::limit), s.held_by_host);
    json.end_object().key("drift_by_rank_ns").begin_array();
    for (const RankFigures& rank : s.by_rank) {
        json.begin_object();
        write_count(json, "rank_first", rank.first);
        write_count(json, "rank_last", rank.last);
        write_count(json, "count", rank.drift.count);
        json.key("p50").number(rank.drift.median());
        json.key("p99").number(rank.drift.at[p99_index]);
        json.key("max").number(rank.drift.max);
        json.end_object();
    }
    json.end_array();
}

/// What was expected in the server's own blocks.
void write_server_cache(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    json.key("split_unknown").boolean(info.split_unknown);
    json.key("server_block").optional(info.server_block);
    write_count(json, "server_rows", f.server_cache_rows);
    const bool is_known = f.server_cache_rows > 0;
    write_known(json, "server_rows_equal", is_known, f.server_cache_rows_equal);
    write_known(json, "server_expected_cached_tokens", is_known, f.server_cache_expected);
}

void write_limits(JsonWriter& json, const GoodputLimits& limits) {
    write_limit(json, "ttft_ms", limits.ttft_ns);
    write_limit(json, "ttft_due_ms", limits.ttft_due_ns);
    write_limit(json, "tpot_ms", limits.tpot_ns);
    write_limit(json, "e2el_ms", limits.e2e_ns);
}

void write_goodput(JsonWriter& json, const SummaryFigures& f) {
    const auto known = [&f](std::uint64_t count) {
        return f.judges_goodput() ? OptionalNs(static_cast<std::int64_t>(count)) : OptionalNs();
    };
    write_limits(json, common_limits(f.goodput_rules));
    json.key("good").optional(known(f.good));
    json.key("decided").optional(known(f.goodput().decided));
    json.key("groups").begin_array();
    for (std::size_t i = 0; i < f.goodput_rules.size(); ++i) {
        const GoodputRule& rule = f.goodput_rules[i];
        json.begin_object();
        json.key("key").optional(rule.key ? std::optional<std::string_view>(rule.key->text)
                                          : std::nullopt);
        json.key("value").optional(rule.key ? std::optional<std::string_view>(rule.value)
                                            : std::nullopt);
        write_limits(json, rule.limits);
        write_count(json, "good", f.goodput_counts[i].good);
        write_count(json, "decided", f.goodput_counts[i].decided);
        write_error(json, "client_error",
                    f.has_bars() ? f.goodput_counts[i].error() : std::nullopt);
        json.end_object();
    }
    json.end_array();
}

void write_ours(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    write_distribution(json, "drift_ns", f.sending.drift);
    write_count(json, "drift_left_out", f.drift_left_out);
    write_sending(json, f.sending);
    write_count(json, "itl_rows_left_out", f.itl_rows_left_out);
    json.key("histogram_relative_error").number(Histogram::relative_error);
    json.key("cache").begin_object();
    const bool foretells = f.foretells_hits();
    write_known(json, "expected_cached_tokens", foretells, f.expected_cached_tokens);
    write_count(json, "rows_reported", f.cache_rows_reported);
    write_known(json, "cached_tokens", f.cache_rows_reported > 0, f.cached_tokens);
    write_count(json, "rows_compared", f.cache_rows_compared());
    const bool compares = foretells && f.cache_rows_compared() > 0;
    write_known(json, "prompt_tokens_compared", compares && f.cache_prompt_tokens,
                f.cache_prompt_tokens.value_or(0));
    write_known(json, "cached_tokens_compared", compares, f.cached_tokens_compared());
    write_known(json, "expected_cached_tokens_reported", compares,
                f.expected_cached_tokens_reported);
    write_known(json, "rows_equal", compares, f.cache_rows_equal);
    write_known(json, "rows_above", compares, f.cache_rows_above);
    write_server_cache(json, f, info);
    json.end_object();
    write_warm_cache(json, f, info.cache_probe);
    json.key("prompts").begin_object();
    write_count(json, "exact", f.prompts.exact);
    write_count(json, "off", f.prompts.off);
    write_count(json, "unknown", f.prompts.unknown);
    json.key("largest_off").integer(f.prompts.largest_off);
    json.key("likely_cause").string(name_of(f.prompts.cause));
    write_optional_text(json, "explanation", f.prompts.explanation);
    json.end_object().key("goodput").begin_object();
    write_goodput(json, f);
    json.end_object();
}

/// What the verdict names: its limits, and the worst of the rows that are not tainted.
void write_kept(JsonWriter& json, const SummaryFigures& f, const TaintLimits& limits) {
    const auto limit = [&json](std::string_view key, std::int64_t ns) {
        json.key(key).optional(ns > 0 ? OptionalNs(ns) : OptionalNs());
    };
    const std::uint32_t rows = f.sending.instant_rows_max;
    json.key("limits").begin_object();
    limit("sent_ns", drift_limit_ns(limits, 0));
    limit("sent_last_ns", drift_limit_ns(limits, rows == 0 ? 0 : rows - 1));
    limit("wire_ns", limits.wire_ns);
    limit("read_ns", limits.receive_delay_ns);
    limit("error_ns", limits.error_ns);
    json.end_object().key("worst_untainted").begin_object();
    const UntaintedFigures& worst = f.taints.untainted;
    json.key("sent_ns").integer(worst.drift_max_ns);
    json.key("wire_ns").integer(worst.wire_delay_max_ns);
    json.key("read_ns").integer(worst.receive_delay_max_ns);
    json.end_object();
}

void write_info(JsonWriter& json, const SummaryFigures& f, const SummaryInfo& info) {
    write_count(json, "clamped_rows", info.clamped_rows);
    json.key("unfinished");
    if (info.unfinished) {
        json.begin_object();
        write_count(json, "rows", info.unfinished->rows);
        write_count(json, "rows_left", info.unfinished->rows_left);
        json.end_object();
    } else {
        json.null();
    }
    write_urls(json, f.urls);
    write_sides(json, f.sides);
    write_shards(json, info.merged, f.shards);
    write_run(json, info.run);
    json.key("trace").string(info.trace);
    json.key("labels").begin_object();
    for (const auto& [name, value] : info.labels) {
        json.key(name).string(value);
    }
    json.end_object().key("verdict").begin_object();
    json.key("name").string(info.verdict);
    write_texts(json, "reasons", info.verdict_reasons);
    write_texts(json, "warnings", f.warnings);
    json.key("tainted_rows").begin_array();
    for (const std::uint32_t row : f.tainted_first) {
        json.unsigned_integer(row);
    }
    json.end_array();
    write_kept(json, f, info.limits);
    json.end_object();
    write_rules(json, info.rules);
    write_thresholds(json, info.thresholds);
    write_stopped_when(json, info.stopped_when);
}

}  // namespace

std::string summary_json(const SummaryFigures& figures, const SummaryInfo& info) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_head(json, figures, info);
    write_counts(json, figures);
    write_answers(json, figures);
    write_ours(json, figures, info);
    write_info(json, figures, info);
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
