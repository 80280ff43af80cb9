// MLPerf LoadGen, Server scenario with token latencies (loadgen/results.cc, logging.cc).

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

static std::int64_t loadgen_tokens(const ViewedRequest& request) {
    return request.output_usage.value_or(tokens_or_usage(request, all_text_kinds));
}

/// One token is set to none: it is lost, and divides by -1.
static std::optional<Counted> loadgen_counted(const ViewedRequest& request) {
    const std::vector<std::int64_t> stamps = request.stamps_of(all_text_kinds);
    if (!request.stream_read() || stamps.empty()) {
        return std::nullopt;
    }
    const std::int64_t due = request.due_ns;
    const std::int64_t tokens = loadgen_tokens(request);
    const bool streamed = request.stamped != ViewedStamps::whole;
    const OptionalNs first = streamed ? OptionalNs(stamps.front() - due) : std::nullopt;
    return Counted{due, first, stamps.back() - due, 0, tokens == 1 ? 0 : tokens, {}};
}

static ToolKeys loadgen_keys(const Tally& t) {
    const Counted none;
    const Counted* last = &none;  // the query that was due last
    for (const Counted& one : t.ok) {
        last = last == &none || one.begin_ns >= last->begin_ns ? &one : last;
    }
    const double end_s = in_s(last->end_ns());
    const double gaps = as_double(t.count() - 1);
    ToolKeys keys = {
        {"result_completed_samples_per_sec", ratio(gaps, end_s)},
        {"result_scheduled_samples_per_sec", ratio(gaps, in_s(last->begin_ns))},
        {"result_completed_tokens_per_second", ratio(as_double(t.output), end_s)},
        {"result_*_latency_ns", whole_answer<1.0>, "latency"},
        {"result_first_token_*_latency_ns", first_token<1.0>, "First Token latency"},
        {"result_time_per_output_token_*_ns",
         [](const Counted& one) -> Known {
             return known_if(one.first_ns.has_value(),
                             as_double(one.decode_ns() / (one.output - 1)));
         },
         "Time per Output Token"},
    };
    return measured(std::move(keys), t);
}

static constexpr std::string_view loadgen_statistics =
    "min max mean 50.00_percentile 90.00_percentile 95.00_percentile 97.00_percentile "
    "99.00_percentile 99.90_percentile";

static double loadgen_value(const ToolKey& row, std::string_view name) {
    const auto percent = read_number<double>(name.substr(0, name.find('_')));
    return percent ? row.values().floor_rank(static_cast<std::uint32_t>(std::lround(*percent * 10)))
                   : row.statistic(name);
}

/// Integers of ns, as the tool has them.
static KeyValue loadgen_statistic(const ToolKey& row, std::string_view name) {
    return static_cast<std::int64_t>(loadgen_value(row, name));
}

static std::string loadgen_screen(const ToolKeys& keys) {
    const auto number = [&keys](std::size_t row) { return std::get<double>(keys[row].value); };
    std::string screen = fmt::format(
        "{0}\nMLPerf Results Summary\n{0}\n"
        "SUT name : driftless\nScenario : Server\nMode     : PerformanceOnly\n"
        "Completed samples per second    : {1:.2f}\nCompleted tokens per second: {2:.2f}\n"
        "\n{0}\nAdditional Stats\n{0}\nScheduled samples per second : {3:.2f}\n",
        std::string(48, '='), number(0), number(2), number(1));
    std::string_view between;
    for (const ToolKey* const line : lines_of(keys)) {
        screen += std::exchange(between, "\n");
        for (std::string name : words_in(loadgen_statistics)) {
            const std::string value =
                line->computable() ? fixed(loadgen_value(*line, name), 0) : "-";
            std::replace(name.begin(), name.end(), '_', ' ');
            name[0] = static_cast<char>(std::toupper(name[0]));
            screen += fmt::format("{:<48}: {}\n", name + " " + line->label + " (ns)", value);
        }
    }
    return screen;
}

