// llm-d's benchmark report 0.2.1, as it imports a result of vLLM's benchmark
// (llmdbenchmark/analysis/benchmark_report/native_to_br0_2.py).

#include "engine/views/vllm.hpp"

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

}  // namespace driftless
