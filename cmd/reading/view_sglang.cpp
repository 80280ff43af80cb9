// SGLang's `bench_serving` on a chat API (sglang/benchmark/serving.py, goodput.py).

#include <algorithm>
#include <array>
#include <map>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

struct SglangFigures {
    std::vector<ServedRequest> served;
    ServingSums sums;
    ServingPeaks peaks;
    double duration_s = 0;
    std::int64_t sent = 0;
    std::int64_t retokenized = 0;
    std::int64_t good = 0;
    std::array<std::int64_t, 3> met{};  ///< ttft, tpot, e2e
    double e2e_sum_s = 0;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
    double share(std::int64_t count) const { return ratio(as_double(count), as_double(sent)); }
};

ServedRequest served_of(const ViewedRequest& request) {
    ServedRequest one;
    one.fired_ns = request.fired_ns;
    one.events_ns = request.stamps_of(said_kinds);
    if (one.events_ns.empty()) {  // a success without text has a TTFT of 0
        one.events_ns.push_back(request.fired_ns);
    }
    one.ttft_ns = one.events_ns.front() - request.fired_ns;
    one.e2e_ns = request.last_line_ns() - request.fired_ns;
    one.prompt_tokens = request.prompt_recorded;
    one.output_tokens = request.output_usage.value_or(request.output_recorded);
    return one;
}

SglangFigures sglang_figures(const ViewedRun& run) {
    SglangFigures figures;
    figures.duration_s = in_s(run.duration_ns);
    figures.sent = static_cast<std::int64_t>(run.requests.size());
    for (const ViewedRequest& request : run.requests) {
        if (!request.stream_read()) {
            continue;
        }
        const ServedRequest& one = figures.served.emplace_back(served_of(request));
        figures.retokenized += tokens_or_usage(request, said_kinds);
        figures.e2e_sum_s += in_s(one.e2e_ns);
        figures.good += serves_goodput(run.limits, one) ? 1 : 0;
        figures.met[0] += serves_goodput({run.limits.ttft_ns, {}, {}}, one) ? 1 : 0;
        figures.met[1] += serves_goodput({{}, run.limits.tpot_ns, {}}, one) ? 1 : 0;
        figures.met[2] += serves_goodput({{}, {}, run.limits.e2e_ns}, one) ? 1 : 0;
    }
    figures.sums = serving_sums(figures.served);
    figures.peaks = serving_peaks(figures.served);
    return figures;
}

struct NamedLimit {
    const char* name;
    OptionalNs limit_ns;
};

std::array<NamedLimit, 3> named_limits(const ViewLimits& limits) {
    return {NamedLimit{"ttft", limits.ttft_ns}, NamedLimit{"tpot", limits.tpot_ns},
            NamedLimit{"e2el", limits.e2e_ns}};
}

void add_goodput(std::string& screen, const ViewedRun& run, const SglangFigures& figures) {
    screen += centred("Goodput", 50, '-') + "\n";
    std::string words;
    std::string by_metric;
    const auto limits = named_limits(run.limits);
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (limits[i].limit_ns) {
            words += (words.empty() ? "" : " ") + std::string(limits[i].name) + ":" +
                     fixed(in_ms(*limits[i].limit_ns), 0);
            std::string label = limits[i].name;
            for (char& letter : label) {
                letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 32 : letter);
            }
            add_pair(by_metric,
                     label + " SLO attainment (%):", figures.share(figures.met[i]) * 100);
        }
    }
    add_pair(screen, "SLOs (ms):", words);
    add_pair(screen, "Request goodput (req/s):", figures.per_second(figures.good));
    add_pair(screen, "SLO attainment (%):", figures.share(figures.good) * 100);
    screen += by_metric;
}

std::string screen_of(const ViewedRun& run, const SglangFigures& figures) {
    const ServingSums& sums = figures.sums;
    std::string screen = "\n" + centred(" Serving Benchmark Result ", 50, '=') + "\n";
    add_pair(screen, "Backend:", run.backend);
    add_pair(screen, "Traffic request rate:", "trace");
    add_pair(screen, "Max request concurrency:",
             run.max_concurrency ? std::to_string(*run.max_concurrency) : "not set");
    add_pair(screen, "Successful requests:", std::to_string(figures.served.size()));
    add_pair(screen, "Benchmark duration (s):", figures.duration_s);
    add_pair(screen, "Total input tokens:", std::to_string(sums.input));
    add_pair(screen, "Total input text tokens:", std::to_string(sums.input));
    add_pair(screen, "Total generated tokens:", std::to_string(sums.output));
    add_pair(screen, "Total generated tokens (retokenized):", std::to_string(figures.retokenized));
    add_pair(screen, "Request throughput (req/s):",
             figures.per_second(static_cast<std::int64_t>(figures.served.size())));
    add_pair(screen, "Input token throughput (tok/s):", figures.per_second(sums.input));
    add_pair(screen, "Output token throughput (tok/s):", figures.per_second(sums.output));
    add_pair(screen,
             "Peak output token throughput (tok/s):", as_double(figures.peaks.tokens_per_s));
    add_pair(screen, "Peak concurrent requests:", std::to_string(figures.peaks.concurrent));
    add_pair(screen,
             "Total token throughput (tok/s):", figures.per_second(sums.input + sums.output));
    add_pair(screen, "Concurrency:", ratio(figures.e2e_sum_s, figures.duration_s));
    if (run.limits.set()) {
        add_goodput(screen, run, figures);
    }
    add_metric_block(screen, "End-to-End Latency", "E2E Latency", sums.e2e);
    add_metric_block(screen, "Time to First Token", "TTFT", sums.ttft);
    add_metric_block(screen, "Time per Output Token (excl. 1st token)", "TPOT", sums.tpot);
    add_metric_block(screen, "Inter-Token Latency", "ITL", sums.itl);
    add_pair(screen, "Max ITL (ms):", sums.itl.max());
    return screen + std::string(50, '=') + "\n";
}

