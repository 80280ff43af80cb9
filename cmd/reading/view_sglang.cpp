// SGLang's `bench_serving` on a chat API (sglang/benchmark/serving.py, goodput.py).

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

std::optional<ServedRequest> sglang_served(const ViewedRequest& request) {
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

/// A limit that was given, by the tool's name of it, and how many requests met it.
struct MetLimit {
    const char* key;
    const char* label;
    std::int64_t limit_ns;
    std::int64_t met;
};

struct SglangFigures : ServingFigures {
    std::int64_t sent = 0;
    std::int64_t retokenized = 0;
    std::vector<MetLimit> limits;
    double e2e_sum_s = 0;

    double share(std::int64_t count) const { return ratio(as_double(count), as_double(sent)); }
    double concurrency() const { return ratio(e2e_sum_s, duration_s); }
};

SglangFigures sglang_figures(const ViewedRun& run) {
    const auto sent = static_cast<std::int64_t>(run.requests.size());
    SglangFigures figures{serving_figures(run, sglang_served), sent, 0, {}, 0};
    for (const ViewedRequest& request : run.requests) {
        figures.retokenized += request.stream_read() ? tokens_or_usage(request, said_kinds) : 0;
    }
    for (const ServedRequest& one : figures.served) {
        figures.e2e_sum_s += in_s(one.e2e_ns);
    }
    const auto add = [&figures](const char* key, const char* label, OptionalNs GoodputLimits::* of,
                                const OptionalNs& limit_ns) {
        if (!limit_ns) {
            return;
        }
        GoodputLimits alone;
        alone.*of = limit_ns;
        const auto met = std::count_if(figures.served.begin(), figures.served.end(),
                                       [&](const ServedRequest& one) { return one.meets(alone); });
        figures.limits.push_back({key, label, *limit_ns, met});
    };
    add("ttft", "TTFT", &GoodputLimits::ttft_ns, run.limits.ttft_ns);
    add("tpot", "TPOT", &GoodputLimits::tpot_ns, run.limits.tpot_ns);
    add("e2el", "E2EL", &GoodputLimits::e2e_ns, run.limits.e2e_ns);
    return figures;
}

void add_goodput(std::string& screen, const SglangFigures& f) {
    std::string words;
    std::string by_metric;
    for (const MetLimit& one : f.limits) {
        words +=
            (words.empty() ? "" : " ") + std::string(one.key) + ":" + fixed(in_ms(one.limit_ns), 0);
        const std::string label = std::string(one.label) + " SLO attainment (%):";
        add_pairs(by_metric, {{label, f.share(one.met) * 100}});
    }
    screen += centred("Goodput", 50, '-') + "\n";
    add_pairs(screen, {{"SLOs (ms):", words},
                       {"Request goodput (req/s):", f.per_second(f.good)},
                       {"SLO attainment (%):", f.share(f.good) * 100}});
    screen += by_metric;
}

std::string screen_of(const ViewedRun& run, const SglangFigures& f) {
    std::string screen = "\n" + centred(" Serving Benchmark Result ", 50, '=') + "\n";
    add_pairs(screen, {{"Backend:", run.backend},
                       {"Traffic request rate:", "trace"},
                       {"Max request concurrency:",
                        run.max_concurrency ? std::to_string(*run.max_concurrency) : "not set"},
                       {"Successful requests:", f.completed},
                       {"Benchmark duration (s):", f.duration_s},
                       {"Total input tokens:", f.input},
                       {"Total input text tokens:", f.input},
                       {"Total generated tokens:", f.output},
                       {"Total generated tokens (retokenized):", f.retokenized},
                       {"Request throughput (req/s):", f.per_second(f.completed)},
                       {"Input token throughput (tok/s):", f.per_second(f.input)},
                       {"Output token throughput (tok/s):", f.per_second(f.output)},
                       {"Peak output token throughput (tok/s):", as_double(f.peak_tokens_per_s)},
                       {"Peak concurrent requests:", f.peak_concurrent},
                       {"Total token throughput (tok/s):", f.per_second(f.tokens())},
                       {"Concurrency:", f.concurrency()}});
    if (run.limits.set()) {
        add_goodput(screen, f);
    }
    add_metric_block(screen, "End-to-End Latency", "E2E Latency", f.e2e);
    add_metric_block(screen, "Time to First Token", "TTFT", f.ttft);
    add_metric_block(screen, "Time per Output Token (excl. 1st token)", "TPOT", f.tpot);
    add_metric_block(screen, "Inter-Token Latency", "ITL", f.itl);
    add_pairs(screen, {{"Max ITL (ms):", f.itl.max()}});
    return screen + std::string(50, '=') + "\n";
}

void put_goodput(JsonWriter& json, const SglangFigures& f) {
    json.key("goodput_slos_ms").begin_object();
    for (const MetLimit& one : f.limits) {
        put(json, {{one.key, in_ms(one.limit_ns)}});
    }
    json.end_object();
    put(json, {{"request_goodput", f.per_second(f.good)}, {"slo_attainment", f.share(f.good)}});
    json.key("slo_attainment_by_metric").begin_object();
    for (const MetLimit& one : f.limits) {
        put(json, {{one.key, f.share(one.met)}});
    }
    json.end_object();
}

constexpr const char* sglang_statistics[] = {"mean", "median", "std", "p90", "p95", "p99"};

void put_file(JsonWriter& json, const ViewedRun& run, const SglangFigures& f) {
    put(json, {{"backend", run.backend},
               {"duration", f.duration_s},
               {"completed", f.completed},
               {"total_input_tokens", f.input},
               {"total_input_text_tokens", f.input},
               {"total_input_vision_tokens", 0},
               {"total_output_tokens", f.output},
               {"total_output_tokens_retokenized", f.retokenized},
               {"request_throughput", f.per_second(f.completed)},
               {"input_throughput", f.per_second(f.input)},
               {"output_throughput", f.per_second(f.output)},
               {"total_throughput", f.per_second(f.tokens())}});
    put_statistics(json, f.e2e, sglang_statistics, "_e2e_latency_ms");
    put_statistics(json, f.ttft, sglang_statistics, "_ttft_ms");
    put_statistics(json, f.tpot, sglang_statistics, "_tpot_ms");
    put_statistics(json, f.itl, sglang_statistics, "_itl_ms");
    put(json, {{"concurrency", f.concurrency()},
               {"accept_length", nullptr},
               {"max_output_tokens_per_s", as_double(f.peak_tokens_per_s)},
               {"max_concurrent_requests", f.peak_concurrent}});
    if (run.limits.set()) {
        put_goodput(json, f);
    }
}

}  // namespace

