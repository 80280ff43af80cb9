// AIPerf (aiperf/metrics/types, metric_dicts.py, derived_latency.py).

#include <algorithm>
#include <cmath>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

using Known = std::optional<double>;

/// A figure of each request; nothing: it has none. Without `of`: one of each gap.
struct Metric {
    const char* tag;
    const char* header;  ///< on the screen; empty: not there
    const char* unit;
    Known (*of)(const AiperfRecord& one);
};

Known known_ms(const OptionalNs& ns) {
    return ns ? Known(in_ms(*ns)) : std::nullopt;
}

constexpr Metric first_token_metric{
    "time_to_first_token", "Time to First Token (ms)", "ms",
    [](const AiperfRecord& one) -> Known { return in_ms(one.ttft_ns); }};
constexpr Metric second_token_metric{
    "time_to_second_token", "Time to Second Token (ms)", "ms",
    [](const AiperfRecord& one) { return known_ms(one.second_ns); }};
constexpr Metric latency_metric{
    "request_latency", "Request Latency (ms)", "ms",
    [](const AiperfRecord& one) -> Known { return in_ms(one.latency_ns); }};
constexpr Metric itl_metric{"inter_token_latency", "Inter Token Latency (ms)", "ms",
                            [](const AiperfRecord& one) {
                                return one.itl_ns ? Known(*one.itl_ns / ns_per_ms) : std::nullopt;
                            }};
constexpr const char* user_rate = "tokens/sec/user";
constexpr Metric output_metric{
    "output_sequence_length", "Output Sequence Length (tokens)", "tokens",
    [](const AiperfRecord& one) -> Known { return as_double(one.output_tokens); }};
constexpr Metric input_metric{
    "input_sequence_length", "Input Sequence Length (tokens)", "tokens",
    [](const AiperfRecord& one) -> Known { return as_double(one.input_tokens); }};
constexpr Metric decode_metric{
    "decode_duration", "Decode Duration (ms)", "ms",
    [](const AiperfRecord& one) -> Known { return in_ms(one.latency_ns - one.ttft_ns); }};

constexpr Metric aiperf_metrics[] = {
    first_token_metric,
    second_token_metric,
    {"time_to_first_output_token", "Time to First Output Token (ms)", "ms",
     [](const AiperfRecord& one) { return known_ms(one.first_output_ns); }},
    latency_metric,
    decode_metric,
    itl_metric,
    {"output_token_throughput_per_user", "Output Token Throughput Per User (tokens/sec/user)",
     user_rate,
     [](const AiperfRecord& one) {
         return one.itl_ns && *one.itl_ns > 0 ? Known(ns_per_s / *one.itl_ns) : std::nullopt;
     }},
    {"e2e_output_token_throughput", "E2E Output Token Throughput (tokens/sec/user)", user_rate,
     [](const AiperfRecord& one) -> Known {
         return ratio(as_double(one.output_tokens), in_s(one.latency_ns));
     }},
    output_metric,
    input_metric,
    {"inter_chunk_latency", "", "ms", nullptr},
    {"output_token_count", "", "tokens",
     [](const AiperfRecord& one) -> Known {
         return as_double(one.output_tokens - one.reasoning_tokens);
     }},
    {"reasoning_token_count", "", "tokens",
     [](const AiperfRecord& one) {
         return one.reasoning_tokens > 0 ? Known(as_double(one.reasoning_tokens)) : std::nullopt;
     }},
    {"prefill_throughput_per_user", "", user_rate,
     [](const AiperfRecord& one) -> Known {
         return ratio(as_double(one.input_tokens), in_s(one.ttft_ns));
     }},
    {"stream_setup_latency", "", "ms",
     [](const AiperfRecord& one) { return known_ms(one.headers_ns); }},
    {"stream_prefill_latency", "", "ms",
     [](const AiperfRecord& one) {
         return one.headers_ns ? Known(in_ms(one.ttft_ns - *one.headers_ns)) : std::nullopt;
     }},
};

/// A metric and its values of all requests.
struct Measured {
    const Metric& metric;
    ValueList values;
};

