// MLPerf LoadGen, Server scenario with token latencies (loadgen/results.cc, logging.cc).

#include "cmd/reading/view.hpp"

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

LoadgenFigures loadgen_figures(const ViewedRun& run) {
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
    return figures;
}

struct LoadgenPercentile {
    std::uint32_t per_mille;
    const char* name;
};
constexpr LoadgenPercentile percentiles_shown[] = {{500, "50.00"}, {900, "90.00"}, {950, "95.00"},
                                                   {970, "97.00"}, {990, "99.00"}, {999, "99.90"}};

/// Integers of ns, as the tool has them.
void add_block(std::string& screen, const std::string& what, const ValueList& values) {
    const auto line = [&screen](const std::string& label, double value) {
        screen += pad_right(label, 48) + ": " + fixed(value, 0) + "\n";
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

void put_block(JsonWriter& json, const std::string& prefix, const char* suffix,
               const ValueList& values) {
    const auto whole = [](double ns) { return static_cast<std::int64_t>(ns); };
    put(json, {{prefix + "min" + suffix, whole(values.min())},
               {prefix + "max" + suffix, whole(values.max())},
               {prefix + "mean" + suffix, whole(values.mean())}});
    for (const LoadgenPercentile& one : percentiles_shown) {
        put(json, {{prefix + one.name + "_percentile" + suffix,
                    whole(values.floor_rank(one.per_mille))}});
    }
}

}  // namespace

ViewResult loadgen_view(const ViewedRun& run) {
    const LoadgenFigures figures = loadgen_figures(run);
    ViewResult result;
    result.screen = screen_of(figures);
    result.json = file_of([&figures](JsonWriter& json) {
        put(json, {{"result_completed_samples_per_sec", figures.completed_per_s()},
                   {"result_scheduled_samples_per_sec", figures.scheduled_per_s()},
                   {"result_completed_tokens_per_second", figures.tokens_per_s()}});
        put_block(json, "result_", "_latency_ns", figures.latency);
        put_block(json, "result_first_token_", "_latency_ns", figures.first_token);
        put_block(json, "result_time_per_output_token_", "_ns", figures.tpot);
    });
    result.notes = notes_on(
        run, {false, false, false},
        {"every latency starts at the due instant; a request without an answer would hang the tool "
         "and is left out here",
         "not computable: whether the run is VALID (minimum duration, queries, early stopping), "
         "because that is a rule of a submission"});
    if (figures.one_token > 0) {
        result.notes.push_back("wrong in the tool: the one token of " +
                               std::to_string(figures.one_token) +
                               " answers counts as none: it is missing in tokens per second, and "
                               "TPOT divides by -1; the tool's figure is shown, except its Mean "
                               "TPOT, which overflows when the sum is negative");
    }
    return result;
}

// trace-replayer (src/requester.rs, src/apis/openai_api.rs).

namespace {

struct ReplayerFigures {
    std::int64_t rows = 0;
    std::int64_t success = 0;
    std::int64_t tokens = 0;
    std::int64_t duration_ns = 0;
    ValueList ttft;
    ValueList tpot;
    ValueList e2e;
};

/// A row that is in no file: the transport failed. A timeout has a row.
bool has_row(const ViewedRequest& request) {
    switch (request.outcome) {
        case Outcome::timeout_connect:
        case Outcome::timeout_first_byte:
        case Outcome::timeout_idle:
        case Outcome::timeout_total:
            return true;
        default:
            return request.status != 0 && request.outcome != Outcome::truncated &&
                   request.outcome != Outcome::bad_http;
    }
}

ReplayerFigures replayer_figures(const ViewedRun& run) {
    ReplayerFigures figures;
    ViewSpan span;
    for (const ViewedRequest& request : run.requests) {
        if (!has_row(request)) {
            continue;
        }
        const bool parsed = request.status == 200;
        const std::int64_t read = parsed ? request.marker_ns.value_or(request.ended_ns)
                                         : request.headers_ns.value_or(request.ended_ns);
        ++figures.rows;
        figures.success += parsed ? 1 : 0;
        figures.tokens += request.output_recorded;
        figures.e2e.add(in_ms(read - request.fired_ns));
        span.add(request.fired_ns, read);
        const std::vector<std::int64_t> events = request.choice_events();
        if (!parsed || events.empty() || !request.headers_ns) {
            continue;
        }
        figures.ttft.add(in_ms(events.front() - *request.headers_ns));
        figures.tpot.add(
            ratio(in_ms(events.back() - events.front()), as_double(request.output_recorded)));
    }
    figures.duration_ns = span.length_ns();
    return figures;
}

void add_metric(std::vector<std::pair<std::string, std::string>>& lines, const std::string& name,
                const ValueList& values) {
    for (const std::uint32_t one : {500U, 900U, 950U, 990U}) {
        lines.emplace_back(name + "_p" + std::to_string(one / 10) + "_ms",
                           fixed(values.nearest_above(one), 3));
    }
    lines.emplace_back(name + "_mean_ms", fixed(values.mean(), 3));
}

std::vector<std::pair<std::string, std::string>> lines_of(const ReplayerFigures& figures) {
    const double seconds = in_s(figures.duration_ns);
    std::vector<std::pair<std::string, std::string>> lines = {
        {"requests_total", std::to_string(figures.rows)},
        {"requests_success", std::to_string(figures.success)},
        {"output_tokens_total", std::to_string(figures.tokens)},
        {"duration_ms", fixed(in_ms(figures.duration_ns), 3)},
        {"throughput_rps", fixed(ratio(as_double(figures.rows), seconds), 3)},
        {"throughput_tps", fixed(ratio(as_double(figures.tokens), seconds), 3)}};
    add_metric(lines, "ttft", figures.ttft);
    add_metric(lines, "tpot", figures.tpot);
    add_metric(lines, "e2e", figures.e2e);
    return lines;
}

}  // namespace

ViewResult trace_replayer_view(const ViewedRun& run) {
    const auto lines = lines_of(replayer_figures(run));
    ViewResult result;
    result.json = file_of([&](JsonWriter& json) {
        for (const auto& [name, value] : lines) {
            result.screen += pad_right(name, 24) + value + "\n";
            json.key(name).raw(value);
        }
    });
    result.notes = notes_on(
        run, {true, false, false},
        {"TTFT starts at the response headers: a server that sends them with the first event has 0",
         "nothing fails: rows of any status count with the recorded length, and TPOT divides by "
         "the recorded length; a row whose connection failed is in no figure"});
    return result;
}

}  // namespace driftless
