// genai-bench (genai_bench/user/openai_user.py, metrics).

#include <algorithm>
#include <map>

#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

struct BenchMetric {
    const char* name;
    ValueList values;
};

struct BenchFigures {
    std::vector<BenchMetric> metrics;
    std::int64_t completed = 0;
    std::int64_t errors = 0;
    std::map<std::string, std::int64_t> codes;
    std::int64_t input = 0;
    std::int64_t output = 0;
    double duration_s = 0;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
};

void add_request(BenchFigures& figures, const ViewedRequest& request,
                 const std::vector<std::int64_t>& stamps) {
    const std::int64_t tokens = request.output_usage.value_or(tokens_or_usage(request, said_kinds));
    const double ttft = in_s(stamps.front() - request.fired_ns);
    const std::int64_t end = request.usage_ns.value_or(request.last_line_ns());
    const double e2e = in_s(end - request.fired_ns);
    const double prompt = as_double(request.prompt_tokens());
    ++figures.completed;
    figures.input += request.prompt_tokens();
    figures.output += tokens;
    auto& metrics = figures.metrics;
    metrics[0].values.add(ttft);
    metrics[2].values.add(e2e);
    metrics[3].values.add(e2e - ttft);
    if (tokens > 1 && e2e - ttft >= 0.001) {
        const double tpot = (e2e - ttft) / as_double(tokens - 1);
        metrics[1].values.add(tpot);
        metrics[4].values.add(ratio(1, tpot));
        metrics[9].values.add(as_double(tokens - 1) / (e2e - ttft));
    }
    metrics[5].values.add(prompt);
    metrics[6].values.add(as_double(tokens));
    metrics[7].values.add(prompt + as_double(tokens));
    metrics[8].values.add(ratio(prompt, ttft));
}

BenchFigures figures_of(const ViewedRun& run) {
    BenchFigures figures;
    figures.metrics = {{"ttft", {}},
                       {"tpot", {}},
                       {"e2e_latency", {}},
                       {"output_latency", {}},
                       {"output_inference_speed", {}},
                       {"num_input_tokens", {}},
                       {"num_output_tokens", {}},
                       {"total_tokens", {}},
                       {"input_throughput", {}},
                       {"output_throughput", {}}};
    figures.duration_s = in_s(run.duration_ns);
    for (const ViewedRequest& request : run.requests) {
        const std::vector<std::int64_t> stamps = request.stamps_of(said_kinds);
        if (!request.stream_read() || request.error_ns ||
            request.outcome == Outcome::stream_error || stamps.empty()) {
            ++figures.errors;
            const int code = request.status == 200 || request.status == 0 ? 500 : request.status;
            ++figures.codes[std::to_string(code)];
            continue;
        }
        add_request(figures, request, stamps);
    }
    for (BenchMetric& metric : figures.metrics) {
        metric.values.close();
    }
    return figures;
}

constexpr std::uint32_t bench_percentiles[] = {250, 500, 750, 900, 950, 990};

std::string json_of(const BenchFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.key("aggregated_metrics").begin_object();
    put_number(json, "run_duration", figures.duration_s);
    put_number(json, "mean_output_throughput_tokens_per_s", figures.per_second(figures.output));
    put_number(json, "mean_input_throughput_tokens_per_s", figures.per_second(figures.input));
    put_number(json, "mean_total_tokens_throughput_tokens_per_s",
               figures.per_second(figures.input + figures.output));
    put_number(json, "requests_per_second", figures.per_second(figures.completed));
    json.key("error_codes_frequency").begin_object();
    for (const auto& [code, count] : figures.codes) {
        put_integer(json, code, count);
    }
    json.end_object();
    put_integer(json, "error_rate", 0);
    put_integer(json, "num_error_requests", figures.errors);
    put_integer(json, "num_completed_requests", figures.completed);
    put_integer(json, "num_requests", figures.completed + figures.errors);
    json.key("stats").begin_object();
    for (const BenchMetric& metric : figures.metrics) {
        const ValueList& values = metric.values;
        json.key(metric.name).begin_object();
        put_number(json, "min", values.min());
        put_number(json, "max", values.max());
        put_number(json, "mean", values.mean());
        put_number(json, "stddev", values.std());
        put_number(json, "sum", values.sum());
        for (const std::uint32_t one : bench_percentiles) {
            put_number(json, "p" + std::to_string(one / 10), values.linear(one));
        }
        json.end_object();
    }
    json.end_object();
    json.end_object();
    put_text(json, "_time_unit", "s");
    json.end_object();
    return out + "\n";
}

std::string screen_of(const BenchFigures& figures) {
    ViewTable table({"stats (s, tokens/s)", "mean", "stddev", "min", "max", "p50", "p90", "p99"});
    for (const BenchMetric& metric : figures.metrics) {
        const ValueList& values = metric.values;
        std::vector<std::string> row{metric.name};
        for (const double value : {values.mean(), values.std(), values.min(), values.max(),
                                   values.linear(500), values.linear(900), values.linear(990)}) {
            row.push_back(fixed(value, 4));
        }
        table.add(std::move(row));
    }
    return table.text() + "requests_per_second " + fixed(figures.per_second(figures.completed), 4) +
           ", completed " + std::to_string(figures.completed) + ", errors " +
           std::to_string(figures.errors) + ", error_rate 0\n";
}

}  // namespace

ViewResult genai_bench_view(const ViewedRun& run) {
    const BenchFigures figures = figures_of(run);
    ViewResult result;
    result.screen = screen_of(figures);
    result.json = json_of(figures);
    result.notes = notes_on(run, {true, false, false});
    result.notes.emplace_back("E2E and TPOT end at the final usage event");
    result.notes.emplace_back(
        "wrong in the tool: error_rate is always 0; " + std::to_string(figures.errors) + " of " +
        std::to_string(figures.completed + figures.errors) + " requests failed");
    return result;
}

}  // namespace driftless