ViewResult sglang_view(const ViewedRun& run) {
    const SglangFigures figures = sglang_figures(run);
    return {screen_of(run, figures),
            file_of([&](JsonWriter& json) { put_file(json, run, figures); }),
            notes_on(run, {true, true, true},
                     {"E2E and TPOT end at the last line of the stream, usage and [DONE] included",
                      "the output of a success without usage counts with its requested length, not "
                      "its real one",
                      "not computable: Accept length, which the tool asks the server for, and "
                      "requests that the tool would fail because of a comment line in their "
                      "stream"})};
}

// genai-bench (genai_bench/user/openai_user.py, metrics).

namespace {

/// Of a request that the tool counts, s.
struct BenchRequest {
    double ttft = 0;
    double e2e = 0;
    std::int64_t prompt = 0;
    std::int64_t tokens = 0;

    double output() const { return e2e - ttft; }
    std::optional<double> tpot() const {
        return tokens > 1 && output() >= 0.001 ? std::optional(output() / as_double(tokens - 1))
                                               : std::nullopt;
    }
};

using Known = std::optional<double>;
/// Nothing: the request has none.
constexpr std::pair<const char*, Known (*)(const BenchRequest&)> bench_metrics[] = {
    {"ttft", [](const BenchRequest& one) -> Known { return one.ttft; }},
    {"tpot", [](const BenchRequest& one) { return one.tpot(); }},
    {"e2e_latency", [](const BenchRequest& one) -> Known { return one.e2e; }},
    {"output_latency", [](const BenchRequest& one) -> Known { return one.output(); }},
    {"output_inference_speed",
     [](const BenchRequest& one) {
         return one.tpot() ? Known(ratio(1, *one.tpot())) : std::nullopt;
     }},
    {"num_input_tokens", [](const BenchRequest& one) -> Known { return as_double(one.prompt); }},
    {"num_output_tokens", [](const BenchRequest& one) -> Known { return as_double(one.tokens); }},
    {"total_tokens",
     [](const BenchRequest& one) -> Known {
         return as_double(one.prompt) + as_double(one.tokens);
     }},
    {"input_throughput",
     [](const BenchRequest& one) -> Known { return ratio(as_double(one.prompt), one.ttft); }},
    {"output_throughput",
     [](const BenchRequest& one) {
         return one.tpot() ? Known(as_double(one.tokens - 1) / one.output()) : std::nullopt;
     }},
};

struct BenchFigures {
    std::array<ValueList, std::size(bench_metrics)> values;
    std::int64_t completed = 0;
    std::int64_t errors = 0;
    std::map<std::string, std::int64_t> codes;
    std::int64_t input = 0;
    std::int64_t output = 0;
    double duration_s = 0;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
};

void add_request(BenchFigures& figures, const ViewedRequest& request, std::int64_t first_ns) {
    const std::int64_t end = request.usage_ns.value_or(request.last_line_ns());
    const BenchRequest one{in_s(first_ns - request.fired_ns), in_s(end - request.fired_ns),
                           request.prompt_tokens(),
                           request.output_usage.value_or(tokens_or_usage(request, said_kinds))};
    ++figures.completed;
    figures.input += one.prompt;
    figures.output += one.tokens;
    for (std::size_t i = 0; i < figures.values.size(); ++i) {
        if (const Known value = bench_metrics[i].second(one)) {
            figures.values[i].add(*value);
        }
    }
}

BenchFigures bench_figures(const ViewedRun& run) {
    BenchFigures figures;
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
        add_request(figures, request, stamps.front());
    }
    return figures;
}