void write_goodput(JsonWriter& json, const ViewedRun& run, const SglangFigures& figures) {
    const auto limits = named_limits(run.limits);
    json.key("goodput_slos_ms").begin_object();
    for (const NamedLimit& one : limits) {
        if (one.limit_ns) {
            put_number(json, one.name, in_ms(*one.limit_ns));
        }
    }
    json.end_object();
    put_number(json, "request_goodput", figures.per_second(figures.good));
    put_number(json, "slo_attainment", figures.share(figures.good));
    json.key("slo_attainment_by_metric").begin_object();
    for (std::size_t i = 0; i < limits.size(); ++i) {
        if (limits[i].limit_ns) {
            put_number(json, limits[i].name, figures.share(figures.met[i]));
        }
    }
    json.end_object();
}

std::string json_of(const ViewedRun& run, const SglangFigures& figures) {
    const ServingSums& sums = figures.sums;
    const auto completed = static_cast<std::int64_t>(figures.served.size());
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    put_text(json, "backend", run.backend);
    put_number(json, "duration", figures.duration_s);
    put_integer(json, "completed", completed);
    put_integer(json, "total_input_tokens", sums.input);
    put_integer(json, "total_input_text_tokens", sums.input);
    put_integer(json, "total_input_vision_tokens", 0);
    put_integer(json, "total_output_tokens", sums.output);
    put_integer(json, "total_output_tokens_retokenized", figures.retokenized);
    put_number(json, "request_throughput", figures.per_second(completed));
    put_number(json, "input_throughput", figures.per_second(sums.input));
    put_number(json, "output_throughput", figures.per_second(sums.output));
    put_number(json, "total_throughput", figures.per_second(sums.input + sums.output));
    for (const auto& [ending, values] :
         {std::pair("_e2e_latency_ms", &sums.e2e), std::pair("_ttft_ms", &sums.ttft),
          std::pair("_tpot_ms", &sums.tpot), std::pair("_itl_ms", &sums.itl)}) {
        put_statistics(json, *values, {"mean", "median", "std", "p90", "p95", "p99"}, ending);
    }
    put_number(json, "concurrency", ratio(figures.e2e_sum_s, figures.duration_s));
    json.key("accept_length").null();
    put_number(json, "max_output_tokens_per_s", as_double(figures.peaks.tokens_per_s));
    put_integer(json, "max_concurrent_requests", figures.peaks.concurrent);
    if (run.limits.set()) {
        write_goodput(json, run, figures);
    }
    json.end_object();
    return out + "\n";
}

}  // namespace

ViewResult sglang_view(const ViewedRun& run) {
    const SglangFigures figures = sglang_figures(run);
    ViewResult result;
    result.screen = screen_of(run, figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(
        run, {true, true, true},
        {"E2E and TPOT end at the last line of the stream, usage and [DONE] included",
         "the output of a success without usage counts with its requested length, not its real one",
         "not computable: Accept length, which the tool asks the server for, and requests that the "
         "tool would fail because of a comment line in their stream"});
    return result;
}

// genai-bench (genai_bench/user/openai_user.py, metrics).

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

BenchFigures bench_figures(const ViewedRun& run) {
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
    return figures;
}

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
        json.key(metric.name).begin_object();
        put_statistics(
            json, metric.values,
            {"min", "max", "mean", "stddev", "sum", "p25", "p50", "p75", "p90", "p95", "p99"});
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
        table.add_statistics(metric.name, metric.values,
                             [](double value) { return fixed(value, 4); });
    }
    return table.text() + "requests_per_second " + fixed(figures.per_second(figures.completed), 4) +
           ", completed " + std::to_string(figures.completed) + ", errors " +
           std::to_string(figures.errors) + ", error_rate 0\n";
}

}  // namespace

ViewResult genai_bench_view(const ViewedRun& run) {
    const BenchFigures figures = bench_figures(run);
    ViewResult result;
    result.screen = screen_of(figures);
    result.json = json_of(figures);
    result.notes =
        notes_on(run, {true, false, false}, {"E2E and TPOT end at the final usage event"});
    result.notes.emplace_back(
        "wrong in the tool: error_rate is always 0; " + std::to_string(figures.errors) + " of " +
        std::to_string(figures.completed + figures.errors) + " requests failed");
    return result;
}

}  // namespace driftless
