/// vLLM's `bench serve`, and llm-d's benchmark report, which is made of vLLM's result.

#include <algorithm>
#include <utility>

#include "cmd/reading/view.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/// Of a run; longer ones have no peak. A day and more.
constexpr std::int64_t seconds_max = 1'000'000;

}  // namespace

double ServedRequest::tpot_ms() const {
    return output_tokens > 1 ? in_ms(e2e_ns - ttft_ns) / as_double(output_tokens - 1) : 0;
}

ServingPeaks serving_peaks(const std::vector<ServedRequest>& served) {
    ServingPeaks peaks;
    if (served.empty()) {
        return peaks;
    }
    std::int64_t first = served.front().fired_ns;
    std::int64_t last = first;
    for (const ServedRequest& one : served) {
        first = std::min(first, one.fired_ns);
        last = std::max(last, one.fired_ns + one.e2e_ns);
    }
    const std::int64_t seconds = (last - first + second_ns - 1) / second_ns + 1;
    if (seconds > seconds_max) {
        return peaks;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(seconds));
    std::vector<std::int64_t> changes(static_cast<std::size_t>(seconds) + 1);
    const auto bin = [first](std::int64_t at_ns) {
        return static_cast<std::size_t>(std::max<std::int64_t>(at_ns - first, 0) / second_ns);
    };
    for (const ServedRequest& one : served) {
        for (const std::int64_t event : one.events_ns) {
            tokens[std::min(bin(event), tokens.size() - 1)] += 1;
        }
        changes[bin(one.fired_ns)] += 1;
        changes[bin(one.fired_ns + one.e2e_ns) + 1] -= 1;
    }
    std::int64_t open = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        open += changes[i];
        peaks.tokens_per_s = std::max(peaks.tokens_per_s, tokens[i]);
        peaks.concurrent = std::max(peaks.concurrent, open);
    }
    return peaks;
}

ServingSums serving_sums(const std::vector<ServedRequest>& served) {
    ServingSums sums;
    for (const ServedRequest& one : served) {
        sums.input += one.prompt_tokens;
        sums.output += one.output_tokens;
        sums.ttft.add(in_ms(one.ttft_ns));
        sums.e2e.add(in_ms(one.e2e_ns));
        if (one.output_tokens > 1) {
            sums.tpot.add(one.tpot_ms());
        }
        for (std::size_t i = 1; i < one.events_ns.size(); ++i) {
            sums.itl.add(in_ms(one.events_ns[i] - one.events_ns[i - 1]));
        }
    }
    return sums;
}

bool serves_goodput(const ViewLimits& limits, const ServedRequest& request) {
    return (!limits.ttft_ns || request.ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || request.tpot_ms() <= in_ms(*limits.tpot_ns)) &&
           (!limits.e2e_ns || request.e2e_ns <= *limits.e2e_ns);
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
        add_pair(screen, label + std::string(name) + " (ms):", statistic_of(values, statistic));
    }
}

// vLLM's `bench serve` on a chat API (vllm/benchmarks/serve.py, lib/endpoint_request_func.py).