Measured measured(const Metric& metric, const std::vector<AiperfRecord>& records) {
    Measured out{metric, {}};
    for (const AiperfRecord& one : records) {
        if (metric.of == nullptr) {
            for (const std::int64_t gap : one.gaps_ns) {
                out.values.add(in_ms(gap));
            }
        } else if (const Known value = metric.of(one)) {
            out.values.add(*value);
        }
    }
    return out;
}

/// A figure that has one value.
struct Derived {
    const char* tag;
    const char* header;  ///< on the screen; empty: not there
    const char* unit;
    double value;
};

/// What both tools show, in their order.
struct ToolFigures {
    std::vector<Measured> metrics;
    std::vector<Derived> derived;
    std::size_t failed = 0;
};

ToolFigures figures_of(std::span<const Metric> metrics, const std::vector<AiperfRecord>& records) {
    ToolFigures figures;
    for (const Metric& metric : metrics) {
        figures.metrics.push_back(measured(metric, records));
    }
    return figures;
}

/// A metric that a request lacks makes it bad.
bool is_good(const GoodputLimits& limits, const AiperfRecord& one) {
    return (!limits.ttft_ns || one.ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || (one.itl_ns && *one.itl_ns <= as_double(*limits.tpot_ns))) &&
           (!limits.e2e_ns || one.latency_ns <= *limits.e2e_ns);
}

ToolFigures aiperf_figures(const ViewedRun& run) {
    const AiperfRecords records = aiperf_records(run);
    ToolFigures figures = figures_of(aiperf_metrics, records.ok);
    figures.failed = static_cast<std::size_t>(records.failed);
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t good = 0;
    ViewSpan span;
    for (const AiperfRecord& one : records.ok) {
        input += one.input_tokens;
        output += one.output_tokens;
        good += is_good(run.limits, one) ? 1 : 0;
        span.add(one.start_ns, one.start_ns + one.latency_ns);
    }
    const double duration_s = in_s(span.length_ns());
    const auto rate = [duration_s](std::int64_t count) {
        return ratio(as_double(count), duration_s);
    };
    const auto ok = static_cast<std::int64_t>(records.ok.size());
    const double sent = as_double(ok + records.failed);
    const char* tokens = "tokens/sec";
    figures.derived = {
        {"output_token_throughput", "Output Token Throughput (tokens/sec)", tokens, rate(output)},
        {"input_token_throughput", "Input Token Throughput (tokens/sec)", tokens, rate(input)},
        {"total_token_throughput", "", tokens, rate(input + output)},
        {"request_throughput", "Request Throughput (requests/sec)", "requests/sec", rate(ok)}};
    if (run.limits.set()) {
        figures.derived.push_back(
            {"goodput", "Goodput (requests/sec)", "requests/sec", rate(good)});
        figures.derived.push_back(
            {"good_request_fraction", "", "ratio", ratio(as_double(good), sent)});
    }
    figures.derived.insert(
        figures.derived.end(),
        {{"request_error_rate", "Request Error Rate (%)", "%",
          100 * ratio(as_double(records.failed), sent)},
         {"request_count", "Request Count (requests)", "requests", as_double(ok)},
         {"error_request_count", "", "requests", as_double(records.failed)},
         {"benchmark_duration", "", "sec", duration_s}});
    return figures;
}

/// Metrics, then what has one value; `head` names the statistics.
std::string screen_of(const char* title, std::vector<std::string> head,
                      const ToolFigures& figures) {
    ViewTable table(head);
    for (const auto& [metric, values] : figures.metrics) {
        if (metric.header[0] != '\0') {
            table.add_statistics(metric.header, values, [&values = values](double value) {
                return values.empty() ? "N/A" : with_commas(value, 2);
            });
        }
    }
    for (const Derived& one : figures.derived) {
        if (one.header[0] != '\0') {
            std::vector<std::string> row(head.size(), "N/A");
            row[0] = one.header;
            row[1] = with_commas(one.value, 2);
            table.add(std::move(row));
        }
    }
    return title + table.text();
}

void put_metrics(JsonWriter& json, const ToolFigures& figures, StatisticNames names) {
    for (const auto& [metric, values] : figures.metrics) {
        if (!values.empty()) {
            put(json, {{metric.tag, StatisticsObject{values, names, "unit", metric.unit}}});
        }
    }
}

