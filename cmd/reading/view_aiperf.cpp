// AIPerf (aiperf/metrics/types, metric_dicts.py, derived_latency.py).

#include <algorithm>
#include <cmath>

#include "cmd/reading/view.hpp"

namespace driftless {

namespace {

struct Metric {
    const char* tag;
    const char* header;  ///< on the screen; empty: not there
    const char* unit;
    ValueList values;
};

struct AiperfFigures {
    std::vector<Metric> metrics;
    double duration_s = 0;
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t ok = 0;
    std::int64_t failed = 0;
    std::int64_t good = 0;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
    double good_share() const { return ratio(as_double(good), as_double(ok + failed)); }
};

/// A metric that a request lacks makes it bad.
bool is_good(const ViewLimits& limits, const AiperfRecord& one) {
    return (!limits.ttft_ns || one.ttft_ns <= *limits.ttft_ns) &&
           (!limits.tpot_ns || (one.itl_ns && *one.itl_ns <= as_double(*limits.tpot_ns))) &&
           (!limits.e2e_ns || one.latency_ns <= *limits.e2e_ns);
}

void add_record(std::vector<Metric>& metrics, const AiperfRecord& one) {
    const auto add = [&metrics](std::size_t place, double value) {
        metrics[place].values.add(value);
    };
    add(0, in_ms(one.ttft_ns));
    if (one.second_ns) {
        add(1, in_ms(*one.second_ns));
    }
    if (one.first_output_ns) {
        add(2, in_ms(*one.first_output_ns));
    }
    add(3, in_ms(one.latency_ns));
    add(4, in_ms(one.latency_ns - one.ttft_ns));
    if (one.itl_ns) {
        add(5, *one.itl_ns / ns_per_ms);
    }
    if (one.itl_ns && *one.itl_ns > 0) {
        add(6, ns_per_s / *one.itl_ns);
    }
    add(7, ratio(as_double(one.output_tokens), in_s(one.latency_ns)));
    add(8, as_double(one.output_tokens));
    add(9, as_double(one.input_tokens));
    for (const std::int64_t gap : one.gaps_ns) {
        add(10, in_ms(gap));
    }
    add(11, as_double(one.output_tokens - one.reasoning_tokens));
    if (one.reasoning_tokens > 0) {
        add(12, as_double(one.reasoning_tokens));
    }
    add(13, ratio(as_double(one.input_tokens), in_s(one.ttft_ns)));
    if (one.headers_ns) {
        add(14, in_ms(*one.headers_ns));
        add(15, in_ms(one.ttft_ns - *one.headers_ns));
    }
}

AiperfFigures aiperf_figures(const ViewedRun& run) {
    const AiperfRecords records = aiperf_records(run);
    AiperfFigures figures;
    const char* rate = "tokens/sec/user";
    figures.metrics = {
        {"time_to_first_token", "Time to First Token (ms)", "ms", {}},
        {"time_to_second_token", "Time to Second Token (ms)", "ms", {}},
        {"time_to_first_output_token", "Time to First Output Token (ms)", "ms", {}},
        {"request_latency", "Request Latency (ms)", "ms", {}},
        {"decode_duration", "Decode Duration (ms)", "ms", {}},
        {"inter_token_latency", "Inter Token Latency (ms)", "ms", {}},
        {"output_token_throughput_per_user",
         "Output Token Throughput Per User (tokens/sec/user)",
         rate,
         {}},
        {"e2e_output_token_throughput", "E2E Output Token Throughput (tokens/sec/user)", rate, {}},
        {"output_sequence_length", "Output Sequence Length (tokens)", "tokens", {}},
        {"input_sequence_length", "Input Sequence Length (tokens)", "tokens", {}},
        {"inter_chunk_latency", "", "ms", {}},
        {"output_token_count", "", "tokens", {}},
        {"reasoning_token_count", "", "tokens", {}},
        {"prefill_throughput_per_user", "", rate, {}},
        {"stream_setup_latency", "", "ms", {}},
        {"stream_prefill_latency", "", "ms", {}},
    };
    figures.ok = static_cast<std::int64_t>(records.ok.size());
    figures.failed = records.failed;
    ViewSpan span;
    for (const AiperfRecord& one : records.ok) {
        add_record(figures.metrics, one);
        figures.input += one.input_tokens;
        figures.output += one.output_tokens;
        figures.good += is_good(run.limits, one) ? 1 : 0;
        span.add(one.start_ns, one.start_ns + one.latency_ns);
    }
    figures.duration_s = in_s(span.length_ns());
    return figures;
}

struct Derived {
    const char* tag;
    const char* header;
    const char* unit;
    double value;
};

std::vector<Derived> derived_of(const ViewedRun& run, const AiperfFigures& figures) {
    std::vector<Derived> all = {{"output_token_throughput", "Output Token Throughput (tokens/sec)",
                                 "tokens/sec", figures.per_second(figures.output)},
                                {"input_token_throughput", "Input Token Throughput (tokens/sec)",
                                 "tokens/sec", figures.per_second(figures.input)},
                                {"total_token_throughput", "", "tokens/sec",
                                 figures.per_second(figures.input + figures.output)},
                                {"request_throughput", "Request Throughput (requests/sec)",
                                 "requests/sec", figures.per_second(figures.ok)}};
    if (run.limits.set()) {
        all.push_back({"goodput", "Goodput (requests/sec)", "requests/sec",
                       figures.per_second(figures.good)});
        all.push_back({"good_request_fraction", "", "ratio", figures.good_share()});
    }
    const double sent = as_double(figures.ok + figures.failed);
    all.push_back({"request_error_rate", "Request Error Rate (%)", "%",
                   100 * ratio(as_double(figures.failed), sent)});
    all.push_back({"request_count", "Request Count (requests)", "requests", as_double(figures.ok)});
    all.push_back({"error_request_count", "", "requests", as_double(figures.failed)});
    all.push_back({"benchmark_duration", "", "sec", figures.duration_s});
    return all;
}

void add_metric(ViewTable& table, const Metric& metric) {
    table.add_statistics(metric.header, metric.values, [&metric](double value) {
        return metric.values.empty() ? "N/A" : with_commas(value, 2);
    });
}

/// A figure that has one value.
void write_single(JsonWriter& json, const char* tag, const char* unit, double value) {
    json.key(tag).begin_object();
    put_text(json, "unit", unit);
    put_number(json, "avg", value);
    json.end_object();
}

std::string screen_of(const ViewedRun& run, const AiperfFigures& figures) {
    ViewTable table({"Metric", "avg", "min", "max", "p99", "p90", "p50", "std"});
    for (const Metric& metric : figures.metrics) {
        if (metric.header[0] != '\0') {
            add_metric(table, metric);
        }
    }
    for (const Derived& one : derived_of(run, figures)) {
        if (one.header[0] != '\0') {
            table.add(
                {one.header, with_commas(one.value, 2), "N/A", "N/A", "N/A", "N/A", "N/A", "N/A"});
        }
    }
    return "NVIDIA AIPerf | LLM Metrics\n" + table.text();
}

constexpr std::uint32_t file_percentiles[] = {10, 50, 100, 250, 500, 750, 900, 950, 990};

void write_metric(JsonWriter& json, const Metric& metric) {
    json.key(metric.tag).begin_object();
    put_text(json, "unit", metric.unit);
    put_statistics(json, metric.values,
                   {"avg", "min", "max", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95",
                    "p99", "std", "count", "sum"});
    json.end_object();
}

/// With each failure as an infinite value, which is null in JSON.
void write_adjusted(JsonWriter& json, const Metric& metric, std::size_t failed) {
    json.key(std::string("adj_") + metric.tag).begin_object();
    put_text(json, "unit", metric.unit);
    json.key("avg").null();
    put_number(json, "min", metric.values.min());
    json.key("max").null();
    for (const std::uint32_t one : file_percentiles) {
        double value = 0;
        json.key("p" + std::to_string(one / 10));
        metric.values.nearest_even(one, failed, value) ? json.number(value) : json.null();
    }
    put_integer(json, "count", static_cast<std::int64_t>(metric.values.count() + failed));
    json.end_object();
}

std::string json_of(const ViewedRun& run, const AiperfFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    put_text(json, "schema_version", "1.4");
    put_text(json, "aiperf_version", "0.13.0");
    put_text(json, "benchmark_id", run.run_id);
    for (const Metric& metric : figures.metrics) {
        if (!metric.values.empty()) {
            write_metric(json, metric);
        }
    }
    if (figures.failed > 0) {
        for (const std::size_t flagged : {0U, 3U, 5U, 4U}) {
            write_adjusted(json, figures.metrics[flagged],
                           static_cast<std::size_t>(figures.failed));
        }
    }
    for (const Derived& one : derived_of(run, figures)) {
        write_single(json, one.tag, one.unit, one.value);
    }
    json.end_object();
    return out + "\n";
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
        AiperfRecord& one = records.ok.emplace_back();
        one.start_ns = request.fired_ns;
        one.input_tokens =
            request.prompt_recorded > 0 ? request.prompt_recorded : request.prompt_tokens();
        one.output_tokens = tokens_or_usage(request, all_text_kinds);
        const std::vector<std::int64_t> spoken = request.stamps_of("ceut");
        one.reasoning_tokens =
            spoken.size() == stamps.size()
                ? 0
                : one.output_tokens - request.tokens_of("ceut").value_or(one.output_tokens);
        one.ttft_ns = stamps.front() - request.fired_ns;
        one.latency_ns = stamps.back() - request.fired_ns;
        one.last_response_ns = request.last_line_ns() - request.fired_ns;
        if (!spoken.empty()) {
            one.first_output_ns = spoken.front() - request.fired_ns;
        }
        if (stamps.size() > 1) {
            one.second_ns = stamps[1] - stamps[0];
        }
        if (one.output_tokens > 1) {
            one.itl_ns = as_double(one.latency_ns - one.ttft_ns) / as_double(one.output_tokens - 1);
        }
        if (request.headers_ns) {
            one.headers_ns = *request.headers_ns - request.fired_ns;
        }
        for (std::size_t i = 1; i < stamps.size(); ++i) {
            one.gaps_ns.push_back(stamps[i] - stamps[i - 1]);
        }
    }
    return records;
}

ViewResult aiperf_view(const ViewedRun& run) {
    const AiperfFigures figures = aiperf_figures(run);
    ViewResult result;
    result.screen = screen_of(run, figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(
        run, {false, true, true},
        {"the tool stamps a network read once, however many events it holds; here each has its own",
         "Time to Second Token is the gap after the first, not a time from the start",
         "Goodput: a request that lacks a metric, such as the ITL of one token, is bad",
         "not computable: effective_latency and credit_to_start_latency, because there are no "
         "credits"});
    return result;
}

// GenAI-Perf (genai_perf/profile_data_parser, metrics/statistics.py).

namespace {

struct GenaiFigures {
    std::vector<Metric> metrics;
    std::vector<double> ttfts_ms;  ///< in file order, as the others: they are zipped
    std::vector<double> itls_ms;
    std::vector<double> latencies_ms;
    std::int64_t sent = 0;
    std::int64_t read = 0;
    std::int64_t output = 0;
    double duration_s = 0;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
    std::int64_t good(const ViewLimits& limits) const;
};

/// The lists are zipped although they are not of one length: a request without ITL shifts all
/// later pairs.
std::int64_t GenaiFigures::good(const ViewLimits& limits) const {
    std::size_t pairs = ttfts_ms.size();
    if (limits.tpot_ns) {
        pairs = std::min(pairs, itls_ms.size());
    }
    std::int64_t good = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        const bool ttft = !limits.ttft_ns || ttfts_ms[i] <= in_ms(*limits.ttft_ns);
        const bool itl = !limits.tpot_ns || itls_ms[i] <= in_ms(*limits.tpot_ns);
        const bool e2e = !limits.e2e_ns || latencies_ms[i] <= in_ms(*limits.e2e_ns);
        good += ttft && itl && e2e ? 1 : 0;
    }
    return good;
}

void add_request(GenaiFigures& figures, const ViewedRequest& request,
                 const std::vector<std::int64_t>& stamps) {
    const std::int64_t tokens = tokens_or_usage(request, content_kinds);
    const double ttft = in_ms(stamps.front() - request.fired_ns);
    const double latency = in_ms(stamps.back() - request.fired_ns);
    ++figures.read;
    figures.output += tokens;
    figures.ttfts_ms.push_back(ttft);
    figures.latencies_ms.push_back(latency);
    figures.metrics[0].values.add(ttft);
    if (stamps.size() > 1) {
        figures.metrics[1].values.add(in_ms(stamps[1] - stamps[0]));
    }
    figures.metrics[2].values.add(latency);
    if (stamps.size() > 1 && tokens > 1) {
        const double itl_ns =
            std::round(as_double(stamps.back() - stamps.front()) / as_double(tokens - 1));
        figures.itls_ms.push_back(itl_ns / ns_per_ms);
        figures.metrics[3].values.add(itl_ns / ns_per_ms);
        figures.metrics[4].values.add(ratio(ns_per_s, itl_ns));
    }
    figures.metrics[5].values.add(as_double(tokens));
    figures.metrics[6].values.add(
        as_double(request.prompt_recorded > 0 ? request.prompt_recorded : request.prompt_tokens()));
}

GenaiFigures genai_figures(const ViewedRun& run) {
    GenaiFigures figures;
    figures.metrics = {
        {"time_to_first_token", "Time To First Token (ms)", "ms", {}},
        {"time_to_second_token", "Time To Second Token (ms)", "ms", {}},
        {"request_latency", "Request Latency (ms)", "ms", {}},
        {"inter_token_latency", "Inter Token Latency (ms)", "ms", {}},
        {"output_token_throughput_per_user",
         "Output Token Throughput Per User (tokens/sec/user)",
         "tokens/sec/user",
         {}},
        {"output_sequence_length", "Output Sequence Length (tokens)", "tokens", {}},
        {"input_sequence_length", "Input Sequence Length (tokens)", "tokens", {}},
    };
    ViewSpan span;
    for (const ViewedRequest& request : run.requests) {
        ++figures.sent;
        const std::vector<std::int64_t> stamps = request.stamps_of(content_kinds);
        if (!stamps.empty()) {
            span.add(request.fired_ns, stamps.back());
            add_request(figures, request, stamps);
        }
    }
    figures.duration_s = in_s(span.length_ns());
    return figures;
}

std::string genai_screen(const ViewedRun& run, const GenaiFigures& figures) {
    ViewTable table({"Statistic", "avg", "min", "max", "p99", "p90", "p75"});
    for (const Metric& metric : figures.metrics) {
        add_metric(table, metric);
    }
    const auto single = [&table](const char* header, double value) {
        table.add({header, with_commas(value, 2), "N/A", "N/A", "N/A", "N/A", "N/A"});
    };
    single("Output Token Throughput (tokens/sec)", figures.per_second(figures.output));
    single("Request Throughput (per sec)", figures.per_second(figures.sent));
    if (run.limits.set()) {
        single("Request Goodput (per sec)", figures.per_second(figures.good(run.limits)));
    }
    single("Request Count (count)", as_double(figures.read));
    return "NVIDIA GenAI-Perf | LLM Metrics\n" + table.text();
}

std::string genai_json(const ViewedRun& run, const GenaiFigures& figures) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    write_single(json, "request_throughput", "requests/sec", figures.per_second(figures.sent));
    if (run.limits.set()) {
        write_single(json, "request_goodput", "requests/sec",
                     figures.per_second(figures.good(run.limits)));
    }
    write_single(json, "request_count", "count", as_double(figures.read));
    write_single(json, "output_token_throughput", "tokens/sec", figures.per_second(figures.output));
    for (const Metric& metric : figures.metrics) {
        if (metric.values.empty()) {
            continue;
        }
        json.key(metric.tag).begin_object();
        put_text(json, "unit", metric.unit);
        put_statistics(json, metric.values,
                       {"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min",
                        "max", "std"});
        json.end_object();
    }
    json.end_object();
    return out + "\n";
}

}  // namespace

ViewResult genai_perf_view(const ViewedRun& run) {
    const GenaiFigures figures = genai_figures(run);
    ViewResult result;
    result.screen = genai_screen(run, figures);
    result.json = genai_json(run, figures);
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