namespace {

std::string screen_of(const ViewedRun& run, const VllmFigures& figures) {
    std::string screen = centred(" Serving Benchmark Result ", 50, '=') + "\n";
    add_pair(screen, "Successful requests:", std::to_string(figures.completed));
    add_pair(screen, "Failed requests:", std::to_string(figures.failed));
    if (run.max_concurrency) {
        add_pair(screen, "Maximum request concurrency:", std::to_string(*run.max_concurrency));
    }
    const ServingSums& sums = figures.sums;
    add_pair(screen, "Benchmark duration (s):", in_s(run.duration_ns));
    add_pair(screen, "Total input tokens:", std::to_string(sums.input));
    add_pair(screen, "Total generated tokens:", std::to_string(sums.output));
    add_pair(screen, "Request throughput (req/s):", figures.per_second(figures.completed));
    if (run.limits.set()) {
        add_pair(screen, "Request goodput (req/s):", figures.per_second(figures.good));
    }
    add_pair(screen, "Output token throughput (tok/s):", figures.per_second(sums.output));
    add_pair(screen,
             "Peak output token throughput (tok/s):", as_double(figures.peaks.tokens_per_s));
    add_pair(screen, "Peak concurrent requests:", as_double(figures.peaks.concurrent));
    add_pair(screen,
             "Total token throughput (tok/s):", figures.per_second(sums.input + sums.output));
    add_metric_block(screen, "Time to First Token", "TTFT", sums.ttft);
    add_metric_block(screen, "Time per Output Token (excl. 1st token)", "TPOT", sums.tpot);
    add_metric_block(screen, "Inter-token Latency", "ITL", sums.itl);
    add_metric_block(screen, "End-to-end Latency", "E2EL", sums.e2e);
    return screen + std::string(50, '=') + "\n";
}

std::string json_of(const ViewedRun& run, const VllmFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    put_text(json, "date", run.date);
    put_text(json, "endpoint_type", run.backend);
    put_text(json, "backend", run.backend);
    json.key("label").null();
    put_text(json, "model_id", run.model);
    put_text(json, "tokenizer_id", run.tokenizer.empty() ? run.model : run.tokenizer);
    put_integer(json, "num_prompts", figures.completed + figures.failed);
    put_text(json, "request_rate", "inf");
    put_number(json, "burstiness", 1);
    json.key("max_concurrency").optional(run.max_concurrency);
    put_number(json, "duration", in_s(run.duration_ns));
    put_integer(json, "completed", figures.completed);
    put_integer(json, "failed", figures.failed);
    const ServingSums& sums = figures.sums;
    put_integer(json, "total_input_tokens", sums.input);
    put_integer(json, "total_output_tokens", sums.output);
    put_number(json, "request_throughput", figures.per_second(figures.completed));
    json.key("request_goodput");
    run.limits.set() ? json.number(figures.per_second(figures.good)) : json.null();
    put_number(json, "output_throughput", figures.per_second(sums.output));
    put_number(json, "total_token_throughput", figures.per_second(sums.input + sums.output));
    put_number(json, "max_output_tokens_per_s", as_double(figures.peaks.tokens_per_s));
    put_integer(json, "max_concurrent_requests", figures.peaks.concurrent);
    put_number(json, "rtfx", 0);
    for (const auto& [ending, values] :
         {std::pair("_ttft_ms", &sums.ttft), std::pair("_tpot_ms", &sums.tpot),
          std::pair("_itl_ms", &sums.itl), std::pair("_e2el_ms", &sums.e2e)}) {
        put_statistics(json, *values, {"mean", "median", "std", "p50", "p90", "p95", "p99"},
                       ending);
    }
    json.end_object();
    return out + "\n";
}

VllmFigures vllm_figures(const ViewedRun& run) {
    VllmFigures figures;
    figures.duration_ns = run.duration_ns;
    std::vector<ServedRequest> served;
    for (const ViewedRequest& request : run.requests) {
        figures.prompt_all += request.prompt_recorded;
        const std::vector<std::int64_t> events = request.choice_events();
        if (!request.stream_read() || events.empty()) {
            ++figures.failed;
            continue;
        }
        ServedRequest& one = served.emplace_back();
        one.fired_ns = request.fired_ns;
        one.ttft_ns = events.front() - request.fired_ns;
        one.e2e_ns = events.back() - request.fired_ns;
        one.prompt_tokens = request.prompt_tokens();
        one.output_tokens = request.output_usage.value_or(tokens_or_usage(request, content_kinds));
        one.events_ns = events;
        figures.good += serves_goodput(run.limits, one) ? 1 : 0;
    }
    figures.completed = static_cast<std::int64_t>(served.size());
    figures.sums = serving_sums(served);
    figures.peaks = serving_peaks(served);
    return figures;
}

}  // namespace

