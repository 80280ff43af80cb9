// AIPerf (aiperf/metrics/types, metric_dicts.py, derived_latency.py).

#include <algorithm>
#include <cmath>
#include <utility>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

static std::optional<Counted> counted_by(const ViewedRequest& request, std::string_view kinds) {
    std::vector<std::int64_t> stamps = request.stamps_of(kinds);
    if (stamps.empty()) {
        return std::nullopt;
    }
    const std::int64_t end = stamps.back();
    return counted_of(
        request, std::move(stamps), end,
        request.prompt_recorded > 0 ? request.prompt_recorded : request.prompt_tokens(),
        tokens_or_usage(request, kinds));
}

std::optional<Counted> aiperf_counted(const ViewedRequest& request) {
    return request.stream_read() ? counted_by(request, all_text_kinds) : std::nullopt;
}

Known first_spoken_ms(const Counted& one) {
    const std::vector<std::int64_t> spoken = one.seen->stamps_of(spoken_kinds);
    return spoken.empty() || !one.first_ns ? std::nullopt
                                           : Known(in_ms(spoken.front() - one.begin_ns));
}

static Known second_gap_ms(const Counted& one) {
    return one.has_chunks() && one.events_ns.size() > 1
               ? Known(in_ms(one.events_ns[1] - one.events_ns[0]))
               : std::nullopt;
}

static Known user_rate(const Counted& one) {
    const double itl = itl_ns(one).value_or(0);
    return known_if(itl > 0, ns_per_s / itl);
}

static Known reasoning_tokens(const Counted& one) {
    if (!one.has_chunks()) {
        return std::nullopt;
    }
    return one.seen->stamps_of(spoken_kinds).size() == one.events_ns.size()
               ? 0
               : as_double(one.output - one.seen->tokens_of(spoken_kinds).value_or(one.output));
}

static Known spoken_tokens(const Counted& one) {
    const Known reasoning = reasoning_tokens(one);
    return reasoning ? Known(as_double(one.output) - *reasoning) : std::nullopt;
}

/// From the fire to the response head.
static Known head_ms(const Counted& one) {
    return known_if(one.seen->headers_ns.has_value(),
                    in_ms(one.seen->headers_ns.value_or(0) - one.begin_ns));
}

static Known prefill_ms(const Counted& one) {
    const std::int64_t first = one.begin_ns + one.first_ns.value_or(0);
    return known_if(one.seen->headers_ns.has_value(),
                    in_ms(first - one.seen->headers_ns.value_or(0)));
}

static ToolKeys aiperf_metrics() {
    const char* const rate = "tokens/sec/user";
    return {
        {"time_to_first_token/*", first_token<ns_per_ms>, "Time to First Token (ms)", "ms"},
        {"time_to_second_token/*", second_gap_ms, "Time to Second Token (ms)", "ms"},
        {"time_to_first_output_token/*", first_spoken_ms, "Time to First Output Token (ms)", "ms"},
        {"request_latency/*", whole_answer<ns_per_ms>, "Request Latency (ms)", "ms"},
        {"decode_duration/*", decode_time<ns_per_ms>, "Decode Duration (ms)", "ms"},
        {"inter_token_latency/*", divided<itl_ns, ns_per_ms>, "Inter Token Latency (ms)", "ms"},
        {"output_token_throughput_per_user/*", user_rate,
         "Output Token Throughput Per User (tokens/sec/user)", rate},
        {"e2e_output_token_throughput/*",
         [](const Counted& one) -> Known {
             return ratio(as_double(one.output), in_s(one.last_ns));
         },
         "E2E Output Token Throughput (tokens/sec/user)", rate},
        {"output_sequence_length/*", output_tokens, "Output Sequence Length (tokens)", "tokens"},
        {"input_sequence_length/*", prompt_tokens, "Input Sequence Length (tokens)", "tokens"},
        {"inter_chunk_latency/*", Gaps(), "", "ms"},
        {"output_token_count/*", spoken_tokens, "", "tokens"},
        {"reasoning_token_count/*", positive<reasoning_tokens>, "", "tokens"},
        {"prefill_throughput_per_user/*", prefill_rate, "", rate},
        {"stream_setup_latency/*", if_streamed<head_ms>, "", "ms"},
        {"stream_prefill_latency/*", if_streamed<prefill_ms>, "", "ms"},
    };
}