void put_derived(JsonWriter& json, const std::vector<Derived>& derived) {
    for (const Derived& one : derived) {
        put(json, {{one.tag, JsonPairs{{"unit", one.unit}, {"avg", one.value}}}});
    }
}

/// With each failure as an infinite value, which is null in JSON.
void put_adjusted(JsonWriter& json, const Measured& measured, std::size_t failed) {
    const ValueList& values = measured.values;
    json.key(std::string("adj_") + measured.metric.tag).begin_object();
    put(json, {{"unit", measured.metric.unit},
               {"avg", nullptr},
               {"min", values.min()},
               {"max", nullptr}});
    for (const std::uint32_t one : {10U, 50U, 100U, 250U, 500U, 750U, 900U, 950U, 990U}) {
        double value = 0;
        json.key("p" + std::to_string(one / 10));
        values.nearest_even(one, failed, value) ? json.number(value) : json.null();
    }
    put(json, {{"count", values.count() + failed}});
    json.end_object();
}

constexpr const char* aiperf_statistics[] = {"avg", "min", "max", "p1",    "p5",
                                             "p10", "p25", "p50", "p75",   "p90",
                                             "p95", "p99", "std", "count", "sum"};

void put_file(JsonWriter& json, const ViewedRun& run, const ToolFigures& figures) {
    put(json,
        {{"schema_version", "1.4"}, {"aiperf_version", "0.13.0"}, {"benchmark_id", run.run_id}});
    put_metrics(json, figures, aiperf_statistics);
    for (const Metric& adjusted : {first_token_metric, latency_metric, itl_metric, decode_metric}) {
        const auto found = std::find_if(
            figures.metrics.begin(), figures.metrics.end(),
            [&adjusted](const Measured& one) { return one.metric.tag == adjusted.tag; });
        if (figures.failed > 0) {
            put_adjusted(json, *found, figures.failed);
        }
    }
    put_derived(json, figures.derived);
}

/// Without what a tool tells of reasoning and of the time between tokens.
AiperfRecord timed_record(const ViewedRequest& request, const std::vector<std::int64_t>& stamps,
                          std::int64_t output_tokens) {
    AiperfRecord one;
    one.start_ns = request.fired_ns;
    one.input_tokens =
        request.prompt_recorded > 0 ? request.prompt_recorded : request.prompt_tokens();
    one.output_tokens = output_tokens;
    one.ttft_ns = stamps.front() - request.fired_ns;
    one.latency_ns = stamps.back() - request.fired_ns;
    for (std::size_t i = 1; i < stamps.size(); ++i) {
        one.gaps_ns.push_back(stamps[i] - stamps[i - 1]);
    }
    if (!one.gaps_ns.empty()) {
        one.second_ns = one.gaps_ns.front();
    }
    return one;
}

}  // namespace

AiperfRecords aiperf_records(const ViewedRun& run) {
    AiperfRecords records;
    for (const ViewedRequest& request : run.requests) {
        const std::vector<std::int64_t> stamps = request.stamps_of(all_text_kinds);
        if (!request.stream_read() || stamps.empty()) {
            ++records.failed;
            continue;
        }
        AiperfRecord& one = records.ok.emplace_back(
            timed_record(request, stamps, tokens_or_usage(request, all_text_kinds)));
        const std::vector<std::int64_t> spoken = request.stamps_of("ceut");
        one.reasoning_tokens =
            spoken.size() == stamps.size()
                ? 0
                : one.output_tokens - request.tokens_of("ceut").value_or(one.output_tokens);
        one.last_response_ns = request.last_line_ns() - request.fired_ns;
        if (!spoken.empty()) {
            one.first_output_ns = spoken.front() - request.fired_ns;
        }
        if (one.output_tokens > 1) {
            one.itl_ns = as_double(one.latency_ns - one.ttft_ns) / as_double(one.output_tokens - 1);
        }
        if (request.headers_ns) {
            one.headers_ns = *request.headers_ns - request.fired_ns;
        }
    }
    return records;
}

