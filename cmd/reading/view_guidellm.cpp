#include <algorithm>
#include <cmath>
#include <utility>

#include "cmd/reading/view_keys.hpp"

namespace driftless {

// GuideLLM's distributions over time: of rates and of concurrency.

static constexpr double merged_within_s = 1e-4;
static constexpr double last_duration_min_s = 1e-6;

/// Sorted by time: each group within 0.1 ms of its first becomes one at that first.
static std::vector<WeightedValue> merged(std::vector<WeightedValue> times) {
    std::ranges::stable_sort(times, {}, &WeightedValue::first);
    std::vector<WeightedValue> out;
    double previous = 0;
    for (const auto& [at, weight] : times) {
        const bool in_run = !out.empty() && at - previous <= merged_within_s;
        if (in_run && at <= out.back().first + merged_within_s) {
            out.back().second += weight;
        } else {
            out.emplace_back(at, weight);
        }
        previous = at;
    }
    return out;
}

/// Rates of events in [start, end], s: what each counts for, over half the distance between its
/// neighbours, weighted by that. Events within 0.1 ms are one.
static WeightedFigures rate_distribution(std::vector<WeightedValue> times, double start,
                                         double end) {
    std::erase_if(times, [start, end](const WeightedValue& one) {
        return one.first < start || one.first > end;
    });
    times.insert(times.begin(), {start, 0});
    times.emplace_back(end, 0);
    const std::vector<WeightedValue> events = merged(std::move(times));
    if (events.size() <= 1) {
        return weighted_figures({}, static_cast<std::int64_t>(events.size()));
    }
    std::vector<WeightedValue> rates;
    double total = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const double before =
            i == 0 ? events[i].first : (events[i - 1].first + events[i].first) / 2;
        const double behind =
            i + 1 == events.size() ? events[i].first : (events[i].first + events[i + 1].first) / 2;
        const double duration = i + 1 == events.size()
                                    ? std::max(behind - before, last_duration_min_s)
                                    : behind - before;
        rates.emplace_back(events[i].second / duration, duration);
        total += events[i].second;
    }
    return weighted_figures(std::move(rates), std::llround(total));
}

/// How many of the intervals (begin, end) were open, weighted by time.
static WeightedFigures concurrency_distribution(const std::vector<WeightedValue>& intervals,
                                                double start, double end) {
    std::vector<WeightedValue> changes;
    std::int64_t count = 0;
    for (const auto& [begin, until] : intervals) {
        if (until >= start && begin <= end) {
            changes.emplace_back(begin, 1);
            changes.emplace_back(until, -1);
            ++count;
        }
    }
    changes = merged(std::move(changes));
    if (changes.empty()) {
        return weighted_figures({}, 0);
    }
    double before = 0;
    std::vector<WeightedValue> inside;
    for (const WeightedValue& change : changes) {
        if (change.first < start) {
            before += change.second;
        } else if (change.first <= end) {
            inside.push_back(change);
        }
    }
    inside.insert(inside.begin(), {start, before});
    inside.emplace_back(end, 0);
    std::vector<WeightedValue> levels;
    double open = 0;
    double time = 0;
    for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
        open += inside[i].second;
        const double lasted = std::max(inside[i + 1].first - inside[i].first, 0.0);
        levels.emplace_back(std::max(open, 0.0), lasted);
        time += lasted;
    }
    return time > 0 ? weighted_figures(std::move(levels), count) : weighted_figures({}, count);
}

// GuideLLM (guidellm/schemas/base/request_stats.py, statistics.py, benchmark/schemas/metrics.py).

/// As the tool stores it: up to its last token, the prompt by usage alone.
static Counted guide_counted(const ViewedRequest& request) {
    const std::vector<std::int64_t> stamps = request.stamps_of(all_text_kinds);
    const std::int64_t chunks = request.stamped == ViewedStamps::every_chunk
                                    ? static_cast<std::int64_t>(stamps.size())
                                    : request.output_counted;
    Counted one =
        counted_of(request, stamps, stamps.empty() ? request.fired_ns : stamps.back(),
                   request.prompt_usage.value_or(0), request.output_usage.value_or(chunks));
    one.seen = &request;
    return one;
}

static bool is_ok(const Counted& one) {
    return (one.first_ns || one.seen->stamped == ViewedStamps::whole) && one.seen->stream_read() &&
           !one.seen->error_ns && one.seen->outcome != Outcome::stream_error;
}

// Seconds from the start of the run.

static Known start_s(const Counted& one) {
    return in_s(one.begin_ns);
}

/// What is raised ends it: an error at its event, a status at the head.
static Known end_s(const Counted& one) {
    const ViewedRequest& seen = *one.seen;
    if (is_ok(one)) {
        return in_s(seen.marker_ns.value_or(seen.ended_ns));
    }
    const OptionalNs raised = seen.status == 200 ? std::nullopt : seen.headers_ns;
    return in_s(seen.error_ns.value_or(raised.value_or(seen.ended_ns)));
}

