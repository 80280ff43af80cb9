// InferenceX's runs of fixed length: its fork of vLLM's benchmark (utils/bench_serving) and what
// utils/process_result.py makes of it.

#include <algorithm>

#include "engine/views/serving.hpp"

namespace driftless {

namespace {

struct FixedFigures {
    std::int64_t completed = 0;
    std::int64_t failed = 0;
    double duration_s = 0;
    ServingSums sums;

    double per_second(std::int64_t count) const { return ratio(as_double(count), duration_s); }
};

FixedFigures figures_of(const ViewedRun& run) {
    FixedFigures figures;
    figures.duration_s = in_s(run.duration_ns);
    std::vector<ServedRequest> served;
    for (const ViewedRequest& request : run.requests) {
        if (!request.stream_read()) {
            ++figures.failed;
            continue;
        }
        ServedRequest& one = served.emplace_back();
        one.events_ns = request.choice_events();
        std::int64_t last = one.events_ns.empty() ? request.fired_ns : one.events_ns.back();
        last = std::max({last, request.usage_ns.value_or(last), request.error_ns.value_or(last)});
        one.fired_ns = request.fired_ns;
        one.ttft_ns = one.events_ns.empty() ? 0 : one.events_ns.front() - request.fired_ns;
        one.e2e_ns = last - request.fired_ns;
        one.prompt_tokens = request.prompt_recorded;
        one.output_tokens = request.output_usage.value_or(0);
    }
    figures.completed = static_cast<std::int64_t>(served.size());
    figures.sums = serving_sums(served);
    return figures;
}

struct Statistic {
    const char* name;
    double value;
};

std::vector<Statistic> statistics_of(const ValueList& values) {
    return {{"mean", values.mean()},     {"median", values.linear(500)},
            {"std", values.std()},       {"p90", values.linear(900)},
            {"p99", values.linear(990)}, {"p99.9", values.linear(999)}};
}

void write_metric(JsonWriter& json, const std::string& name, const ValueList& values) {
    for (const Statistic& one : statistics_of(values)) {
        put_number(json, std::string(one.name) + "_" + name, one.value / 1000);
        if (name == "tpot") {  // `std_intvty` is 1000 / std(TPOT), and means nothing
            put_number(json, std::string(one.name) + "_intvty", ratio(1000, one.value));
        }
    }
}

}  // namespace

ViewResult inferencex_fixed_view(const ViewedRun& run) {
    const FixedFigures figures = figures_of(run);
    const ServingSums& sums = figures.sums;
    ViewResult result;
    JsonWriter json(result.json);
    json.begin_object();
    put_text(json, "model", run.model);
    put_integer(json, "completed", figures.completed);
    put_number(json, "duration", figures.duration_s);
    put_integer(json, "total_input_tokens", sums.input);
    put_integer(json, "total_output_tokens", sums.output);
    put_number(json, "request_throughput", figures.per_second(figures.completed));
    put_number(json, "output_throughput", figures.per_second(sums.output));
    put_number(json, "total_token_throughput", figures.per_second(sums.input + sums.output));
    write_metric(json, "ttft", sums.ttft);
    write_metric(json, "tpot", sums.tpot);
    write_metric(json, "itl", sums.itl);
    write_metric(json, "e2el", sums.e2e);
    json.end_object();
    result.json += "\n";

    ViewTable table({"", "mean", "median", "std", "p90", "p99", "p99.9"});
    const auto add = [&table](const char* name, const ValueList& values, bool inverse) {
        std::vector<std::string> row{name};
        for (const Statistic& one : statistics_of(values)) {
            row.push_back(fixed(inverse ? ratio(1000, one.value) : one.value, 2));
        }
        table.add(std::move(row));
    };
    add("ttft (ms)", sums.ttft, false);
    add("tpot (ms)", sums.tpot, false);
    add("intvty (tok/s/user)", sums.tpot, true);
    add("itl (ms)", sums.itl, false);
    add("e2el (ms)", sums.e2e, false);
    result.screen = table.text() + "completed " + std::to_string(figures.completed) + " of " +
                    std::to_string(figures.completed + figures.failed) + ", output " +
                    fixed(figures.per_second(sums.output), 2) + " tok/s, total " +
                    fixed(figures.per_second(sums.input + sums.output), 2) + " tok/s\n";
    result.notes = notes_on(run, {true, true, false});
    result.notes.emplace_back("E2E ends at the last JSON event, usage and errors included");
    result.notes.emplace_back(
        "an answer without usage counts as no tokens, and one without any event as a success");
    result.notes.emplace_back(
        "wrong in the tool: std_intvty is 1000 / std(TPOT), which has no meaning; its figure is "
        "shown");
    result.notes.emplace_back(
        "not computable: figures per GPU, because the run does not know the GPUs");
    return result;
}

}  // namespace driftless
