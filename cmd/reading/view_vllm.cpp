/// vLLM's `bench serve`, and llm-d's benchmark report, which is made of vLLM's result.

#include <algorithm>
#include <utility>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/// Of a run; longer ones have no peak. A day and more.
constexpr std::int64_t seconds_max = 1'000'000;

void set_peaks(ServingFigures& figures) {
    ViewSpan span;
    for (const ServedRequest& one : figures.served) {
        span.add(one.fired_ns, one.fired_ns + one.e2e_ns);
    }
    const std::int64_t seconds = (span.length_ns() + second_ns - 1) / second_ns + 1;
    if (figures.served.empty() || seconds > seconds_max) {
        return;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(seconds));
    std::vector<std::int64_t> changes(static_cast<std::size_t>(seconds) + 1);
    const auto bin = [first = span.first_ns](std::int64_t at_ns) {
        return static_cast<std::size_t>(std::max<std::int64_t>(at_ns - first, 0) / second_ns);
    };
    for (const ServedRequest& one : figures.served) {
        for (const std::int64_t event : one.events_ns) {
            tokens[std::min(bin(event), tokens.size() - 1)] += 1;
        }
        changes[bin(one.fired_ns)] += 1;
        changes[bin(one.fired_ns + one.e2e_ns) + 1] -= 1;
    }
    std::int64_t open = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        open += changes[i];
        figures.peak_tokens_per_s = std::max(figures.peak_tokens_per_s, tokens[i]);
        figures.peak_concurrent = std::max(figures.peak_concurrent, open);
    }
}

}  // namespace

double ServedRequest::tpot_ms() const {
    return output_tokens > 1 ? in_ms(e2e_ns - ttft_ns) / as_double(output_tokens - 1) : 0;
}

bool ServedRequest::meets(const GoodputLimits& limits) const {
    return (!limits.ttft_ns || ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || tpot_ms() <= in_ms(*limits.tpot_ns)) &&
           (!limits.e2e_ns || e2e_ns <= *limits.e2e_ns);
}

ServingFigures serving_figures(const ViewedRun& run,
                               std::optional<ServedRequest> (*served_of)(const ViewedRequest&)) {
    ServingFigures figures;
    figures.duration_s = in_s(run.duration_ns);
    for (const ViewedRequest& request : run.requests) {
        std::optional<ServedRequest> one =
            request.stream_read() ? served_of(request) : std::nullopt;
        if (!one) {
            ++figures.failed;
            continue;
        }
        ++figures.completed;
        figures.good += one->meets(run.limits) ? 1 : 0;
        figures.input += one->prompt_tokens;
        figures.output += one->output_tokens;
        figures.ttft.add(in_ms(one->ttft_ns));
        figures.e2e.add(in_ms(one->e2e_ns));
        if (one->output_tokens > 1) {
            figures.tpot.add(one->tpot_ms());
        }
        for (std::size_t i = 1; i < one->events_ns.size(); ++i) {
            figures.itl.add(in_ms(one->events_ns[i] - one->events_ns[i - 1]));
        }
        figures.served.push_back(std::move(*one));
    }
    set_peaks(figures);
    return figures;
}

void add_metric_block(std::string& screen, std::string_view title, std::string_view name,
                      const ValueList& values) {
    constexpr const char* shown[][2] = {{"Mean ", "mean"},
                                        {"Median ", "median"},
                                        {"P90 ", "p90"},
                                        {"P95 ", "p95"},
                                        {"P99 ", "p99"}};
    screen += centred(title, 50, '-') + "\n";
    for (const auto& [label, statistic] : shown) {
        const std::string text = label + std::string(name) + " (ms):";
        add_pairs(screen, {{text, statistic_of(values, statistic)}});
    }
}

// vLLM's `bench serve` on a chat API (vllm/benchmarks/serve.py, lib/endpoint_request_func.py).