static Known first_token_s(const Counted& one) {
    return one.first_ns ? in_s(one.begin_ns + *one.first_ns) : end_s(one);
}

namespace {

using Values = std::vector<WeightedValue>;

}  // namespace

/// When its tokens came: the first, and the others at equal steps up to the last.
static void add_output(const Counted& one, Values& out) {
    const double last = one.first_ns ? in_s(one.end_ns()) : *end_s(one);
    if (one.events_ns.size() <= 1) {
        out.emplace_back(last, as_double(one.output));
        return;
    }
    const double begin = *first_token_s(one);
    out.emplace_back(begin, one.output > 0 ? 1 : 0);
    const auto steps = static_cast<double>(one.events_ns.size() - 1);
    const double step = (last - begin) / steps;
    for (std::size_t i = 1; one.output > 1 && i < one.events_ns.size(); ++i) {
        out.emplace_back(begin + step * static_cast<double>(i), as_double(one.output - 1) / steps);
    }
}

static Known gaps_of(const Counted& one) {
    return std::max(as_double(one.output - 1), 0.0);
}

namespace {

/// What a metric makes of its values: their distribution, that of their rates at those times, or of
/// how many were open from the value to the weight.
enum class GuideKind { values, rates, open };

struct GuideMetric {
    const char* name;
    GuideKind kind;
    RequestFigure value;
    RequestFigure weight = nullptr;  ///< 1
    void (*more)(const Counted& one, Values& out) = nullptr;
};

}  // namespace

static constexpr GuideMetric guide_metrics[] = {
    {"requests_per_second", GuideKind::rates, end_s},
    {"request_concurrency", GuideKind::open, start_s, end_s},
    {"prompt_tokens_per_second", GuideKind::rates, first_token_s, prompt_tokens},
    {"output_tokens_per_second", GuideKind::rates, nullptr, nullptr, add_output},
    {"tokens_per_second", GuideKind::rates, first_token_s, prompt_tokens, add_output},
    {"request_latency", GuideKind::values,
     [](const Counted& one) { return is_ok(one) ? Known(*end_s(one) - *start_s(one)) : 0; }},
    {"request_dispatch_delay", GuideKind::values,
     [](const Counted& one) -> Known { return *start_s(one) - in_s(one.seen->due_ns); }},
    {"request_scheduled_latency", GuideKind::values,
     [](const Counted& one) { return known_if(is_ok(one), *end_s(one) - in_s(one.seen->due_ns)); }},
    {"prompt_token_count", GuideKind::values, prompt_tokens},
    {"output_token_count", GuideKind::values, output_tokens},
    {"total_token_count", GuideKind::values, all_tokens},
    {"time_to_first_token_ms", GuideKind::values, first_token<ns_per_ms>},
    {"time_to_first_output_token_ms", GuideKind::values, first_spoken_ms},
    {"time_per_output_token_ms", GuideKind::values,
     [](const Counted& one) -> Known { return ratio(in_ms(one.last_ns), as_double(one.output)); },
     output_tokens},
    {"inter_token_latency_ms", GuideKind::values,
     [](const Counted& one) {
         return known_if(one.first_ns.has_value(), ratio(in_ms(one.decode_ns()), *gaps_of(one)));
     },
     gaps_of},
};

namespace {

/// The columns of a metric.
enum GuideStatus { guide_ok, guide_incomplete, guide_errored, guide_all };

}  // namespace

static constexpr const char* status_names[] = {"successful", "incomplete", "errored", "total"};

namespace {

/// What can be computed of them.
enum class GuideKnown { all, mean, none };

struct GuideFigures {
    WeightedFigures of;
    GuideKnown known = GuideKnown::all;
};

struct GuideRun {
    std::vector<Counted> all;
    double end_s = 0;

    /// `incomplete` is always empty here.
    GuideFigures figures(const GuideMetric& metric, GuideStatus status) const {
        Values values;
        GuideKnown known = GuideKnown::all;
        for (const Counted& one : all) {
            if (status != guide_all && status != (is_ok(one) ? guide_ok : guide_errored)) {
                continue;
            }
            if (const Known value = metric.value != nullptr ? metric.value(one) : std::nullopt) {
                values.emplace_back(*value, metric.weight != nullptr ? *metric.weight(one) : 1);
            }
            if (metric.more != nullptr) {
                metric.more(one, values);
                // Without the stamps between, when the tokens came; but not how many.
                known = one.seen->stamped == ViewedStamps::ends ? GuideKnown::mean : known;
            } else if (values.empty() && one.seen->stamped == ViewedStamps::whole) {
                known = GuideKnown::none;
            }
        }
        known = known == GuideKnown::none && !values.empty() ? GuideKnown::all : known;
        if (metric.kind == GuideKind::values || status == guide_incomplete) {
            return {weighted_figures(std::move(values)), known};
        }
        return {metric.kind == GuideKind::rates ? rate_distribution(std::move(values), 0, end_s)
                                                : concurrency_distribution(values, 0, end_s),
                known};
    }
};

}  // namespace

