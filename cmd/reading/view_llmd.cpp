// llm-d's benchmark report 0.2.1, as it imports a result of vLLM's benchmark
// (llmdbenchmark/analysis/benchmark_report/native_to_br0_2.py).

#include <algorithm>
#include <map>

#include "cmd/reading/view.hpp"
#include "cmd/reading/view_parts.hpp"

namespace driftless {

namespace {

/// No `p25`: the tool writes it under another name, which its own reader drops.
void write_statistics(JsonWriter& json, const char* name, const char* units,
                      const ValueList& values) {
    json.key(name).begin_object();
    put_text(json, "units", units);
    put_number(json, "mean", values.mean());
    put_number(json, "stddev", values.std());
    constexpr std::pair<const char*, std::uint32_t> shares[] = {
        {"p0p1", 1},  {"p1", 10},   {"p5", 50},   {"p10", 100}, {"p50", 500},
        {"p75", 750}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p99p9", 999}};
    for (const auto& [key, per_mille] : shares) {
        put_number(json, key, values.linear(per_mille));
    }
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
    result.notes = notes_on(run, {true, true, false});
    result.notes.emplace_back(
        "the report copies the figures of a harness, here vLLM's benchmark, with its definitions");
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
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    for (const ViewedRequest& request : run.requests) {
        ++figures.sent;
        first = std::min(first, request.fired_ns);
        last = std::max(last, request.ended_ns);
        figures.delay.add(in_s(request.fired_ns - request.due_ns));
        if (request.stream_read()) {
            add_success(figures, request, run.limits);
        } else {
            figures.failed_latency.add(in_s(request.ended_ns - request.fired_ns));
        }
    }
    figures.duration_s = figures.sent == 0 ? 0 : in_s(last - first);
    for (ValueList* list :
         {&figures.delay, &figures.latency, &figures.normalized, &figures.tpot, &figures.ttft,
          &figures.itl, &figures.prompt_len, &figures.output_len, &figures.failed_latency}) {
        list->close();
    }
    return figures;
}

void write_list(JsonWriter& json, const char* name, const ValueList& values) {
    json.key(name);
    if (values.empty()) {
        json.null();
        return;
    }
    json.begin_object();
    put_number(json, "mean", values.mean());
    put_number(json, "min", values.min());
    put_number(json, "max", values.max());
    put_number(json, "median", values.linear(500));
    constexpr std::pair<const char*, std::uint32_t> shares[] = {
        {"p0.1", 1},  {"p1", 10},   {"p5", 50},   {"p10", 100}, {"p25", 250},
        {"p75", 750}, {"p90", 900}, {"p95", 950}, {"p99", 990}, {"p99.9", 999}};
    for (const auto& [key, per_mille] : shares) {
        put_number(json, key, values.linear(per_mille));
    }
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
    result.notes = notes_on(run, {false, true, true});
    result.notes.emplace_back(
        "a TTFT needs two tokens: an answer of one token has none, and fails a TTFT limit");
    result.notes.emplace_back(
        "all tokens of a chunk have its stamp, so that ITL has zeros; only delta.content counts");
    return result;
}

}  // namespace driftless
