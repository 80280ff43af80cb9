/// vLLM's `bench serve`, and llm-d's benchmark report, which is made of vLLM's result.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

// vLLM's `bench serve` on a chat API (vllm/benchmarks/serve.py, lib/endpoint_request_func.py).

static std::optional<Counted> vllm_counted(const ViewedRequest& request) {
    std::vector<std::int64_t> events = request.choice_events();
    if (!request.stream_read() || events.empty()) {
        return std::nullopt;
    }
    const std::int64_t end = events.back();
    return counted_of(request, std::move(events), end, request.prompt_tokens(),
                      request.output_usage.value_or(tokens_or_usage(request, content_kinds)));
}

ViewResult vllm_view(const ViewedRun& run) {
    const Tally t = tally_of(run, vllm_counted);
    const ServingPeaks peaks = peaks_of(t);
    const auto open_max = static_cast<std::int64_t>(run.max_concurrency.value_or(0));
    const GoodputLimits limits = run.judged();
    const KeyValue good = known_value(limits.set(), t.per_second(count_good(t, limits)));
    const ToolKeys keys = measured(
        {
            {"date", run.date},
            {"endpoint_type", run.backend},
            {"backend", run.backend},
            {"label", nullptr},
            {"model_id", run.model},
            {"tokenizer_id", run.tokenizer.empty() ? run.model : run.tokenizer},
            {"num_prompts", t.sent()},
            {"request_rate", "inf"},
            {"burstiness", 1},
            {"max_concurrency", known_value(run.max_concurrency.has_value(), open_max),
             "Maximum request concurrency:"},
            {"duration", t.seconds, "Benchmark duration (s):"},
            {"completed", t.count(), "Successful requests:", "", -1},
            {"failed", t.failed, "Failed requests:", "", -1},
            {"total_input_tokens", t.input, "Total input tokens:"},
            {"total_output_tokens", t.output, "Total generated tokens:"},
            {"request_throughput", t.per_second(t.count()), "Request throughput (req/s):"},
            {"request_goodput", good, "Request goodput (req/s):"},
            {"output_throughput", t.per_second(t.output), "Output token throughput (tok/s):"},
            {"total_token_throughput", t.per_second(t.tokens()),
             "Total token throughput (tok/s):", "", 1},
            {"max_output_tokens_per_s", computed_if(t.has_chunks, as_double(peaks.tokens_per_s)),
             "Peak output token throughput (tok/s):"},
            {"max_concurrent_requests", peaks.concurrent},
            {"", as_double(peaks.concurrent), "Peak concurrent requests:"},
            {"rtfx", 0},
            {"*_ttft_ms", first_token<ns_per_ms>, "Time to First Token", "TTFT", 2},
            {"*_tpot_ms", tpot_ms, "Time per Output Token (excl. 1st token)", "TPOT", 2},
            {"*_itl_ms", Gaps(), "Inter-token Latency", "ITL", 2},
            {"*_e2el_ms", whole_answer<ns_per_ms>, "End-to-end Latency", "E2EL", 2},
        },
        t);
    return {
        serving_screen(keys), file_of(keys, {"mean median std p50 p90 p95 p99"}),
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

ViewResult llmd_view(const ViewedRun& run) {
    const Tally t = tally_of(run, vllm_counted);
    const std::string requests = "results/request_performance/aggregate/requests/";
    const std::string latency = "results/request_performance/aggregate/latency/";
    const std::string rates = "results/request_performance/aggregate/throughput/";
    const double ok = as_double(t.count());
    const ToolKeys keys = measured(
        {
            {"version", "0.2.1"},
            {"run/uid", run.run_id},
            {"run/time/duration", "PT" + fixed(t.seconds, 3) + "S"},
            {requests + "total", t.sent()},
            {requests + "failures", t.failed},
            {requests + "input_length/mean", ratio(as_double(t.input), as_double(t.sent())), "",
             "count"},
            {requests + "output_length/mean", ratio(as_double(t.output), ok), "", "count"},
            {latency + "time_to_first_token/*", first_token<ns_per_ms>, "", "ms"},
            {latency + "time_per_output_token/*", tpot_ms, "", "ms/token"},
            {latency + "inter_token_latency/*", Gaps(), "", "ms/token"},
            {latency + "request_latency/*", whole_answer<ns_per_ms>, "", "ms"},
            {rates + "output_token_rate/mean", t.per_second(t.output), "", "tokens/s"},
            {rates + "total_token_rate/mean", t.per_second(t.tokens()), "", "tokens/s"},
            {rates + "request_rate/mean", t.per_second(t.count()), "", "queries/s"},
        },
        t);
    // No `p25`: the tool writes it under another name, which its own reader drops.
    ViewResult result;
    result.json =
        file_of(keys, {.statistics = "mean stddev p0p1 p1 p5 p10 p50 p75 p90 p95 p99 p99p9",
                       .unit_key = "units"});
    result.screen = result.json;  // the tool has no screen
    result.notes = notes_on(run, {true, true, false},
                            {"the report copies the figures of a harness, here vLLM's benchmark, "
                             "with its definitions"});
    if (t.failed > 0) {
        result.notes.push_back(
            "wrong in the tool: the mean of input_length divides the prompts of successes by all "
            "requests; its figure is shown, " +
            fixed(ratio(as_double(t.input), as_double(t.count())), 2) + " would be right");
    }
    result.notes.emplace_back(
        "wrong in the tool: p25 gets lost when it imports vLLM's result; it is also left out here");
    return result;
}

// inference-perf (inference_perf/apis/streaming_parser.py, reportgen/base.py).

static std::optional<Counted> perf_counted(const ViewedRequest& request) {
    if (!request.stream_read()) {
        return std::nullopt;
    }
    const std::int64_t tokens = tokens_or_usage(request, content_kinds);
    std::vector<std::int64_t> events;  // each token has the stamp of its chunk: most gaps are 0
    for (const ViewedChunk& chunk : request.chunks) {
        if (content_kinds.find(chunk.kind) != content_kinds.npos) {
            events.insert(events.end(), static_cast<std::size_t>(std::max(chunk.tokens, 1)),
                          chunk.at_ns);
        }
    }
    Counted one =
        counted_of(request, std::move(events), request.ended_ns, request.prompt_recorded, tokens);
    if (tokens < 2) {  // a first token needs two stamps
        one.first_ns.reset();
    }
    return one;
}

static Known perf_tpot_s(const Counted& one) {
    return known_if(one.first_ns.has_value(),
                    in_s(one.events_length_ns()) / as_double(one.output - 1));
}

static Known perf_normalized_s(const Counted& one) {
    return known_if(one.output > 0, in_s(one.last_ns) / as_double(one.output));
}

static ToolKeys perf_goodput(const GoodputLimits& limits, const Tally& t) {
    const auto good = [&t](const GoodputLimits& within) {
        return count_good(t, within, perf_tpot_s, ns_per_s);
    };
    const auto share = [&t](std::int64_t count) {
        return 100 * ratio(as_double(count), as_double(t.count()));
    };
    const std::int64_t all_met = good(limits);
    ToolKeys keys = {
        {"successes/goodput_metrics/goodput_percentage", share(all_met)},
        {"successes/goodput_metrics/request_goodput", t.per_second(all_met)},
        {"successes/goodput_metrics/good_requests", all_met},
        {"successes/goodput_metrics/total_requests", t.count()},
    };
    if (limits.ttft_ns) {
        keys.push_back({"successes/goodput_metrics/ttft_attainment_percentage",
                        share(good({limits.ttft_ns, {}, {}}))});
    }
    if (limits.tpot_ns) {
        keys.push_back({"successes/goodput_metrics/tpot_attainment_percentage",
                        share(good({{}, limits.tpot_ns, {}}))});
    }
    return keys;
}

static ToolKeys perf_keys(const ViewedRun& run, Tally& t) {
    ValueList delays;
    ValueList failed;
    ViewSpan span;
    for (const ViewedRequest& request : run.requests) {
        span.add(request.fired_ns, request.ended_ns);
        delays.add(in_s(request.fired_ns - request.due_ns));
        if (!request.stream_read()) {
            failed.add(in_s(request.ended_ns - request.fired_ns));
        }
    }
    t.seconds = in_s(span.length_ns());
    const std::string latency = "successes/latency/";
    const std::string rates = "successes/throughput/";
    ToolKeys keys = {
        {"benchmark_time_seconds", t.seconds},
        {"load_summary/count", t.sent()},
        {"load_summary/schedule_delay/*", delays},
        {"successes/count", t.count()},
        {latency + "request_latency/*", whole_answer<ns_per_s>, "Req Lat"},
        {latency + "normalized_time_per_output_token/*", perf_normalized_s, "Norm TPOT", "", 2},
        {latency + "time_per_output_token/*", perf_tpot_s, "TPOT", "", 1},
        {latency + "time_to_first_token/*", first_token<ns_per_s>, "TTFT"},
        {latency + "inter_token_latency/*", Gaps{ns_per_s}, "ITL"},
        {rates + "input_tokens_per_sec", t.per_second(t.input)},
        {rates + "output_tokens_per_sec", t.per_second(t.output)},
        {rates + "total_tokens_per_sec", t.per_second(t.tokens())},
        {rates + "requests_per_sec", t.per_second(t.count())},
        {"successes/prompt_len/*", prompt_tokens},
        {"successes/output_len/*", output_tokens},
    };
    const GoodputLimits limits = run.judged();
    append(keys, limits.set() ? perf_goodput(limits, t) : ToolKeys());
    append(keys, {{"failures/count", t.failed}, {"failures/request_latency/*", failed}});
    return measured(std::move(keys), t);
}

static std::string perf_cell(const ToolKey& row, std::string_view column) {
    const char* const name = column == "Mean" ? "mean" : column == "Med" ? "median" : "p90";
    return row.values().empty() ? "-" : fixed(1000 * row.statistic(name), 2);
}

ViewResult inference_perf_view(const ViewedRun& run) {
    Tally t = tally_of(run, perf_counted);
    const ToolKeys keys = perf_keys(run, t);
    return {fmt::format("Throughput  {:.3f} req/s, {:.2f} output tok/s, {} of {} ok\n",
                        t.per_second(t.count()), t.per_second(t.output), t.count(), t.sent()) +
                table_of({"Request & Token Latency (ms)", "Mean", "Med", "P90"}, keys, perf_cell),
            file_of(keys, {"mean min max median p0.1 p1 p5 p10 p25 p75 p90 p95 p99 p99.9",
                           FileStyle::Empty::null}),
            notes_on(
                run, {false, true, true},
                {"a TTFT needs two tokens: an answer of one token has none, and fails a TTFT limit",
                 "all tokens of a chunk have its stamp, so that ITL has zeros; only delta.content "
                 "counts"})};
}

}  // namespace driftless
