// InferenceX's aggregate of agentic runs, made of AIPerf's records
// (utils/agentic/aggregation/request_metrics.py).

#include <algorithm>
#include <cmath>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

constexpr std::int64_t window_ns = 1'000'000'000;

struct AgenticFigures {
    std::int64_t failed = 0;
    ValueList qps;
    ValueList ttft_s;
    ValueList e2e_s;
    ValueList itl_s;
    ValueList e2e_per_token_s;
    ValueList rate;      ///< 1 / ITL of each request, for its deviation alone
    ValueList e2e_rate;  ///< tokens / E2E, the same
    ValueList input;
    ValueList output;
    std::int64_t input_sum = 0;
    std::int64_t output_sum = 0;
    double duration_s = 0;

    double per_second(std::int64_t tokens) const { return ratio(as_double(tokens), duration_s); }
};

void add_positive(ValueList& list, double value) {
    if (value > 0) {
        list.add(value);
    }
}

/// Completions in windows of one second from the first; the last, partial one is left out.
void count_windows(std::vector<std::int64_t> ends, ValueList& qps) {
    if (ends.empty()) {
        return;
    }
    std::sort(ends.begin(), ends.end());
    const auto windows = static_cast<std::size_t>((ends.back() - ends.front()) / window_ns);
    std::vector<double> counts(windows, 0);
    for (const std::int64_t end : ends) {
        const auto window = static_cast<std::size_t>((end - ends.front()) / window_ns);
        if (window < windows) {
            counts[window] += 1;
        }
    }
    for (const double count : counts) {
        qps.add(count);
    }
}

AgenticFigures agentic_figures(const ViewedRun& run) {
    const AiperfRecords records = aiperf_records(run);
    AgenticFigures figures;
    figures.failed = records.failed;
    std::vector<std::int64_t> ends;
    ViewSpan span;
    for (const AiperfRecord& one : records.ok) {
        add_positive(figures.ttft_s, in_s(one.ttft_ns));
        add_positive(figures.e2e_s, in_s(one.latency_ns));
        if (one.itl_ns && *one.itl_ns > 0) {
            figures.itl_s.add(*one.itl_ns / ns_per_s);
            figures.rate.add(ns_per_s / *one.itl_ns);
        }
        if (one.output_tokens > 0 && one.latency_ns > 0) {
            figures.e2e_per_token_s.add(in_s(one.latency_ns) / as_double(one.output_tokens));
            figures.e2e_rate.add(as_double(one.output_tokens) / in_s(one.latency_ns));
        }
        add_positive(figures.input, as_double(one.input_tokens));
        add_positive(figures.output, as_double(one.output_tokens));
        figures.input_sum += one.input_tokens;
        figures.output_sum += one.output_tokens;
        ends.push_back(one.start_ns + one.last_response_ns);
        span.add(one.start_ns, ends.back());
    }
    figures.duration_s = in_s(span.length_ns());
    count_windows(std::move(ends), figures.qps);
    return figures;
}

double five_decimals(double value) {
    return std::round(value * 1e5) / 1e5;
}

constexpr const char* shown[] = {"mean", "p50", "p75", "p90", "p95", "std"};

/// Of `times`, or, where there are `rates`, 1 / each statistic of `times`, so that high percentiles
/// are the slow tail and the mean is the harmonic one; the deviation alone is that of `rates`.
double shown_value(std::string_view name, const ValueList& times, const ValueList* rates) {
    if (rates == nullptr) {
        return statistic_of(times, name);
    }
    return name == "std" ? rates->std() : ratio(1, statistic_of(times, name));
}

void put_values(JsonWriter& json, const ValueList& times, const ValueList* rates = nullptr) {
    for (const char* const name : shown) {
        if (!times.empty()) {
            put(json, {{name, five_decimals(shown_value(name, times, rates))}});
        }
    }
}

void put_file(JsonWriter& json, const ViewedRun& run, const AgenticFigures& f) {
    const auto ok = static_cast<std::int64_t>(f.ttft_s.count());
    const auto values = [](const ValueList& times, const ValueList* rates = nullptr) {
        return [&times, rates](JsonWriter& to) {
            to.begin_object();
            put_values(to, times, rates);
            to.end_object();
        };
    };
    const auto rate = [&f](std::int64_t tokens) {
        return [&f, tokens](JsonWriter& to) {
            put_object(to, {{"tokens_per_second", five_decimals(f.per_second(tokens))}});
        };
    };
    put(json, {{"request_accounting", JsonPairs{{"records_total", ok + f.failed},
                                                {"records_profiled", ok},
                                                {"records_dropped_total", f.failed},
                                                {"records_warmup_dropped", 0},
                                                {"records_error_dropped", f.failed}}}});
    json.key("request_metrics").begin_object().key("qps").begin_object();
    put(json, {{"window_seconds", 1}, {"samples", f.qps.count()}});
    put_values(json, f.qps);
    json.end_object();
    put(json, {{"latency", JsonPairs{{"ttft", values(f.ttft_s)},
                                     {"e2el", values(f.e2e_s)},
                                     {"itl", values(f.itl_s)},
                                     {"tpot", values(f.itl_s)},
                                     {"intvty", values(f.itl_s, &f.rate)},
                                     {"e2e_norm_intvty", values(f.e2e_per_token_s, &f.e2e_rate)},
                                     {"full_response_itl", JsonPairs{}},
                                     {"full_response_intvty", JsonPairs{}}}},
               {"tokens", JsonPairs{{"input", values(f.input)},
                                    {"output_actual", values(f.output)},
                                    {"output_expected", JsonPairs{}}}},
               {"throughput", JsonPairs{{"input", rate(f.input_sum)},
                                        {"output", rate(f.output_sum)},
                                        {"total", rate(f.input_sum + f.output_sum)},
                                        {"duration_seconds", five_decimals(f.duration_s)},
                                        {"per_gpu", JsonPairs{}}}},
               {"cache", JsonPairs{{"theoretical_cache_hit_rate",
                                    run.hit_rate_ceiling
                                        ? std::optional(five_decimals(*run.hit_rate_ceiling))
                                        : std::nullopt}}}});
    json.end_object();
}