/// With each failure as an infinite value, which is null in JSON.
static ToolKeys adjusted(const ToolKey& metric, std::size_t failed) {
    if (failed == 0 || !metric.computable()) {
        return {};
    }
    const ValueList& values = metric.values();
    const std::string prefix = "adj_" + metric.key.substr(0, metric.key.find('*'));
    ToolKeys keys = {{prefix + "avg", nullptr, "", metric.unit},
                     {prefix + "min", values.min()},
                     {prefix + "max", nullptr}};
    for (const std::uint32_t one : {10U, 50U, 100U, 250U, 500U, 750U, 900U, 950U, 990U}) {
        const std::optional<double> value = values.nearest_even(one, failed);
        keys.push_back({prefix + "p" + std::to_string(one / 10),
                        known_value(value.has_value(), value.value_or(0))});
    }
    keys.push_back({prefix + "count", static_cast<std::int64_t>(values.count() + failed)});
    return keys;
}

static ToolKeys aiperf_totals(const GoodputLimits& limits, const Tally& t) {
    const char* const tokens = "tokens/sec";
    const char* const requests = "requests/sec";
    const double sent = as_double(t.sent());
    ToolKeys keys = {
        {"output_token_throughput/avg", t.per_second(t.output),
         "Output Token Throughput (tokens/sec)", tokens},
        {"input_token_throughput/avg", t.per_second(t.input), "Input Token Throughput (tokens/sec)",
         tokens},
        {"total_token_throughput/avg", t.per_second(t.tokens()), "", tokens},
        {"request_throughput/avg", t.per_second(t.count()), "Request Throughput (requests/sec)",
         requests},
    };
    if (limits.set()) {
        const std::int64_t good = count_good(t, limits, itl_ns, 1);
        append(keys, {{"goodput/avg", t.per_second(good), "Goodput (requests/sec)", requests},
                      {"good_request_fraction/avg", ratio(as_double(good), sent), "", "ratio"}});
    }
    append(keys,
           {{"request_error_rate/avg", 100 * ratio(as_double(t.failed), sent),
             "Request Error Rate (%)", "%"},
            {"request_count/avg", as_double(t.count()), "Request Count (requests)", "requests"},
            {"error_request_count/avg", as_double(t.failed), "", "requests"},
            {"benchmark_duration/avg", t.seconds, "", "sec"}});
    return keys;
}

static ToolKeys aiperf_keys(const ViewedRun& run) {
    Tally t = tally_of(run, aiperf_counted);
    t.seconds = in_s(t.span.length_ns());
    const ToolKeys metrics = measured(aiperf_metrics(), t);
    ToolKeys keys = {
        {"schema_version", "1.4"}, {"aiperf_version", "0.13.0"}, {"benchmark_id", run.run_id}};
    append(keys, metrics);
    for (const std::size_t one : {0U, 3U, 5U, 4U}) {  // TTFT, latency, ITL, decode duration
        append(keys, adjusted(metrics[one], static_cast<std::size_t>(t.failed)));
    }
    append(keys, aiperf_totals(run.judged(), t));
    return keys;
}

static constexpr const char* missing = "N/A";

static std::string comma_cell(const ToolKey& row, std::string_view name) {
    return row.values().empty() ? missing : with_commas(row.statistic(name), 2);
}

ViewResult aiperf_view(const ViewedRun& run) {
    const ToolKeys keys = aiperf_keys(run);
    return {
        "NVIDIA AIPerf | LLM Metrics\n" +
            table_of({"Metric", "avg", "min", "max", "p99", "p90", "p50", "std"}, keys, comma_cell,
                     missing),
        file_of(keys, {"avg min max p1 p5 p10 p25 p50 p75 p90 p95 p99 std count sum",
                       FileStyle::Empty::left_out, "unit"}),
        notes_on(
            run, {false, true, true},
            {"the tool stamps a network read once, however many events it holds; here each has its "
             "own",
             "Time to Second Token is the gap after the first, not a time from the start",
             "Goodput: a request that lacks a metric, such as the ITL of one token, is bad",
             "not computable: effective_latency and credit_to_start_latency, because there are no "
             "credits"})};
}

// GenAI-Perf (genai_perf/profile_data_parser, metrics/statistics.py).

