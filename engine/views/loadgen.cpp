// MLPerf LoadGen, Server scenario with token latencies (loadgen/results.cc, logging.cc).

#include <algorithm>

#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

struct LoadgenFigures {
    std::int64_t queries = 0;
    std::int64_t tokens = 0;
    std::int64_t one_token = 0;
    double final_end_s = 0;  ///< when the query that was due last had ended
    double final_scheduled_s = 0;
    ValueList latency;  ///< ns
    ValueList first_token;
    ValueList tpot;

    double completed_per_s() const { return ratio(as_double(queries - 1), final_end_s); }
    double scheduled_per_s() const { return ratio(as_double(queries - 1), final_scheduled_s); }
    double tokens_per_s() const { return ratio(as_double(tokens), final_end_s); }
};

LoadgenFigures figures_of(const ViewedRun& run) {
    LoadgenFigures figures;
    std::int64_t last_due = INT64_MIN;
    for (const ViewedRequest& request : run.requests) {
        const std::vector<std::int64_t> stamps = request.stamps_of(all_text_kinds);
        if (!request.stream_read() || stamps.empty()) {
            continue;
        }
        const std::int64_t latency = stamps.back() - request.due_ns;
        const std::int64_t first = stamps.front() - request.due_ns;
        const std::int64_t tokens =
            request.output_usage.value_or(tokens_or_usage(request, all_text_kinds));
        // One token is set to none: it is lost, and divides by -1.
        const std::int64_t kept = tokens == 1 ? 0 : tokens;
        ++figures.queries;
        figures.one_token += tokens == 1 ? 1 : 0;
        figures.tokens += kept;
        figures.latency.add(as_double(latency));
        figures.first_token.add(as_double(first));
        figures.tpot.add(as_double((latency - first) / (kept - 1)));
        if (request.due_ns >= last_due) {
            last_due = request.due_ns;
            figures.final_end_s = in_s(stamps.back());
            figures.final_scheduled_s = in_s(request.due_ns);
        }
    }
    for (ValueList* list : {&figures.latency, &figures.first_token, &figures.tpot}) {
        list->close();
    }
    return figures;
}

struct LoadgenPercentile {
    std::uint32_t per_mille;
    const char* name;
};
constexpr LoadgenPercentile percentiles_shown[] = {{500, "50.00"}, {900, "90.00"}, {950, "95.00"},
                                                   {970, "97.00"}, {990, "99.00"}, {999, "99.90"}};

/// Integers of ns, as the tool has them.
std::string whole_ns(double ns) {
    return fixed(ns, 0);
}

void add_block(std::string& screen, const std::string& what, const ValueList& values) {
    const auto line = [&screen](const std::string& label, double value) {
        screen += pad_right(label, 48) + ": " + whole_ns(value) + "\n";
    };
    line("Min " + what + " (ns)", values.min());
    line("Max " + what + " (ns)", values.max());
    line("Mean " + what + " (ns)", values.mean());
    for (const LoadgenPercentile& one : percentiles_shown) {
        line(std::string(one.name) + " percentile " + what + " (ns)",
             values.floor_rank(one.per_mille));
    }
}

std::string screen_of(const LoadgenFigures& figures) {
    const std::string rule(48, '=');
    std::string screen = rule + "\nMLPerf Results Summary\n" + rule + "\n";
    screen += "SUT name : driftless\nScenario : Server\nMode     : PerformanceOnly\n";
    screen += "Completed samples per second    : " + fixed(figures.completed_per_s(), 2) + "\n";
    screen += "Completed tokens per second: " + fixed(figures.tokens_per_s(), 2) + "\n";
    screen += "\n" + rule + "\nAdditional Stats\n" + rule + "\n";
    screen += "Scheduled samples per second : " + fixed(figures.scheduled_per_s(), 2) + "\n";
    add_block(screen, "latency", figures.latency);
    screen += "\n";
    add_block(screen, "First Token latency", figures.first_token);
    screen += "\n";
    add_block(screen, "Time per Output Token", figures.tpot);
    return screen;
}

void write_block(JsonWriter& json, const std::string& prefix, const char* suffix,
                 const ValueList& values) {
    put_integer(json, prefix + "min" + suffix, static_cast<std::int64_t>(values.min()));
    put_integer(json, prefix + "max" + suffix, static_cast<std::int64_t>(values.max()));
    put_integer(json, prefix + "mean" + suffix, static_cast<std::int64_t>(values.mean()));
    for (const LoadgenPercentile& one : percentiles_shown) {
        put_integer(json, prefix + one.name + "_percentile" + suffix,
                    static_cast<std::int64_t>(values.floor_rank(one.per_mille)));
    }
}

}  // namespace

ViewResult loadgen_view(const ViewedRun& run) {
    const LoadgenFigures figures = figures_of(run);
    ViewResult result;
    result.screen = screen_of(figures);
    JsonWriter json(result.json);
    json.begin_object();
    put_number(json, "result_completed_samples_per_sec", figures.completed_per_s());
    put_number(json, "result_scheduled_samples_per_sec", figures.scheduled_per_s());
    put_number(json, "result_completed_tokens_per_second", figures.tokens_per_s());
    write_block(json, "result_", "_latency_ns", figures.latency);
    write_block(json, "result_first_token_", "_latency_ns", figures.first_token);
    write_block(json, "result_time_per_output_token_", "_ns", figures.tpot);
    json.end_object();
    result.json += "\n";
    result.notes = notes_on(run, {false, false, false});
    result.notes.emplace_back(
        "every latency starts at the due instant; a request without an answer would hang the tool "
        "and is left out here");
    result.notes.emplace_back(
        "not computable: whether the run is VALID (minimum duration, queries, early stopping), "
        "because that is a rule of a submission");
    if (figures.one_token > 0) {
        result.notes.push_back("wrong in the tool: the one token of " +
                               std::to_string(figures.one_token) +
                               " answers counts as none: it is missing in tokens per second, and "
                               "TPOT divides by -1; the tool's figure is shown, except its Mean "
                               "TPOT, which overflows when the sum is negative");
    }
    return result;
}

}  // namespace driftless