constexpr const char* bench_statistics[] = {"min", "max", "mean", "stddev", "sum", "p25",
                                            "p50", "p75", "p90",  "p95",    "p99"};

void put_file(JsonWriter& json, const BenchFigures& f) {
    const auto put_codes = [&f](JsonWriter& to) {
        to.begin_object();
        for (const auto& [code, count] : f.codes) {
            put(to, {{code, count}});
        }
        to.end_object();
    };
    const auto put_stats = [&f](JsonWriter& to) {
        to.begin_object();
        for (std::size_t i = 0; i < f.values.size(); ++i) {
            put(to, {{bench_metrics[i].first, StatisticsObject{f.values[i], bench_statistics}}});
        }
        to.end_object();
    };
    put(json,
        {{"aggregated_metrics",
          JsonPairs{{"run_duration", f.duration_s},
                    {"mean_output_throughput_tokens_per_s", f.per_second(f.output)},
                    {"mean_input_throughput_tokens_per_s", f.per_second(f.input)},
                    {"mean_total_tokens_throughput_tokens_per_s", f.per_second(f.input + f.output)},
                    {"requests_per_second", f.per_second(f.completed)},
                    {"error_codes_frequency", put_codes},
                    {"error_rate", 0},
                    {"num_error_requests", f.errors},
                    {"num_completed_requests", f.completed},
                    {"num_requests", f.completed + f.errors},
                    {"stats", put_stats}}},
         {"_time_unit", "s"}});
}

std::string screen_of(const BenchFigures& figures) {
    ViewTable table({"stats (s, tokens/s)", "mean", "stddev", "min", "max", "p50", "p90", "p99"});
    for (std::size_t i = 0; i < figures.values.size(); ++i) {
        table.add_statistics(bench_metrics[i].first, figures.values[i],
                             [](double value) { return fixed(value, 4); });
    }
    return table.text() + "requests_per_second " + fixed(figures.per_second(figures.completed), 4) +
           ", completed " + std::to_string(figures.completed) + ", errors " +
           std::to_string(figures.errors) + ", error_rate 0\n";
}

}  // namespace

ViewResult genai_bench_view(const ViewedRun& run) {
    const BenchFigures figures = bench_figures(run);
    ViewResult result{
        screen_of(figures), file_of([&](JsonWriter& json) { put_file(json, figures); }),
        notes_on(run, {true, false, false}, {"E2E and TPOT end at the final usage event"})};
    result.notes.emplace_back(
        "wrong in the tool: error_rate is always 0; " + std::to_string(figures.errors) + " of " +
        std::to_string(figures.completed + figures.errors) + " requests failed");
    return result;
}

}  // namespace driftless