ViewResult loadgen_view(const ViewedRun& run) {
    const Tally t = tally_of(run, loadgen_counted);
    const ToolKeys keys = loadgen_keys(t);
    ViewResult result;
    result.screen = loadgen_screen(keys);
    result.json = file_of(keys, {.statistics = loadgen_statistics, .statistic = loadgen_statistic});
    result.notes = notes_on(
        run, {false, false, false},
        {"every latency starts at the due instant; a request without an answer would hang the tool "
         "and is left out here",
         "not computable: whether the run is VALID (minimum duration, queries, early stopping), "
         "because that is a rule of a submission"});
    const auto one_token = std::count_if(t.ok.begin(), t.ok.end(), [](const Counted& one) {
        return loadgen_tokens(*one.seen) == 1;
    });
    if (one_token > 0) {
        result.notes.push_back("wrong in the tool: the one token of " + std::to_string(one_token) +
                               " answers counts as none: it is missing in tokens per second, and "
                               "TPOT divides by -1; the tool's figure is shown, except its Mean "
                               "TPOT, which overflows when the sum is negative");
    }
    return result;
}

// trace-replayer (src/requester.rs, src/apis/openai_api.rs).

/// Without one is a row that is in no file: the transport failed. A timeout has a row.
static std::optional<Counted> replayer_counted(const ViewedRequest& request) {
    const bool timed_out = request.outcome == Outcome::timeout_connect ||
                           request.outcome == Outcome::timeout_first_byte ||
                           request.outcome == Outcome::timeout_idle ||
                           request.outcome == Outcome::timeout_total;
    if (!timed_out && (request.status == 0 || request.outcome == Outcome::truncated ||
                       request.outcome == Outcome::bad_http)) {
        return std::nullopt;
    }
    const bool parsed = request.status == 200;
    const OptionalNs& end = parsed ? request.marker_ns : request.headers_ns;
    Counted one = counted_of(request, request.choice_events(), end.value_or(request.ended_ns), 0,
                             request.output_recorded);
    if (!parsed || !request.headers_ns) {
        one.first_ns.reset();
    }
    return one;
}

static Known replayer_ttft_ms(const Counted& one) {
    const std::int64_t first = one.begin_ns + one.first_ns.value_or(0);
    return known_if(one.first_ns.has_value(), in_ms(first - one.seen->headers_ns.value_or(0)));
}

static Known replayer_tpot_ms(const Counted& one) {
    return known_if(one.first_ns.has_value(),
                    ratio(in_ms(one.events_length_ns()), as_double(one.output)));
}

static ToolKeys replayer_keys(const ViewedRun& run) {
    Tally t = tally_of(run, replayer_counted);
    t.seconds = in_s(t.span.length_ns());
    const auto parsed = std::count_if(t.ok.begin(), t.ok.end(),
                                      [](const Counted& one) { return one.seen->status == 200; });
    ToolKeys keys = {
        {"requests_total", t.count()},
        {"requests_success", parsed},
        {"output_tokens_total", t.output},
        {"duration_ms", in_ms(t.span.length_ns())},
        {"throughput_rps", t.per_second(t.count())},
        {"throughput_tps", t.per_second(t.output)},
        {"ttft_*_ms", replayer_ttft_ms},
        {"tpot_*_ms", replayer_tpot_ms},
        {"e2e_*_ms", whole_answer<ns_per_ms>},
    };
    return measured(std::move(keys), t);
}

static KeyValue replayer_statistic(const ToolKey& row, std::string_view name) {
    const auto percent = read_number<std::uint32_t>(name.substr(1));
    return percent ? row.values().nearest_above(*percent * 10) : row.statistic(name);
}

ViewResult trace_replayer_view(const ViewedRun& run) {
    const ToolKeys keys = replayer_keys(run);
    const FileStyle style{
        .statistics = "p50 p90 p95 p99 mean",
        .statistic = replayer_statistic,
        .put_number = [](JsonWriter& json, double value) { json.raw(fixed(value, 3)); }};
    ViewResult result;
    for (const ToolMember& one : members_of(keys, style)) {
        result.screen += fmt::format("{:<24}{}\n", one.path, one.json == "null" ? "-" : one.json);
    }
    result.json = file_of(keys, style);
    result.notes = notes_on(
        run, {true, false, false},
        {"TTFT starts at the response headers: a server that sends them with the first event has 0",
         "nothing fails: rows of any status count with the recorded length, and TPOT divides by "
         "the recorded length; a row whose connection failed is in no figure"});
    return result;
}

}  // namespace driftless