static std::optional<Counted> genai_counted(const ViewedRequest& request) {
    return counted_by(request, content_kinds);
}

static Known genai_itl_ns(const Counted& one) {
    const Known itl = one.events_ns.size() > 1 ? itl_ns(one) : std::nullopt;
    return itl ? Known(std::round(*itl)) : std::nullopt;
}

/// The lists are zipped although they are not of one length: a request without ITL shifts all
/// later pairs.
static std::int64_t genai_good(const GoodputLimits& limits, const std::vector<Counted>& ok) {
    std::vector<double> itls_ms;
    for (const Counted& one : ok) {
        if (const Known itl = genai_itl_ns(one)) {
            itls_ms.push_back(*itl / ns_per_ms);
        }
    }
    const std::size_t pairs = limits.tpot_ns ? itls_ms.size() : ok.size();
    std::int64_t good = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        const bool ttft = !limits.ttft_ns || *ok[i].first_ns <= *limits.ttft_ns;
        const bool itl = !limits.tpot_ns || itls_ms[i] <= in_ms(*limits.tpot_ns);
        const bool e2e = !limits.e2e_ns || ok[i].last_ns <= *limits.e2e_ns;
        good += ttft && itl && e2e ? 1 : 0;
    }
    return good;
}

static ToolKeys genai_keys(const ViewedRun& run) {
    Tally t = tally_of(run, genai_counted);
    t.seconds = in_s(t.span.length_ns());
    const char* const per_second = "requests/sec";
    ToolKeys keys = {{"request_throughput/avg", t.per_second(t.sent()),
                      "Request Throughput (per sec)", per_second, 2}};
    if (const GoodputLimits limits = run.judged(); limits.set()) {
        keys.push_back({"request_goodput/avg", t.per_second(genai_good(limits, t.ok)),
                        "Request Goodput (per sec)", per_second, 2});
    }
    append(
        keys,
        {{"request_count/avg", as_double(t.count()), "Request Count (count)", "count", 2},
         {"output_token_throughput/avg", t.per_second(t.output),
          "Output Token Throughput (tokens/sec)", "tokens/sec", 1},
         {"time_to_first_token/*", first_token<ns_per_ms>, "Time To First Token (ms)", "ms"},
         {"time_to_second_token/*", second_gap_ms, "Time To Second Token (ms)", "ms"},
         {"request_latency/*", whole_answer<ns_per_ms>, "Request Latency (ms)", "ms"},
         {"inter_token_latency/*", divided<genai_itl_ns, ns_per_ms>, "Inter Token Latency (ms)",
          "ms"},
         {"output_token_throughput_per_user/*",
          [](const Counted& one) {
              const Known itl = genai_itl_ns(one);
              return known_if(itl.has_value(), ratio(ns_per_s, itl.value_or(0)));
          },
          "Output Token Throughput Per User (tokens/sec/user)", "tokens/sec/user"},
         {"output_sequence_length/*", output_tokens, "Output Sequence Length (tokens)", "tokens"},
         {"input_sequence_length/*", prompt_tokens, "Input Sequence Length (tokens)", "tokens"}});
    return measured(std::move(keys), t);
}

ViewResult genai_perf_view(const ViewedRun& run) {
    const ToolKeys keys = genai_keys(run);
    ViewResult result;
    result.screen = "NVIDIA GenAI-Perf | LLM Metrics\n" +
                    table_of({"Statistic", "avg", "min", "max", "p99", "p90", "p75"}, keys,
                             comma_cell, missing);
    result.json = file_of(keys, {"avg p1 p5 p10 p25 p50 p75 p90 p95 p99 min max std",
                                 FileStyle::Empty::left_out, "unit"});
    result.notes = notes_on(
        run, {false, true, true},
        {"only delta.content ends TTFT: hidden reasoning counts as prefill, and its tokens do not "
         "count",
         "Request Throughput counts every row, even those without content, which no other figure "
         "counts"});
    if (run.limits.set()) {
        result.notes.emplace_back(
            "wrong in the tool: goodput pairs lists of different lengths, so one request without "
            "ITL shifts all later pairs; its figure is shown");
    }
    result.notes.emplace_back(
        "wrong in the tool: it cannot read a stream with a usage event; driftless reads it anyway");
    return result;
}

}  // namespace driftless