namespace {

std::string screen_of(const ViewedRun& run, const ServingFigures& f) {
    std::string screen = centred(" Serving Benchmark Result ", 50, '=') + "\n";
    add_pairs(screen, {{"Successful requests:", f.completed}, {"Failed requests:", f.failed}});
    if (run.max_concurrency) {
        add_pairs(screen, {{"Maximum request concurrency:", *run.max_concurrency}});
    }
    add_pairs(screen, {{"Benchmark duration (s):", f.duration_s},
                       {"Total input tokens:", f.input},
                       {"Total generated tokens:", f.output},
                       {"Request throughput (req/s):", f.per_second(f.completed)}});
    if (run.limits.set()) {
        add_pairs(screen, {{"Request goodput (req/s):", f.per_second(f.good)}});
    }
    add_pairs(screen, {{"Output token throughput (tok/s):", f.per_second(f.output)},
                       {"Peak output token throughput (tok/s):", as_double(f.peak_tokens_per_s)},
                       {"Peak concurrent requests:", as_double(f.peak_concurrent)},
                       {"Total token throughput (tok/s):", f.per_second(f.tokens())}});
    add_metric_block(screen, "Time to First Token", "TTFT", f.ttft);
    add_metric_block(screen, "Time per Output Token (excl. 1st token)", "TPOT", f.tpot);
    add_metric_block(screen, "Inter-token Latency", "ITL", f.itl);
    add_metric_block(screen, "End-to-end Latency", "E2EL", f.e2e);
    return screen + std::string(50, '=') + "\n";
}

constexpr const char* vllm_statistics[] = {"mean", "median", "std", "p50", "p90", "p95", "p99"};

void put_file(JsonWriter& json, const ViewedRun& run, const ServingFigures& f) {
    put(json,
        {{"date", run.date},
         {"endpoint_type", run.backend},
         {"backend", run.backend},
         {"label", nullptr},
         {"model_id", run.model},
         {"tokenizer_id", run.tokenizer.empty() ? run.model : run.tokenizer},
         {"num_prompts", f.completed + f.failed},
         {"request_rate", "inf"},
         {"burstiness", 1},
         {"max_concurrency", run.max_concurrency},
         {"duration", f.duration_s},
         {"completed", f.completed},
         {"failed", f.failed},
         {"total_input_tokens", f.input},
         {"total_output_tokens", f.output},
         {"request_throughput", f.per_second(f.completed)},
         {"request_goodput", run.limits.set() ? std::optional(f.per_second(f.good)) : std::nullopt},
         {"output_throughput", f.per_second(f.output)},
         {"total_token_throughput", f.per_second(f.tokens())},
         {"max_output_tokens_per_s", as_double(f.peak_tokens_per_s)},
         {"max_concurrent_requests", f.peak_concurrent},
         {"rtfx", 0}});
    put_statistics(json, f.ttft, vllm_statistics, "_ttft_ms");
    put_statistics(json, f.tpot, vllm_statistics, "_tpot_ms");
    put_statistics(json, f.itl, vllm_statistics, "_itl_ms");
    put_statistics(json, f.e2e, vllm_statistics, "_e2el_ms");
}

std::optional<ServedRequest> vllm_served(const ViewedRequest& request) {
    const std::vector<std::int64_t> events = request.choice_events();
    if (events.empty()) {
        return std::nullopt;
    }
    return ServedRequest{request.fired_ns,
                         events.front() - request.fired_ns,
                         events.back() - request.fired_ns,
                         request.prompt_tokens(),
                         request.output_usage.value_or(tokens_or_usage(request, content_kinds)),
                         events};
}

}  // namespace

ViewResult vllm_view(const ViewedRun& run) {
    const ServingFigures figures = serving_figures(run, vllm_served);
    return {
        screen_of(run, figures), file_of([&](JsonWriter& json) { put_file(json, run, figures); }),
        notes_on(
            run, {true, true, false},
            {"TTFT ends at the first event, which on many servers is a role without a token; the "
             "finish event ends E2E and adds a gap near 0 to ITL",
             "an error object inside a stream is skipped: such a request counts as a success",
             "shown as with --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles "
             "90,95,99"})};
}

// llm-d's benchmark report 0.2.1, as it imports a result of vLLM's benchmark
// (llmdbenchmark/analysis/benchmark_report/native_to_br0_2.py).

namespace {

/// No `p25`: the tool writes it under another name, which its own reader drops.
constexpr const char* llmd_statistics[] = {"mean", "stddev", "p0p1", "p1",  "p5",  "p10",
                                           "p50",  "p75",    "p90",  "p95", "p99", "p99p9"};

}  // namespace