ViewResult aiperf_view(const ViewedRun& run) {
    const ToolFigures figures = aiperf_figures(run);
    return {
        screen_of("NVIDIA AIPerf | LLM Metrics\n",
                  {"Metric", "avg", "min", "max", "p99", "p90", "p50", "std"}, figures),
        file_of([&](JsonWriter& json) { put_file(json, run, figures); }),
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

namespace {

constexpr Metric genai_metrics[] = {
    {"time_to_first_token", "Time To First Token (ms)", "ms", first_token_metric.of},
    {"time_to_second_token", "Time To Second Token (ms)", "ms", second_token_metric.of},
    latency_metric,
    itl_metric,
    {"output_token_throughput_per_user", "Output Token Throughput Per User (tokens/sec/user)",
     user_rate,
     [](const AiperfRecord& one) {
         return one.itl_ns ? Known(ratio(ns_per_s, *one.itl_ns)) : std::nullopt;
     }},
    output_metric,
    input_metric,
};

std::optional<AiperfRecord> genai_record(const ViewedRequest& request) {
    const std::vector<std::int64_t> stamps = request.stamps_of(content_kinds);
    if (stamps.empty()) {
        return std::nullopt;
    }
    AiperfRecord one = timed_record(request, stamps, tokens_or_usage(request, content_kinds));
    if (stamps.size() > 1 && one.output_tokens > 1) {
        one.itl_ns = std::round(as_double(stamps.back() - stamps.front()) /
                                as_double(one.output_tokens - 1));
    }
    return one;
}

/// The lists are zipped although they are not of one length: a request without ITL shifts all
/// later pairs.
std::int64_t genai_good(const GoodputLimits& limits, const std::vector<AiperfRecord>& records) {
    std::vector<double> itls_ms;
    for (const AiperfRecord& one : records) {
        if (one.itl_ns) {
            itls_ms.push_back(*one.itl_ns / ns_per_ms);
        }
    }
    const std::size_t pairs = limits.tpot_ns ? itls_ms.size() : records.size();
    std::int64_t good = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        const bool ttft = !limits.ttft_ns || in_ms(records[i].ttft_ns) <= in_ms(*limits.ttft_ns);
        const bool itl = !limits.tpot_ns || itls_ms[i] <= in_ms(*limits.tpot_ns);
        const bool e2e = !limits.e2e_ns || in_ms(records[i].latency_ns) <= in_ms(*limits.e2e_ns);
        good += ttft && itl && e2e ? 1 : 0;
    }
    return good;
}

ToolFigures genai_figures(const ViewedRun& run) {
    std::vector<AiperfRecord> records;
    std::int64_t output = 0;
    ViewSpan span;
    for (const ViewedRequest& request : run.requests) {
        if (const std::optional<AiperfRecord> one = genai_record(request)) {
            span.add(one->start_ns, one->start_ns + one->latency_ns);
            output += one->output_tokens;
            records.push_back(*one);
        }
    }
    ToolFigures figures = figures_of(genai_metrics, records);
    const auto rate = [&span](std::int64_t count) {
        return ratio(as_double(count), in_s(span.length_ns()));
    };
    const auto sent = static_cast<std::int64_t>(run.requests.size());
    figures.derived = {
        {"output_token_throughput", "Output Token Throughput (tokens/sec)", "tokens/sec",
         rate(output)},
        {"request_throughput", "Request Throughput (per sec)", "requests/sec", rate(sent)}};
    if (run.limits.set()) {
        figures.derived.push_back({"request_goodput", "Request Goodput (per sec)", "requests/sec",
                                   rate(genai_good(run.limits, records))});
    }
    figures.derived.push_back(
        {"request_count", "Request Count (count)", "count", static_cast<double>(records.size())});
    return figures;
}

constexpr const char* genai_statistics[] = {"avg", "p1",  "p5",  "p10", "p25", "p50", "p75",
                                            "p90", "p95", "p99", "min", "max", "std"};

}  // namespace

ViewResult genai_perf_view(const ViewedRun& run) {
    const ToolFigures figures = genai_figures(run);
    ViewResult result;
    result.screen = screen_of("NVIDIA GenAI-Perf | LLM Metrics\n",
                              {"Statistic", "avg", "min", "max", "p99", "p90", "p75"}, figures);
    result.json = file_of([&](JsonWriter& json) {
        std::vector<Derived> file = figures.derived;  // it has the first of the screen last
        std::rotate(file.begin(), file.begin() + 1, file.end());
        put_derived(json, file);
        put_metrics(json, figures, genai_statistics);
    });
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
