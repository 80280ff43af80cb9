// InferenceX's aggregate of agentic runs, made of AIPerf's records
// (utils/agentic/aggregation/request_metrics.py).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

/// Completions in windows of one second from the first; the last, partial one is left out.
static ValueList completions_per_second(const Tally& t) {
    constexpr std::int64_t window_ns = 1'000'000'000;
    std::vector<std::int64_t> ends;
    for (const Counted& one : t.ok) {
        ends.push_back(one.seen->last_line_ns());
    }
    std::sort(ends.begin(), ends.end());
    const auto window = [&ends](std::int64_t end) {
        return static_cast<std::size_t>((end - ends.front()) / window_ns);
    };
    std::vector<double> counts(ends.empty() ? 0 : window(ends.back()), 0);
    for (const std::int64_t end : ends) {
        if (window(end) < counts.size()) {
            counts[window(end)] += 1;
        }
    }
    ValueList list;
    for (const double count : counts) {
        list.add(count);
    }
    return list;
}

static Known e2e_per_token_s(const Counted& one) {
    return ratio(in_s(one.last_ns), as_double(one.output));
}

static constexpr const char* slow_tail = "1/s";

/// Rows of the unit `slow_tail` hold times and show 1 / each statistic of them, so that high
/// percentiles are the slow tail and the mean is the harmonic one; the deviation alone is that of
/// the rates.
static KeyValue agentic_statistic(const ToolKey& row, std::string_view name) {
    if (row.unit.empty() || name != "std") {
        return row.unit.empty() ? row.statistic(name) : ratio(1, row.statistic(name));
    }
    ValueList rates;
    for (const double time : row.values().sorted()) {
        rates.add(1 / time);
    }
    return rates.std();
}

static ToolKeys agentic_keys(const ViewedRun& run, const Tally& t, std::int64_t profiled) {
    const ValueList qps = completions_per_second(t);
    const std::string counts = "request_accounting/";
    const std::string latency = "request_metrics/latency/";
    const std::string rates = "request_metrics/throughput/";
    return {
        {counts + "records_total", profiled + t.failed},
        {counts + "records_profiled", profiled},
        {counts + "records_dropped_total", t.failed},
        {counts + "records_warmup_dropped", 0},
        {counts + "records_error_dropped", t.failed},
        {"request_metrics/qps/window_seconds", 1},
        {"request_metrics/qps/samples", static_cast<std::int64_t>(qps.count())},
        {"request_metrics/qps/*", qps, "qps", "", 1},
        {latency + "ttft/*", positive<first_token<ns_per_s>>, "ttft (s)"},
        {latency + "e2el/*", positive<whole_answer<ns_per_s>>, "e2el (s)"},
        {latency + "itl/*", positive<divided<itl_ns, ns_per_s>>, "itl = tpot (s)"},
        {latency + "tpot/*", positive<divided<itl_ns, ns_per_s>>},
        {latency + "intvty/*", positive<divided<itl_ns, ns_per_s>>,
         "intvty (tok/s/user, slow tail)", slow_tail},
        {latency + "e2e_norm_intvty/*", positive<e2e_per_token_s>,
         "e2e_norm_intvty (tok/s, slow tail)", slow_tail},
        {latency + "full_response_itl/", nullptr},
        {latency + "full_response_intvty/", nullptr},
        {"request_metrics/tokens/input/*", positive<prompt_tokens>},
        {"request_metrics/tokens/output_actual/*", positive<output_tokens>},
        {"request_metrics/tokens/output_expected/", nullptr},
        {rates + "input/tokens_per_second", t.per_second(t.input)},
        {rates + "output/tokens_per_second", t.per_second(t.output)},
        {rates + "total/tokens_per_second", t.per_second(t.tokens())},
        {rates + "duration_seconds", t.seconds},
        {rates + "per_gpu/", nullptr},
        {"request_metrics/cache/theoretical_cache_hit_rate",
         known_value(run.hit_rate_ceiling.has_value(), run.hit_rate_ceiling.value_or(0))},
    };
}

static std::string agentic_cell(const ToolKey& row, std::string_view name) {
    return row.values().empty()
               ? "-"
               : fixed(std::get<double>(agentic_statistic(row, name)), row.unit.empty() ? 5 : 2);
}