ViewResult llmd_view(const ViewedRun& run) {
    const ServingFigures f = serving_figures(run, vllm_served);
    const std::int64_t total = f.completed + f.failed;
    const auto times = [](const char* units, const ValueList& values) {
        return StatisticsObject{values, llmd_statistics, "units", units};
    };
    const auto mean = [](const char* units, double value) {
        return [units, value](JsonWriter& json) {
            put_object(json, {{"units", units}, {"mean", value}});
        };
    };
    const auto put_aggregate = [&](JsonWriter& json) {
        put_object(
            json, {{"requests",
                    JsonPairs{{"total", total},
                              {"failures", f.failed},
                              {"input_length",
                               mean("count", ratio(as_double(f.input), as_double(total)))},
                              {"output_length",
                               mean("count", ratio(as_double(f.output), as_double(f.completed)))}}},
                   {"latency", JsonPairs{{"time_to_first_token", times("ms", f.ttft)},
                                         {"time_per_output_token", times("ms/token", f.tpot)},
                                         {"inter_token_latency", times("ms/token", f.itl)},
                                         {"request_latency", times("ms", f.e2e)}}},
                   {"throughput",
                    JsonPairs{{"output_token_rate", mean("tokens/s", f.per_second(f.output))},
                              {"total_token_rate", mean("tokens/s", f.per_second(f.tokens()))},
                              {"request_rate", mean("queries/s", f.per_second(f.completed))}}}});
    };
    ViewResult result;
    result.json = file_of([&](JsonWriter& json) {
        const std::string duration = "PT" + fixed(f.duration_s, 3) + "S";
        put(json,
            {{"version", "0.2.1"},
             {"run", JsonPairs{{"uid", run.run_id}, {"time", JsonPairs{{"duration", duration}}}}},
             {"results",
              JsonPairs{{"request_performance", JsonPairs{{"aggregate", put_aggregate}}}}}});
    });
    result.screen = result.json;  // the tool has no screen
    result.notes = notes_on(run, {true, true, false},
                            {"the report copies the figures of a harness, here vLLM's benchmark, "
                             "with its definitions"});
    if (f.failed > 0) {
        result.notes.push_back(
            "wrong in the tool: the mean of input_length divides the prompts of successes by all "
            "requests; its figure is shown, " +
            fixed(ratio(as_double(f.input), as_double(f.completed)), 2) + " would be right");
    }
    result.notes.emplace_back(
        "wrong in the tool: p25 gets lost when it imports vLLM's result; it is also left out here");
    return result;
}

// inference-perf (inference_perf/apis/streaming_parser.py, reportgen/base.py).

