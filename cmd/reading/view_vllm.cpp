#include <algorithm>

#include "cmd/reading/view_parts.hpp"
#include "proto/core/check.hpp"

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
    for (ValueList* list : {&sums.ttft, &sums.tpot, &sums.itl, &sums.e2e}) {
        list->close();
    }
    return sums;
}

bool serves_goodput(const ViewLimits& limits, const ServedRequest& request) {
    return (!limits.ttft_ns || request.ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || request.tpot_ms() <= in_ms(*limits.tpot_ns)) &&
           (!limits.e2e_ns || request.e2e_ns <= *limits.e2e_ns);
}

std::string percentile_word(std::uint32_t per_mille) {
    std::string word = std::to_string(per_mille / 10);
    return per_mille % 10 == 0 ? word : word + "." + std::to_string(per_mille % 10);
}

void add_metric_block(std::string& screen, std::string_view title, std::string_view name,
                      const ValueList& values, std::initializer_list<std::uint32_t> per_mille) {
    const std::string unit = std::string(name) + " (ms):";
    screen += centred(title, 50, '-') + "\n";
    add_pair(screen, "Mean " + unit, values.mean());
    add_pair(screen, "Median " + unit, values.linear(500));
    for (const std::uint32_t one : per_mille) {
        add_pair(screen, "P" + percentile_word(one) + " " + unit, values.linear(one));
    }
}

// vLLM's `bench serve` on a chat API (vllm/benchmarks/serve.py, lib/endpoint_request_func.py).

namespace {

constexpr std::initializer_list<std::uint32_t> shown = {900, 950, 990};

void write_metric(JsonWriter& json, const std::string& name, const ValueList& values) {
    put_number(json, "mean_" + name + "_ms", values.mean());
    put_number(json, "median_" + name + "_ms", values.linear(500));
    put_number(json, "std_" + name + "_ms", values.std());
    for (const std::uint32_t one : {500U, 900U, 950U, 990U}) {
        put_number(json, "p" + percentile_word(one) + "_" + name + "_ms", values.linear(one));
    }
}

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
    add_metric_block(screen, "Time to First Token", "TTFT", sums.ttft, shown);
    add_metric_block(screen, "Time per Output Token (excl. 1st token)", "TPOT", sums.tpot, shown);
    add_metric_block(screen, "Inter-token Latency", "ITL", sums.itl, shown);
    add_metric_block(screen, "End-to-end Latency", "E2EL", sums.e2e, shown);
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
    json.key("max_concurrency");
    run.max_concurrency ? json.unsigned_integer(*run.max_concurrency) : json.null();
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
    write_metric(json, "ttft", sums.ttft);
    write_metric(json, "tpot", sums.tpot);
    write_metric(json, "itl", sums.itl);
    write_metric(json, "e2el", sums.e2e);
    json.end_object();
    return out + "\n";
}

}  // namespace

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

ViewResult vllm_view(const ViewedRun& run) {
    const VllmFigures figures = vllm_figures(run);
    ViewResult result;
    result.screen = screen_of(run, figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(run, {true, true, false});
    result.notes.emplace_back(
        "TTFT ends at the first event, which on many servers is a role without a token; the finish "
        "event ends E2E and adds a gap near 0 to ITL");
    result.notes.emplace_back(
        "an error object inside a stream is skipped: such a request counts as a success");
    result.notes.emplace_back(
        "shown as with --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,95,99");
    return result;
}

}  // namespace driftless
