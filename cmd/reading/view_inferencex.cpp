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

void write_values(JsonWriter& json, const ValueList& times, const ValueList* rates = nullptr) {
    for (const char* const name : shown) {
        if (!times.empty()) {
            put_number(json, name, five_decimals(shown_value(name, times, rates)));
        }
    }
}

void write_list(JsonWriter& json, const char* name, const ValueList& times,
                const ValueList* rates = nullptr) {
    json.key(name).begin_object();
    write_values(json, times, rates);
    json.end_object();
}

void write_rate(JsonWriter& json, const char* name, double value) {
    json.key(name).begin_object();
    put_number(json, "tokens_per_second", five_decimals(value));
    json.end_object();
}

void write_accounting(JsonWriter& json, const AgenticFigures& figures) {
    const auto ok = static_cast<std::int64_t>(figures.ttft_s.count());
    json.key("request_accounting").begin_object();
    put_integer(json, "records_total", ok + figures.failed);
    put_integer(json, "records_profiled", ok);
    put_integer(json, "records_dropped_total", figures.failed);
    put_integer(json, "records_warmup_dropped", 0);
    put_integer(json, "records_error_dropped", figures.failed);
    json.end_object();
}

std::string json_of(const ViewedRun& run, const AgenticFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    write_accounting(json, figures);
    json.key("request_metrics").begin_object();
    json.key("qps").begin_object();
    put_integer(json, "window_seconds", 1);
    put_integer(json, "samples", static_cast<std::int64_t>(figures.qps.count()));
    write_values(json, figures.qps);
    json.end_object();
    json.key("latency").begin_object();
    write_list(json, "ttft", figures.ttft_s);
    write_list(json, "e2el", figures.e2e_s);
    write_list(json, "itl", figures.itl_s);
    write_list(json, "tpot", figures.itl_s);
    write_list(json, "intvty", figures.itl_s, &figures.rate);
    write_list(json, "e2e_norm_intvty", figures.e2e_per_token_s, &figures.e2e_rate);
    json.key("full_response_itl").begin_object().end_object();
    json.key("full_response_intvty").begin_object().end_object();
    json.end_object();
    json.key("tokens").begin_object();
    write_list(json, "input", figures.input);
    write_list(json, "output_actual", figures.output);
    json.key("output_expected").begin_object().end_object();
    json.end_object();
    json.key("throughput").begin_object();
    write_rate(json, "input", figures.per_second(figures.input_sum));
    write_rate(json, "output", figures.per_second(figures.output_sum));
    write_rate(json, "total", figures.per_second(figures.input_sum + figures.output_sum));
    put_number(json, "duration_seconds", five_decimals(figures.duration_s));
    json.key("per_gpu").begin_object().end_object();
    json.end_object();
    json.key("cache").begin_object().key("theoretical_cache_hit_rate");
    run.hit_rate_ceiling ? json.number(five_decimals(*run.hit_rate_ceiling)) : json.null();
    json.end_object();
    json.end_object();
    json.end_object();
    return out + "\n";
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
    ViewResult result;
    result.screen = screen_of(figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(
        run, {true, false, true},
        {"interactivity is 1 / the statistic of ITL: p90 is the slow tail and mean is harmonic, "
         "while only std uses the plain rates",
         "not computable: figures per GPU and watts, because the run does not know the GPUs"});
    return result;
}

// InferenceX's runs of fixed length: its fork of vLLM's benchmark (utils/bench_serving) and what
// utils/process_result.py makes of it.

namespace {

struct FixedFigures {
    std::int64_t completed = 0;
    std::int64_t failed = 0;
    double duration_s = 0;
    ServingSums sums;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
};

FixedFigures fixed_figures(const ViewedRun& run) {
    FixedFigures figures;
    figures.duration_s = in_s(run.duration_ns);
    std::vector<ServedRequest> served;
    for (const ViewedRequest& request : run.requests) {
        if (!request.stream_read()) {
            ++figures.failed;
            continue;
        }
        ServedRequest& one = served.emplace_back();
        one.events_ns = request.choice_events();
        std::int64_t last = one.events_ns.empty() ? request.fired_ns : one.events_ns.back();
        last = std::max({last, request.usage_ns.value_or(last), request.error_ns.value_or(last)});
        one.fired_ns = request.fired_ns;
        one.ttft_ns = one.events_ns.empty() ? 0 : one.events_ns.front() - request.fired_ns;
        one.e2e_ns = last - request.fired_ns;
        one.prompt_tokens = request.prompt_recorded;
        one.output_tokens = request.output_usage.value_or(0);
    }
    figures.completed = static_cast<std::int64_t>(served.size());
    figures.sums = serving_sums(served);
    return figures;
}

void write_metric(JsonWriter& json, const std::string& name, const ValueList& values) {
    for (const char* const statistic : {"mean", "median", "std", "p90", "p99", "p99.9"}) {
        const double value = statistic_of(values, statistic);
        put_number(json, std::string(statistic) + "_" + name, value / 1000);
        if (name == "tpot") {  // `std_intvty` is 1000 / std(TPOT), and means nothing
            put_number(json, std::string(statistic) + "_intvty", ratio(1000, value));
        }
    }
}

}  // namespace

ViewResult inferencex_fixed_view(const ViewedRun& run) {
    const FixedFigures figures = fixed_figures(run);
    const ServingSums& sums = figures.sums;
    ViewResult result;
    JsonWriter json(result.json);
    json.begin_object();
    put_text(json, "model", run.model);
    put_integer(json, "completed", figures.completed);
    put_number(json, "duration", figures.duration_s);
    put_integer(json, "total_input_tokens", sums.input);
    put_integer(json, "total_output_tokens", sums.output);
    put_number(json, "request_throughput", figures.per_second(figures.completed));
    put_number(json, "output_throughput", figures.per_second(sums.output));
    put_number(json, "total_token_throughput", figures.per_second(sums.input + sums.output));
    write_metric(json, "ttft", sums.ttft);
    write_metric(json, "tpot", sums.tpot);
    write_metric(json, "itl", sums.itl);
    write_metric(json, "e2el", sums.e2e);
    json.end_object();
    result.json += "\n";

    ViewTable table({"", "mean", "median", "std", "p90", "p99", "p99.9"});
    const auto add = [&table](const char* name, const ValueList& values, bool inverse) {
        table.add_statistics(name, values, [inverse](double value) {
            return fixed(inverse ? ratio(1000, value) : value, 2);
        });
    };
    add("ttft (ms)", sums.ttft, false);
    add("tpot (ms)", sums.tpot, false);
    add("intvty (tok/s/user)", sums.tpot, true);
    add("itl (ms)", sums.itl, false);
    add("e2el (ms)", sums.e2e, false);
    result.screen = table.text() + "completed " + std::to_string(figures.completed) + " of " +
                    std::to_string(figures.completed + figures.failed) + ", output " +
                    fixed(figures.per_second(sums.output), 2) + " tok/s, total " +
                    fixed(figures.per_second(sums.input + sums.output), 2) + " tok/s\n";
    result.notes = notes_on(
        run, {true, true, false},
        {"E2E ends at the last JSON event, usage and errors included",
         "an answer without usage counts as no tokens, and one without any event as a success",
         "wrong in the tool: std_intvty is 1000 / std(TPOT), which has no meaning; its figure is "
         "shown",
         "not computable: figures per GPU, because the run does not know the GPUs"});
    return result;
}

}  // namespace driftless
