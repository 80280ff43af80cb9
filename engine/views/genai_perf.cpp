// GenAI-Perf (genai_perf/profile_data_parser, metrics/statistics.py).

#include <algorithm>
#include <cmath>

#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

struct Metric {
    const char* tag;
    const char* header;
    const char* unit;
    ValueList values;
};

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

GenaiFigures figures_of(const ViewedRun& run) {
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
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    for (const ViewedRequest& request : run.requests) {
        ++figures.sent;
        const std::vector<std::int64_t> stamps = request.stamps_of(content_kinds);
        if (!stamps.empty()) {
            first = std::min(first, request.fired_ns);
            last = std::max(last, stamps.back());
            add_request(figures, request, stamps);
        }
    }
    figures.duration_s = figures.read == 0 ? 0 : in_s(last - first);
    for (Metric& metric : figures.metrics) {
        metric.values.close();
    }
    return figures;
}

std::string screen_of(const ViewedRun& run, const GenaiFigures& figures) {
    ViewTable table({"Statistic", "avg", "min", "max", "p99", "p90", "p75"});
    for (const Metric& metric : figures.metrics) {
        std::vector<std::string> row{metric.header};
        const ValueList& values = metric.values;
        for (const double value : {values.mean(), values.min(), values.max(), values.linear(990),
                                   values.linear(900), values.linear(750)}) {
            row.push_back(values.empty() ? "N/A" : with_commas(value, 2));
        }
        table.add(std::move(row));
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

void write_single(JsonWriter& json, const char* tag, const char* unit, double value) {
    json.key(tag).begin_object();
    put_text(json, "unit", unit);
    put_number(json, "avg", value);
    json.end_object();
}

std::string json_of(const ViewedRun& run, const GenaiFigures& figures) {
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
        const ValueList& values = metric.values;
        if (values.empty()) {
            continue;
        }
        json.key(metric.tag).begin_object();
        put_text(json, "unit", metric.unit);
        put_number(json, "avg", values.mean());
        for (const std::uint32_t one : {10U, 50U, 100U, 250U, 500U, 750U, 900U, 950U, 990U}) {
            put_number(json, "p" + std::to_string(one / 10), values.linear(one));
        }
        put_number(json, "min", values.min());
        put_number(json, "max", values.max());
        put_number(json, "std", values.std());
        json.end_object();
    }
    json.end_object();
    return out + "\n";
}

}  // namespace

ViewResult genai_perf_view(const ViewedRun& run) {
    const GenaiFigures figures = figures_of(run);
    ViewResult result;
    result.screen = screen_of(run, figures);
    result.json = json_of(run, figures);
    result.notes = notes_on(run, {false, true, true});
    result.notes.emplace_back(
        "only delta.content ends TTFT: hidden reasoning counts as prefill, and its tokens do not "
        "count");
    result.notes.emplace_back(
        "Request Throughput counts every row, even those without content, which no other figure "
        "counts");
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
