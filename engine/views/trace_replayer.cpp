// trace-replayer (src/requester.rs, src/apis/openai_api.rs).

#include <algorithm>

#include "engine/views/view_text.hpp"

namespace driftless {

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

ReplayerFigures figures_of(const ViewedRun& run) {
    ReplayerFigures figures;
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
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
        first = std::min(first, request.fired_ns);
        last = std::max(last, read);
        const std::vector<std::int64_t> events = request.choice_events();
        if (!parsed || events.empty() || !request.headers_ns) {
            continue;
        }
        figures.ttft.add(in_ms(events.front() - *request.headers_ns));
        figures.tpot.add(
            ratio(in_ms(events.back() - events.front()), as_double(request.output_recorded)));
    }
    figures.duration_ns = figures.rows == 0 ? 0 : last - first;
    for (ValueList* list : {&figures.ttft, &figures.tpot, &figures.e2e}) {
        list->close();
    }
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
    const auto lines = lines_of(figures_of(run));
    ViewResult result;
    JsonWriter json(result.json);
    json.begin_object();
    for (const auto& [name, value] : lines) {
        result.screen += pad_right(name, 24) + value + "\n";
        json.key(name).raw(value);
    }
    json.end_object();
    result.json += "\n";
    result.notes = notes_on(run, {true, false, false});
    result.notes.emplace_back(
        "TTFT starts at the response headers: a server that sends them with the first event has 0");
    result.notes.emplace_back(
        "nothing fails: rows of any status count with the recorded length, and TPOT divides by the "
        "recorded length; a row whose connection failed is in no figure");
    return result;
}

}  // namespace driftless
