// SGLang's `bench_serving` on a chat API (sglang/benchmark/serving.py, goodput.py).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

static std::optional<Counted> sglang_counted(const ViewedRequest& request) {
    if (!request.stream_read()) {
        return std::nullopt;
    }
    std::vector<std::int64_t> events = request.stamps_of(said_kinds);
    if (events.empty()) {  // a success without text has a TTFT of 0
        events.push_back(request.fired_ns);
    }
    return counted_of(request, std::move(events), request.last_line_ns(), request.prompt_recorded,
                      request.output_usage.value_or(request.output_recorded));
}

/// Of an answer that came at once the tool has all of it as that of the first token.
static Known sglang_ttft_ms(const Counted& one) {
    return one.first_ns ? first_token<ns_per_ms>(one) : whole_answer<ns_per_ms>(one);
}

static double share_of(const Tally& t, std::int64_t count) {
    return ratio(as_double(count), as_double(t.sent()));
}

static ToolKeys sglang_goodput(const GoodputLimits& limits, const Tally& t) {
    constexpr struct {
        const char* key;
        const char* label;
        OptionalNs GoodputLimits::* limit_ns;
    } all[] = {{"ttft", "TTFT", &GoodputLimits::ttft_ns},
               {"tpot", "TPOT", &GoodputLimits::tpot_ns},
               {"e2el", "E2EL", &GoodputLimits::e2e_ns}};
    std::string words;
    ToolKeys keys = {{"", nullptr, "Goodput", "", 2}, {"goodput_slos_ms/", nullptr}};
    ToolKeys by_metric = {{"slo_attainment_by_metric/", nullptr}};
    for (const auto& [key, label, limit_ns] : all) {
        GoodputLimits alone;
        alone.*limit_ns = limits.*limit_ns;
        if (!alone.set()) {
            continue;
        }
        const double limit_ms = in_ms(*(alone.*limit_ns));
        const double share = share_of(t, count_good(t, alone));
        words += (words.empty() ? "" : " ") + std::string(key) + ":" + fixed(limit_ms, 0);
        keys.push_back({std::string("goodput_slos_ms/") + key, limit_ms});
        by_metric.push_back({std::string("slo_attainment_by_metric/") + key, share});
        by_metric.push_back({"", share * 100, std::string(label) + " SLO attainment (%):", "", 2});
    }
    const std::int64_t good = count_good(t, limits);
    append(keys, {{"", words, "SLOs (ms):", "", 2},
                  {"request_goodput", t.per_second(good), "Request goodput (req/s):", "", 2},
                  {"slo_attainment", share_of(t, good)},
                  {"", share_of(t, good) * 100, "SLO attainment (%):", "", 2}});
    append(keys, std::move(by_metric));
    return keys;
}

static ToolKeys sglang_keys(const ViewedRun& run, const Tally& t) {
    const ServingPeaks peaks = peaks_of(t);
    std::int64_t retokenized = 0;
    double e2e_sum_s = 0;
    double gap_max_ms = 0;
    for (const Counted& one : t.ok) {
        for (std::size_t i = 1; i < one.events_ns.size(); ++i) {
            gap_max_ms = std::max(gap_max_ms, in_ms(one.events_ns[i] - one.events_ns[i - 1]));
        }
        retokenized += tokens_or_usage(*one.seen, said_kinds);
        e2e_sum_s += in_s(one.last_ns);
    }
    const std::string open_max =
        run.max_concurrency ? std::to_string(*run.max_concurrency) : "not set";
    ToolKeys keys = {
        {"backend", run.backend, "Backend:", "", -1},
        {"", "trace", "Traffic request rate:", "", -1},
        {"", open_max, "Max request concurrency:", "", -1},
        {"duration", t.seconds, "Benchmark duration (s):"},
        {"completed", t.count(), "Successful requests:", "", -1},
        {"total_input_tokens", t.input, "Total input tokens:"},
        {"total_input_text_tokens", t.input, "Total input text tokens:"},
        {"total_input_vision_tokens", 0},
        {"total_output_tokens", t.output, "Total generated tokens:"},
        {"total_output_tokens_retokenized", retokenized, "Total generated tokens (retokenized):"},
        {"request_throughput", t.per_second(t.count()), "Request throughput (req/s):"},
        {"input_throughput", t.per_second(t.input), "Input token throughput (tok/s):"},
        {"output_throughput", t.per_second(t.output), "Output token throughput (tok/s):"},
        {"total_throughput", t.per_second(t.tokens()), "Total token throughput (tok/s):", "", 1},
        {"*_e2e_latency_ms", whole_answer<ns_per_ms>, "End-to-End Latency", "E2E Latency", 3},
        {"*_ttft_ms", sglang_ttft_ms, "Time to First Token", "TTFT", 3},
        {"*_tpot_ms", tpot_ms, "Time per Output Token (excl. 1st token)", "TPOT", 3},
        {"*_itl_ms", Gaps(), "Inter-Token Latency", "ITL", 3},
        {"", computed_if(t.has_chunks, gap_max_ms), "Max ITL (ms):", "", 4},
        {"concurrency", ratio(e2e_sum_s, t.seconds), "Concurrency:", "", 1},
        {"accept_length", nullptr},
        {"max_output_tokens_per_s", computed_if(t.has_chunks, as_double(peaks.tokens_per_s)),
         "Peak output token throughput (tok/s):"},
        {"max_concurrent_requests", peaks.concurrent, "Peak concurrent requests:"},
    };
    const GoodputLimits limits = run.judged();
    append(keys, limits.set() ? sglang_goodput(limits, t) : ToolKeys());
    return measured(std::move(keys), t);
}