namespace {

struct PerfFigures {
    std::int64_t sent = 0;
    std::int64_t ok = 0;
    std::int64_t good = 0;
    std::int64_t met_ttft = 0;
    std::int64_t met_tpot = 0;
    std::int64_t prompt = 0;
    std::int64_t output = 0;
    std::int64_t good_tokens = 0;
    double duration_s = 0;
    ValueList delay;
    ValueList latency;
    ValueList normalized;
    ValueList tpot;
    ValueList ttft;
    ValueList itl;
    ValueList prompt_len;
    ValueList output_len;
    ValueList failed_latency;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
};

/// Each token of a chunk has the stamp of the chunk: all but one of its gaps are 0.
void add_gaps(PerfFigures& figures, const ViewedRequest& request) {
    OptionalNs before;
    for (const ViewedChunk& chunk : request.chunks) {
        if (content_kinds.find(chunk.kind) == content_kinds.npos) {
            continue;
        }
        for (std::int32_t i = 0; i < std::max(chunk.tokens, 1); ++i) {
            if (before) {
                figures.itl.add(in_s(chunk.at_ns - *before));
            }
            before = chunk.at_ns;
        }
    }
}

void add_success(PerfFigures& figures, const ViewedRequest& request, const GoodputLimits& limits) {
    const std::vector<std::int64_t> stamps = request.stamps_of(content_kinds);
    const std::int64_t tokens = tokens_or_usage(request, content_kinds);
    const double latency = in_s(request.ended_ns - request.fired_ns);
    ++figures.ok;
    figures.prompt += request.prompt_recorded;
    figures.output += tokens;
    figures.latency.add(latency);
    figures.prompt_len.add(as_double(request.prompt_recorded));
    figures.output_len.add(as_double(tokens));
    if (tokens > 0) {
        figures.normalized.add(latency / as_double(tokens));
    }
    // A first token needs two stamps, and the tokens of one chunk have one each.
    const bool has_ttft = !stamps.empty() && tokens >= 2;
    double ttft = 0;
    double tpot = 0;
    if (has_ttft) {
        ttft = in_s(stamps.front() - request.fired_ns);
        tpot = in_s(stamps.back() - stamps.front()) / as_double(tokens - 1);
        figures.ttft.add(ttft);
        figures.tpot.add(tpot);
    }
    add_gaps(figures, request);
    const bool meets_ttft = !limits.ttft_ns || (has_ttft && ttft <= in_s(*limits.ttft_ns));
    const bool meets_tpot = !limits.tpot_ns || (has_ttft && tpot <= in_s(*limits.tpot_ns));
    const bool meets_e2e = !limits.e2e_ns || latency <= in_s(*limits.e2e_ns);
    figures.met_ttft += meets_ttft ? 1 : 0;
    figures.met_tpot += meets_tpot ? 1 : 0;
    figures.good += meets_ttft && meets_tpot && meets_e2e ? 1 : 0;
}

PerfFigures figures_of(const ViewedRun& run) {
    PerfFigures figures;
    ViewSpan span;
    for (const ViewedRequest& request : run.requests) {
        ++figures.sent;
        span.add(request.fired_ns, request.ended_ns);
        figures.delay.add(in_s(request.fired_ns - request.due_ns));
        if (request.stream_read()) {
            add_success(figures, request, run.limits);
        } else {
            figures.failed_latency.add(in_s(request.ended_ns - request.fired_ns));
        }
    }
    figures.duration_s = in_s(span.length_ns());
    return figures;
}

constexpr const char* perf_statistics[] = {"mean", "min", "max", "median", "p0.1", "p1",  "p5",
                                           "p10",  "p25", "p75", "p90",    "p95",  "p99", "p99.9"};

void put_goodput(JsonWriter& json, const GoodputLimits& limits, const PerfFigures& f) {
    const auto share = [&f](std::int64_t count) {
        return 100 * ratio(as_double(count), as_double(f.ok));
    };
    json.key("goodput_metrics").begin_object();
    put(json, {{"goodput_percentage", share(f.good)},
               {"request_goodput", f.per_second(f.good)},
               {"good_requests", f.good},
               {"total_requests", f.ok}});
    if (limits.ttft_ns) {
        put(json, {{"ttft_attainment_percentage", share(f.met_ttft)}});
    }
    if (limits.tpot_ns) {
        put(json, {{"tpot_attainment_percentage", share(f.met_tpot)}});
    }
    json.end_object();
}

void put_file(JsonWriter& json, const ViewedRun& run, const PerfFigures& f) {
    const auto list = [](const ValueList& values) {
        return values.empty() ? std::nullopt
                              : std::optional(StatisticsObject{values, perf_statistics});
    };
    put(json, {{"benchmark_time_seconds", f.duration_s},
               {"load_summary", JsonPairs{{"count", f.sent}, {"schedule_delay", list(f.delay)}}}});
    json.key("successes").begin_object();
    put(json, {{"count", f.ok},
               {"latency", JsonPairs{{"request_latency", list(f.latency)},
                                     {"normalized_time_per_output_token", list(f.normalized)},
                                     {"time_per_output_token", list(f.tpot)},
                                     {"time_to_first_token", list(f.ttft)},
                                     {"inter_token_latency", list(f.itl)}}},
               {"throughput", JsonPairs{{"input_tokens_per_sec", f.per_second(f.prompt)},
                                        {"output_tokens_per_sec", f.per_second(f.output)},
                                        {"total_tokens_per_sec", f.per_second(f.prompt + f.output)},
                                        {"requests_per_sec", f.per_second(f.ok)}}},
               {"prompt_len", list(f.prompt_len)},
               {"output_len", list(f.output_len)}});
    if (run.limits.set()) {
        put_goodput(json, run.limits, f);
    }
    json.end_object();
    put(json, {{"failures",
                JsonPairs{{"count", f.sent - f.ok}, {"request_latency", list(f.failed_latency)}}}});
}

std::string screen_of(const PerfFigures& figures) {
    ViewTable table({"Request & Token Latency (ms)", "Mean", "Med", "P90"});
    const auto add = [&table](const char* name, const ValueList& values) {
        table.add({name, fixed(1000 * values.mean(), 2), fixed(1000 * values.linear(500), 2),
                   fixed(1000 * values.linear(900), 2)});
    };
    add("Req Lat", figures.latency);
    add("TTFT", figures.ttft);
    add("ITL", figures.itl);
    add("TPOT", figures.tpot);
    add("Norm TPOT", figures.normalized);
    return "Throughput  " + fixed(figures.per_second(figures.ok), 3) + " req/s, " +
           fixed(figures.per_second(figures.output), 2) + " output tok/s, " +
           std::to_string(figures.ok) + " of " + std::to_string(figures.sent) + " ok\n" +
           table.text();
}

}  // namespace

ViewResult inference_perf_view(const ViewedRun& run) {
    const PerfFigures figures = figures_of(run);
    return {screen_of(figures), file_of([&](JsonWriter& json) { put_file(json, run, figures); }),
            notes_on(
                run, {false, true, true},
                {"a TTFT needs two tokens: an answer of one token has none, and fails a TTFT limit",
                 "all tokens of a chunk have its stamp, so that ITL has zeros; only delta.content "
                 "counts"})};
}

}  // namespace driftless