ViewResult inferencex_view(const ViewedRun& run) {
    Tally t = tally_of(run, aiperf_counted);
    for (const Counted& one : t.ok) {
        t.span.add(one.begin_ns, one.seen->last_line_ns());
    }
    t.seconds = in_s(t.span.length_ns());
    const auto profiled = std::ranges::count_if(
        t.ok, [](const Counted& one) { return one.first_ns.value_or(1) > 0; });
    const ToolKeys keys = measured(agentic_keys(run, t, profiled), t);
    return {
        table_of({"", "mean", "p50", "p75", "p90", "p95", "std"}, keys, agentic_cell) +
            fmt::format("requests  {} profiled, {} dropped for errors\n"
                        "tokens/s  input {:.2f}, output {:.2f}, over {:.3f} s\n",
                        profiled, t.failed, t.per_second(t.input), t.per_second(t.output),
                        t.seconds),
        file_of(keys, {"mean p50 p75 p90 p95 std", FileStyle::Empty::object, "", agentic_statistic,
                       [](JsonWriter& json, double value) {
                           json.number(std::round(value * 1e5) / 1e5);
                       }}),
        notes_on(run, {true, false, true},
                 {"interactivity is 1 / the statistic of ITL: p90 is the slow tail and mean is "
                  "harmonic, while only std uses the plain rates",
                  "not computable: figures per GPU and watts, because the run does not know "
                  "the GPUs"})};
}

// InferenceX's runs of fixed length: its fork of vLLM's benchmark (utils/bench_serving) and what
// utils/process_result.py makes of it.

static std::optional<Counted> fixed_counted(const ViewedRequest& request) {
    if (!request.stream_read()) {
        return std::nullopt;
    }
    std::vector<std::int64_t> events = request.choice_events();
    std::int64_t end = events.empty() ? request.fired_ns : events.back();
    end = std::max({end, request.usage_ns.value_or(end), request.error_ns.value_or(end)});
    Counted one = counted_of(request, std::move(events), end, request.prompt_recorded,
                             request.output_usage.value_or(0));
    if (request.stamped != ViewedStamps::whole) {
        one.first_ns = one.first_ns.value_or(0);
    }
    return one;
}

static constexpr std::string_view fixed_statistics = "mean median std p90 p99 p99.9";

/// ms; `intvty` is 1000 / each statistic of TPOT, also of its deviation, which means nothing.
static double fixed_statistic(const ToolKey& row, std::string_view name) {
    const double value = row.statistic(name);
    return row.key == "intvty" ? ratio(1000, value) : value;
}

/// The rows of the screen, which the file has under "mean_ttft" and so on.
static ToolKeys fixed_metrics(const Tally& t) {
    return measured({{"ttft", first_token<ns_per_ms>, "ttft (ms)"},
                     {"tpot", tpot_ms, "tpot (ms)"},
                     {"intvty", tpot_ms, "intvty (tok/s/user)"},
                     {"itl", Gaps(), "itl (ms)"},
                     {"e2el", whole_answer<ns_per_ms>, "e2el (ms)"}},
                    t);
}

static ToolKeys fixed_keys(const ViewedRun& run, const Tally& t, const ToolKeys& metrics) {
    ToolKeys keys = {{"model", run.model},
                     {"completed", t.count()},
                     {"duration", t.seconds},
                     {"total_input_tokens", t.input},
                     {"total_output_tokens", t.output},
                     {"request_throughput", t.per_second(t.count())},
                     {"output_throughput", t.per_second(t.output)},
                     {"total_token_throughput", t.per_second(t.tokens())}};
    const auto add = [&keys](const std::string& statistic, const ToolKey& row, double per) {
        keys.push_back(
            {statistic + "_" + row.key,
             row.computable() ? KeyValue(fixed_statistic(row, statistic) / per) : NotComputable()});
    };
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        const bool is_tpot = metrics[i].key == "tpot";
        for (const std::string& statistic : words_in(fixed_statistics)) {
            add(statistic, metrics[i], 1000);
            if (is_tpot) {  // each interactivity is behind its TPOT
                add(statistic, metrics[i + 1], 1);
            }
        }
        i += is_tpot ? 1 : 0;
    }
    return keys;
}

static std::string fixed_cell(const ToolKey& row, std::string_view name) {
    return fixed(fixed_statistic(row, name), 2);
}

ViewResult inferencex_fixed_view(const ViewedRun& run) {
    const Tally t = tally_of(run, fixed_counted);
    const ToolKeys metrics = fixed_metrics(t);
    return {table_of({"", "mean", "median", "std", "p90", "p99", "p99.9"}, metrics, fixed_cell) +
                fmt::format("completed {} of {}, output {:.2f} tok/s, total {:.2f} tok/s\n",
                            t.count(), t.sent(), t.per_second(t.output), t.per_second(t.tokens())),
            file_of(fixed_keys(run, t, metrics), {}),
            notes_on(run, {true, true, false},
                     {"E2E ends at the last JSON event, usage and errors included",
                      "an answer without usage counts as no tokens, and one without any event as a "
                      "success",
                      "wrong in the tool: std_intvty is 1000 / std(TPOT), which has no meaning; "
                      "its figure is shown",
                      "not computable: figures per GPU, because the run does not know the GPUs"})};
}

}  // namespace driftless