ViewResult sglang_view(const ViewedRun& run) {
    const ToolKeys keys = sglang_keys(run, tally_of(run, sglang_counted));
    ViewResult result{
        "\n" + serving_screen(keys), file_of(keys, {"mean median std p90 p95 p99"}),
        notes_on(run, {true, true, true},
                 {"E2E and TPOT end at the last line of the stream, usage and [DONE] included",
                  "the output of a success without usage counts with its requested length, not "
                  "its real one",
                  "not computable: Accept length, which the tool asks the server for, and "
                  "requests that the tool would fail because of a comment line in their "
                  "stream"})};
    if (run.any(ViewedStamps::whole)) {
        result.notes.emplace_back(
            "TTFT is E2E, as the tool has it without streams; its TPOT and ITL of 0 are not shown");
    }
    return result;
}

// genai-bench (genai_bench/user/openai_user.py, metrics).

static std::optional<Counted> bench_counted(const ViewedRequest& request) {
    std::vector<std::int64_t> stamps = request.stamps_of(said_kinds);
    if (!request.stream_read() || request.error_ns || request.outcome == Outcome::stream_error ||
        stamps.empty()) {
        return std::nullopt;
    }
    return counted_of(request, std::move(stamps), request.usage_ns.value_or(request.last_line_ns()),
                      request.prompt_tokens(),
                      request.output_usage.value_or(tokens_or_usage(request, said_kinds)));
}

static double bench_output_s(const Counted& one) {
    return in_s(one.last_ns) - in_s(one.first_ns.value_or(0));
}

static Known bench_tpot_s(const Counted& one) {
    return known_if(one.first_ns && one.output > 1 && bench_output_s(one) >= 0.001,
                    bench_output_s(one) / as_double(one.output - 1));
}

static ToolKeys bench_keys(const ViewedRun& run, const Tally& t) {
    const std::string all = "aggregated_metrics/";
    ToolKeys keys = {
        {all + "run_duration", t.seconds},
        {all + "mean_output_throughput_tokens_per_s", t.per_second(t.output)},
        {all + "mean_input_throughput_tokens_per_s", t.per_second(t.input)},
        {all + "mean_total_tokens_throughput_tokens_per_s", t.per_second(t.tokens())},
        {all + "requests_per_second", t.per_second(t.count())},
        {all + "error_codes_frequency/", nullptr},
    };
    std::map<std::string, std::int64_t> codes;
    for (const ViewedRequest& request : run.requests) {
        if (!bench_counted(request)) {
            const int code = request.status == 200 || request.status == 0 ? 500 : request.status;
            ++codes[std::to_string(code)];
        }
    }
    for (const auto& [code, count] : codes) {
        keys.push_back({all + "error_codes_frequency/" + code, count});
    }
    append(keys, {{all + "error_rate", 0},
                  {all + "num_error_requests", t.failed},
                  {all + "num_completed_requests", t.count()},
                  {all + "num_requests", t.sent()}});
    const auto add = [&](const std::string& name, RequestFigure figure) {
        keys.push_back({all + "stats/" + name + "/*", figure, name});
    };
    add("ttft", first_token<ns_per_s>);
    add("tpot", bench_tpot_s);
    add("e2e_latency", whole_answer<ns_per_s>);
    add("output_latency",
        [](const Counted& one) { return known_if(one.first_ns.has_value(), bench_output_s(one)); });
    add("output_inference_speed", [](const Counted& one) {
        const Known tpot = bench_tpot_s(one);
        return known_if(tpot.has_value(), ratio(1, tpot.value_or(0)));
    });
    add("num_input_tokens", prompt_tokens);
    add("num_output_tokens", output_tokens);
    add("total_tokens", all_tokens);
    add("input_throughput", prefill_rate);
    add("output_throughput", [](const Counted& one) {
        return known_if(bench_tpot_s(one).has_value(),
                        as_double(one.output - 1) / bench_output_s(one));
    });
    keys.push_back({"_time_unit", "s"});
    return measured(std::move(keys), t);
}

ViewResult genai_bench_view(const ViewedRun& run) {
    const Tally t = tally_of(run, bench_counted);
    const ToolKeys keys = bench_keys(run, t);
    ViewResult result{
        table_of({"stats (s, tokens/s)", "mean", "stddev", "min", "max", "p50", "p90", "p99"}, keys,
                 [](const ToolKey& row, std::string_view name) {
                     return fixed(row.statistic(name), 4);
                 }) +
            fmt::format("requests_per_second {:.4f}, completed {}, errors {}, error_rate 0\n",
                        t.per_second(t.count()), t.count(), t.failed),
        file_of(keys, {"min max mean stddev sum p25 p50 p75 p90 p95 p99"}),
        notes_on(run, {true, false, false}, {"E2E and TPOT end at the final usage event"})};
    result.notes.push_back(fmt::format(
        "wrong in the tool: error_rate is always 0; {} of {} requests failed", t.failed, t.sent()));
    return result;
}

}  // namespace driftless