std::string screen_of(const AgenticFigures& figures) {
    ViewTable table({"", "mean", "p50", "p75", "p90", "p95", "std"});
    const auto add = [&table](const char* name, const ValueList& times, const ValueList* rates) {
        std::vector<std::string> row{name};
        for (const char* const statistic : shown) {
            row.push_back(fixed(shown_value(statistic, times, rates), rates != nullptr ? 2 : 5));
        }
        table.add(std::move(row));
    };
    add("ttft (s)", figures.ttft_s, nullptr);
    add("e2el (s)", figures.e2e_s, nullptr);
    add("itl = tpot (s)", figures.itl_s, nullptr);
    add("intvty (tok/s/user, slow tail)", figures.itl_s, &figures.rate);
    add("e2e_norm_intvty (tok/s, slow tail)", figures.e2e_per_token_s, &figures.e2e_rate);
    add("qps", figures.qps, nullptr);
    return table.text() + "requests  " + std::to_string(figures.ttft_s.count()) + " profiled, " +
           std::to_string(figures.failed) + " dropped for errors\ntokens/s  input " +
           fixed(figures.per_second(figures.input_sum), 2) + ", output " +
           fixed(figures.per_second(figures.output_sum), 2) + ", over " +
           fixed(figures.duration_s, 3) + " s\n";
}

}  // namespace

ViewResult inferencex_view(const ViewedRun& run) {
    const AgenticFigures figures = agentic_figures(run);
    return {screen_of(figures), file_of([&](JsonWriter& json) { put_file(json, run, figures); }),
            notes_on(run, {true, false, true},
                     {"interactivity is 1 / the statistic of ITL: p90 is the slow tail and mean is "
                      "harmonic, while only std uses the plain rates",
                      "not computable: figures per GPU and watts, because the run does not know "
                      "the GPUs"})};
}

// InferenceX's runs of fixed length: its fork of vLLM's benchmark (utils/bench_serving) and what
// utils/process_result.py makes of it.

namespace {

std::optional<ServedRequest> fixed_served(const ViewedRequest& request) {
    ServedRequest one;
    one.events_ns = request.choice_events();
    std::int64_t last = one.events_ns.empty() ? request.fired_ns : one.events_ns.back();
    last = std::max({last, request.usage_ns.value_or(last), request.error_ns.value_or(last)});
    one.fired_ns = request.fired_ns;
    one.ttft_ns = one.events_ns.empty() ? 0 : one.events_ns.front() - request.fired_ns;
    one.e2e_ns = last - request.fired_ns;
    one.prompt_tokens = request.prompt_recorded;
    one.output_tokens = request.output_usage.value_or(0);
    return one;
}

constexpr const char* fixed_statistics[] = {"mean", "median", "std", "p90", "p99", "p99.9"};

void put_fixed(JsonWriter& json, const ViewedRun& run, const ServingFigures& f) {
    put(json, {{"model", run.model},
               {"completed", f.completed},
               {"duration", f.duration_s},
               {"total_input_tokens", f.input},
               {"total_output_tokens", f.output},
               {"request_throughput", f.per_second(f.completed)},
               {"output_throughput", f.per_second(f.output)},
               {"total_token_throughput", f.per_second(f.tokens())}});
    for (const auto& [ending, values] : {std::pair("_ttft", &f.ttft), std::pair("_tpot", &f.tpot),
                                         std::pair("_itl", &f.itl), std::pair("_e2el", &f.e2e)}) {
        for (const std::string statistic : fixed_statistics) {
            const double value = statistic_of(*values, statistic);
            put(json, {{statistic + ending, value / 1000}});
            if (values == &f.tpot) {  // `std_intvty` is 1000 / std(TPOT), and means nothing
                put(json, {{statistic + "_intvty", ratio(1000, value)}});
            }
        }
    }
}

std::string screen_of(const ServingFigures& f) {
    ViewTable table({"", "mean", "median", "std", "p90", "p99", "p99.9"});
    const auto add = [&table](const char* name, const ValueList& values, bool inverse) {
        table.add_statistics(name, values, [inverse](double value) {
            return fixed(inverse ? ratio(1000, value) : value, 2);
        });
    };
    add("ttft (ms)", f.ttft, false);
    add("tpot (ms)", f.tpot, false);
    add("intvty (tok/s/user)", f.tpot, true);
    add("itl (ms)", f.itl, false);
    add("e2el (ms)", f.e2e, false);
    return table.text() + "completed " + std::to_string(f.completed) + " of " +
           std::to_string(f.completed + f.failed) + ", output " + fixed(f.per_second(f.output), 2) +
           " tok/s, total " + fixed(f.per_second(f.tokens()), 2) + " tok/s\n";
}

}  // namespace

ViewResult inferencex_fixed_view(const ViewedRun& run) {
    const ServingFigures figures = serving_figures(run, fixed_served);
    return {screen_of(figures), file_of([&](JsonWriter& json) { put_fixed(json, run, figures); }),
            notes_on(run, {true, true, false},
                     {"E2E ends at the last JSON event, usage and errors included",
                      "an answer without usage counts as no tokens, and one without any event as a "
                      "success",
                      "wrong in the tool: std_intvty is 1000 / std(TPOT), which has no meaning; "
                      "its figure is shown",
                      "not computable: figures per GPU, because the run does not know the GPUs"})};
}

}  // namespace driftless