static ToolKeys column_of(const std::string& path, const GuideFigures& column) {
    const WeightedFigures& figures = column.of;
    const bool any = column.known != GuideKnown::none;
    const auto all = [&column](double value) {
        return computed_if(column.known == GuideKnown::all, value);
    };
    constexpr const char* percentiles[] = {"p001", "p01", "p05", "p10", "p25", "p50",
                                           "p75",  "p90", "p95", "p99", "p999"};
    ToolKeys keys = {{path + "mean", computed_if(any, figures.mean)},
                     {path + "median", all(figures.median)},
                     {path + "mode", all(figures.mode)},
                     {path + "variance", all(figures.variance)},
                     {path + "std_dev", all(figures.std_dev)},
                     {path + "min", all(figures.min)},
                     {path + "max", all(figures.max)},
                     {path + "count", figures.count},
                     {path + "total_sum", computed_if(any, figures.total_sum)}};
    for (std::size_t i = 0; i < std::size(percentiles); ++i) {
        keys.push_back({path + "percentiles/" + percentiles[i], all(figures.percentiles[i])});
    }
    return keys;
}

static ToolKeys guide_keys(const ViewedRun& viewed, const GuideRun& run) {
    const auto all = static_cast<std::int64_t>(run.all.size());
    const std::int64_t ok = std::count_if(run.all.begin(), run.all.end(), is_ok);
    const double start = in_s(viewed.zero_utc_ns);
    const std::string totals = "benchmarks[]/metrics/request_totals/";
    ToolKeys keys = {{"metadata/guidellm_version", "0.8.1"},
                     {"benchmarks[]/start_time", start},
                     {"benchmarks[]/end_time", start + run.end_s},
                     {"benchmarks[]/duration", run.end_s},
                     {"benchmarks[]/warmup_duration", 0},
                     {"benchmarks[]/cooldown_duration", 0},
                     {totals + "successful", ok},
                     {totals + "incomplete", 0},
                     {totals + "errored", all - ok},
                     {totals + "total", all}};
    for (const GuideMetric& metric : guide_metrics) {
        for (const GuideStatus status : {guide_ok, guide_incomplete, guide_errored, guide_all}) {
            append(keys, column_of(std::string("benchmarks[]/metrics/") + metric.name + "/" +
                                       status_names[status] + "/",
                                   run.figures(metric, status)));
        }
    }
    return keys;
}

static std::string screen_of(const GuideRun& run) {
    const auto named = [&run](std::string_view name, GuideStatus status) {
        return run.figures(*std::ranges::find(guide_metrics, name, &GuideMetric::name), status);
    };
    using Shown = std::pair<const char*, const char*>;
    ViewTable latency({"Request Latency Statistics (Completed)", "Mean", "Mdn", "p95"});
    for (const auto& [label, name] : {Shown("Request Latency (s)", "request_latency"),
                                      Shown("TTFT (ms)", "time_to_first_token_ms"),
                                      Shown("TTFOT (ms)", "time_to_first_output_token_ms"),
                                      Shown("ITL (ms)", "inter_token_latency_ms"),
                                      Shown("TPOT (ms)", "time_per_output_token_ms")}) {
        const auto [one, known] = named(name, guide_ok);
        const auto cell = [&known](double value) {
            return known == GuideKnown::all ? fixed(value, 1) : "-";
        };
        latency.add({label, cell(one.mean), cell(one.median), cell(one.percentiles[8])});
    }
    ViewTable rates({"Server Throughput Statistics (All Requests)", "Mdn", "Mean"});
    for (const auto& [label, name] : {Shown("Request Concurrency", "request_concurrency"),
                                      Shown("Requests Per Sec", "requests_per_second"),
                                      Shown("Input Tok Per Sec", "prompt_tokens_per_second"),
                                      Shown("Output Tok Per Sec", "output_tokens_per_second"),
                                      Shown("Total Tok Per Sec", "tokens_per_second")}) {
        const WeightedFigures one = named(name, guide_all).of;
        const bool is_level = std::string_view(name) == "request_concurrency";
        rates.add({label, is_level ? fixed(one.median, 1) : "", fixed(one.mean, 1)});
    }
    return latency.text() + "\n" + rates.text();
}

ViewResult guidellm_view(const ViewedRun& viewed) {
    GuideRun run;
    run.end_s = in_s(viewed.duration_ns);
    for (const ViewedRequest& request : viewed.requests) {
        run.all.push_back(guide_counted(request));
    }
    return {
        screen_of(run), file_of(guide_keys(viewed, run), {}),
        notes_on(
            viewed, {true, true, false},
            {"TPOT is (last token - fire) / tokens, TTFT included; ITL and TPOT weigh requests by "
             "their tokens",
             "the second table counts failed requests too; the tool's TTFT starts at the header "
             "write, "
             "ours at the fire",
             "not computable: the margins after the means, and slo_attainment without an SLO in "
             "the "
             "tool's form"})};
}

}  // namespace driftless