ViewResult vllm_view(const ViewedRun& run) {
    const VllmFigures figures = vllm_figures(run);
    ViewResult result;
    result.screen = screen_of(run, figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(
        run, {true, true, false},
        {"TTFT ends at the first event, which on many servers is a role without a token; the "
         "finish event ends E2E and adds a gap near 0 to ITL",
         "an error object inside a stream is skipped: such a request counts as a success",
         "shown as with --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,95,99"});
    return result;
}

// llm-d's benchmark report 0.2.1, as it imports a result of vLLM's benchmark
// (llmdbenchmark/analysis/benchmark_report/native_to_br0_2.py).

namespace {

/// No `p25`: the tool writes it under another name, which its own reader drops.
void write_statistics(JsonWriter& json, const char* name, const char* units,
                      const ValueList& values) {
    json.key(name).begin_object();
    put_text(json, "units", units);
    put_statistics(
        json, values,
        {"mean", "stddev", "p0p1", "p1", "p5", "p10", "p50", "p75", "p90", "p95", "p99", "p99p9"});
    json.end_object();
}

void write_mean(JsonWriter& json, const char* name, const char* units, double mean) {
    json.key(name).begin_object();
    put_text(json, "units", units);
    put_number(json, "mean", mean);
    json.end_object();
}

}  // namespace

ViewResult llmd_view(const ViewedRun& run) {
    const VllmFigures figures = vllm_figures(run);
    const ServingSums& sums = figures.sums;
    const std::int64_t total = figures.completed + figures.failed;
    const double input_mean = ratio(as_double(sums.input), as_double(total));
    const double output_mean = ratio(as_double(sums.output), as_double(figures.completed));
    ViewResult result;
    JsonWriter json(result.json);
    json.begin_object();
    put_text(json, "version", "0.2.1");
    json.key("run").begin_object();
    put_text(json, "uid", run.run_id);
    json.key("time").begin_object();
    put_text(json, "duration", "PT" + fixed(in_s(run.duration_ns), 3) + "S");
    json.end_object().end_object();
    json.key("results").begin_object().key("request_performance").begin_object();
    json.key("aggregate").begin_object();
    json.key("requests").begin_object();
    put_integer(json, "total", total);
    put_integer(json, "failures", figures.failed);
    write_mean(json, "input_length", "count", input_mean);
    write_mean(json, "output_length", "count", output_mean);
    json.end_object();
    json.key("latency").begin_object();
    write_statistics(json, "time_to_first_token", "ms", sums.ttft);
    write_statistics(json, "time_per_output_token", "ms/token", sums.tpot);
    write_statistics(json, "inter_token_latency", "ms/token", sums.itl);
    write_statistics(json, "request_latency", "ms", sums.e2e);
    json.end_object();
    json.key("throughput").begin_object();
    write_mean(json, "output_token_rate", "tokens/s", figures.per_second(sums.output));
    write_mean(json, "total_token_rate", "tokens/s", figures.per_second(sums.input + sums.output));
    write_mean(json, "request_rate", "queries/s", figures.per_second(figures.completed));
    json.end_object();
    json.end_object().end_object().end_object();
    json.end_object();
    result.json += "\n";
    result.screen = result.json;  // the tool has no screen
    result.notes = notes_on(run, {true, true, false},
                            {"the report copies the figures of a harness, here vLLM's benchmark, "
                             "with its definitions"});
    if (figures.failed > 0) {
        result.notes.push_back(
            "wrong in the tool: the mean of input_length divides the prompts of successes by all "
            "requests; its figure is shown, " +
            fixed(ratio(as_double(sums.input), as_double(figures.completed)), 2) +
            " would be right");
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

void add_success(PerfFigures& figures, const ViewedRequest& request, const ViewLimits& limits) {
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

void write_list(JsonWriter& json, const char* name, const ValueList& values) {
    json.key(name);
    if (values.empty()) {
        json.null();
        return;
    }
    json.begin_object();
    put_statistics(json, values,
                   {"mean", "min", "max", "median", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90",
                    "p95", "p99", "p99.9"});
    json.end_object();
}

void write_goodput(JsonWriter& json, const ViewLimits& limits, const PerfFigures& figures) {
    const auto share = [&figures](std::int64_t count) {
        return 100 * ratio(as_double(count), as_double(figures.ok));
    };
    json.key("goodput_metrics").begin_object();
    put_number(json, "goodput_percentage", share(figures.good));
    put_number(json, "request_goodput", figures.per_second(figures.good));
    put_integer(json, "good_requests", figures.good);
    put_integer(json, "total_requests", figures.ok);
    if (limits.ttft_ns) {
        put_number(json, "ttft_attainment_percentage", share(figures.met_ttft));
    }
    if (limits.tpot_ns) {
        put_number(json, "tpot_attainment_percentage", share(figures.met_tpot));
    }
    json.end_object();
}

std::string json_of(const ViewedRun& run, const PerfFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    put_number(json, "benchmark_time_seconds", figures.duration_s);
    json.key("load_summary").begin_object();
    put_integer(json, "count", figures.sent);
    write_list(json, "schedule_delay", figures.delay);
    json.end_object();
    json.key("successes").begin_object();
    put_integer(json, "count", figures.ok);
    json.key("latency").begin_object();
    write_list(json, "request_latency", figures.latency);
    write_list(json, "normalized_time_per_output_token", figures.normalized);
    write_list(json, "time_per_output_token", figures.tpot);
    write_list(json, "time_to_first_token", figures.ttft);
    write_list(json, "inter_token_latency", figures.itl);
    json.end_object();
    json.key("throughput").begin_object();
    put_number(json, "input_tokens_per_sec", figures.per_second(figures.prompt));
    put_number(json, "output_tokens_per_sec", figures.per_second(figures.output));
    put_number(json, "total_tokens_per_sec", figures.per_second(figures.prompt + figures.output));
    put_number(json, "requests_per_sec", figures.per_second(figures.ok));
    json.end_object();
    write_list(json, "prompt_len", figures.prompt_len);
    write_list(json, "output_len", figures.output_len);
    if (run.limits.set()) {
        write_goodput(json, run.limits, figures);
    }
    json.end_object();
    json.key("failures").begin_object();
    put_integer(json, "count", figures.sent - figures.ok);
    write_list(json, "request_latency", figures.failed_latency);
    json.end_object();
    json.end_object();
    return out + "\n";
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
    ViewResult result;
    result.screen = screen_of(figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(
        run, {false, true, true},
        {"a TTFT needs two tokens: an answer of one token has none, and fails a TTFT limit",
         "all tokens of a chunk have its stamp, so that ITL has zeros; only delta.content counts"});
    return result;
}

}  // namespace driftless
