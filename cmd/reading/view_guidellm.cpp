#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "cmd/reading/view.hpp"

namespace driftless {

// GuideLLM's distributions over time: of rates and of concurrency.

namespace {

constexpr double merged_within_s = 1e-4;
constexpr double last_duration_min_s = 1e-6;

/// Sorted by time: each group within 0.1 ms of its first becomes one at that first.
std::vector<WeightedValue> merged(std::vector<WeightedValue> times) {
    std::stable_sort(times.begin(), times.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
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
WeightedFigures rate_distribution(std::vector<WeightedValue> times, double start, double end) {
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
WeightedFigures concurrency_distribution(const std::vector<WeightedValue>& intervals, double start,
                                         double end) {
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

/// Of one request, as the tool stores it. Seconds from the start of the run.
struct GuideStats {
    bool ok = false;
    double start = 0;
    double end = 0;
    double due = 0;
    OptionalNs first_ns;  ///< first token, from the fire
    OptionalNs first_output_ns;
    std::int64_t last_ns = 0;
    std::int64_t fired_ns = 0;
    std::int64_t iterations = 0;
    std::int64_t prompt = 0;  ///< usage alone
    std::int64_t output = 0;

    double latency() const { return ok ? end - start : 0; }
};

GuideStats stats_of(const ViewedRequest& request) {
    GuideStats stats;
    const std::vector<std::int64_t> stamps = request.stamps_of(all_text_kinds);
    const std::vector<std::int64_t> spoken = request.stamps_of("ceut");
    stats.ok = request.stream_read() && !request.error_ns &&
               request.outcome != Outcome::stream_error && !stamps.empty();
    stats.fired_ns = request.fired_ns;
    stats.start = in_s(request.fired_ns);
    stats.due = in_s(request.due_ns);
    if (!stamps.empty()) {
        stats.first_ns = stamps.front() - request.fired_ns;
        stats.last_ns = stamps.back() - request.fired_ns;
    }
    if (!spoken.empty()) {
        stats.first_output_ns = spoken.front() - request.fired_ns;
    }
    stats.iterations = static_cast<std::int64_t>(stamps.size());
    stats.prompt = request.prompt_usage.value_or(0);
    stats.output = request.output_usage.value_or(stats.iterations);
    // What is raised ends it: an error at its event, a status at the head.
    std::int64_t end = request.ended_ns;
    if (stats.ok) {
        end = request.marker_ns.value_or(end);
    } else if (request.error_ns) {
        end = *request.error_ns;
    } else if (request.status != 200) {
        end = request.headers_ns.value_or(end);
    }
    stats.end = in_s(end);
    return stats;
}

std::vector<WeightedValue> output_timings(const GuideStats& one) {
    std::vector<WeightedValue> timings;
    const auto at = [&one](std::int64_t ns) { return in_s(one.fired_ns + ns); };
    if (!one.first_ns || one.iterations <= 1) {
        timings.emplace_back(one.first_ns ? at(one.last_ns) : one.end, as_double(one.output));
        return timings;
    }
    timings.emplace_back(at(*one.first_ns), one.output > 0 ? 1 : 0);
    if (one.output > 1) {
        const double steps = as_double(one.iterations - 1);
        const double begin = at(*one.first_ns);
        const double step = (at(one.last_ns) - begin) / steps;
        for (std::int64_t i = 1; i < one.iterations; ++i) {
            timings.emplace_back(begin + step * as_double(i), as_double(one.output - 1) / steps);
        }
    }
    return timings;
}

/// The columns of a metric; `incomplete` is always empty here.
enum GuideStatus : std::size_t { guide_ok, guide_incomplete, guide_errored, guide_all };
constexpr std::array status_names{"successful", "incomplete", "errored", "total"};

struct GuideMetric {
    const char* name;
    std::array<WeightedFigures, status_names.size()> columns;  ///< [GuideStatus]
};

struct GuideRun {
    std::vector<GuideStats> all;
    double end = 0;
    std::int64_t ok = 0;
};

using Values = std::vector<WeightedValue>;

/// Of the requests of each column, what `make` makes of the values that `take` has of them.
template <typename Take, typename Make>
GuideMetric metric(const char* name, const GuideRun& run, Take take, Make make) {
    GuideMetric out{name, {}};
    for (const GuideStatus status : {guide_ok, guide_errored, guide_all}) {
        Values values;
        for (const GuideStats& one : run.all) {
            if (status == guide_all || one.ok == (status == guide_ok)) {
                take(one, values);
            }
        }
        out.columns[status] = make(std::move(values));
    }
    return out;
}

void add_prompt(const GuideStats& one, Values& out) {
    const double at = one.first_ns ? in_s(one.fired_ns + *one.first_ns) : one.end;
    out.emplace_back(at, as_double(one.prompt));
}

void add_output(const GuideStats& one, Values& out) {
    const Values timings = output_timings(one);
    out.insert(out.end(), timings.begin(), timings.end());
}

std::vector<GuideMetric> rates_of(const GuideRun& run) {
    const auto rate = [&run](const char* name, void (*take)(const GuideStats&, Values&)) {
        return metric(name, run, take, [&run](Values times) {
            return rate_distribution(std::move(times), 0, run.end);
        });
    };
    return {rate("requests_per_second",
                 [](const GuideStats& one, Values& out) { out.emplace_back(one.end, 1); }),
            metric(
                "request_concurrency", run,
                [](const GuideStats& one, Values& out) { out.emplace_back(one.start, one.end); },
                [&run](const Values& open) { return concurrency_distribution(open, 0, run.end); }),
            rate("prompt_tokens_per_second", add_prompt),
            rate("output_tokens_per_second", add_output),
            rate("tokens_per_second", [](const GuideStats& one, Values& out) {
                add_prompt(one, out);
                add_output(one, out);
            })};
}

using Weighted = std::optional<WeightedValue>;

Weighted once(double value) {
    return WeightedValue(value, 1);
}

/// Nothing: the request has none.
constexpr std::pair<const char*, Weighted (*)(const GuideStats&)> guide_latencies[] = {
    {"request_latency", [](const GuideStats& one) { return once(one.latency()); }},
    {"request_dispatch_delay", [](const GuideStats& one) { return once(one.start - one.due); }},
    {"request_scheduled_latency",
     [](const GuideStats& one) { return one.ok ? once(one.end - one.due) : std::nullopt; }},
    {"prompt_token_count", [](const GuideStats& one) { return once(as_double(one.prompt)); }},
    {"output_token_count", [](const GuideStats& one) { return once(as_double(one.output)); }},
    {"total_token_count",
     [](const GuideStats& one) { return once(as_double(one.prompt + one.output)); }},
    {"time_to_first_token_ms",
     [](const GuideStats& one) {
         return one.first_ns ? once(in_ms(*one.first_ns)) : std::nullopt;
     }},
    {"time_to_first_output_token_ms",
     [](const GuideStats& one) {
         return one.first_output_ns ? once(in_ms(*one.first_output_ns)) : std::nullopt;
     }},
    {"time_per_output_token_ms",
     [](const GuideStats& one) -> Weighted {
         const double tokens = as_double(one.output);
         return WeightedValue(ratio(in_ms(one.last_ns), tokens), tokens);
     }},
    {"inter_token_latency_ms",
     [](const GuideStats& one) -> Weighted {
         const double gaps = std::max(as_double(one.output - 1), 0.0);
         return one.first_ns
                    ? Weighted(WeightedValue(ratio(in_ms(one.last_ns - *one.first_ns), gaps), gaps))
                    : std::nullopt;
     }},
};

std::vector<GuideMetric> metrics_of(const GuideRun& run) {
    std::vector<GuideMetric> all = rates_of(run);
    for (const auto& [name, of] : guide_latencies) {
        const auto take = [of = of](const GuideStats& one, Values& out) {
            if (const Weighted value = of(one)) {
                out.push_back(*value);
            }
        };
        all.push_back(metric(name, run, take,
                             [](Values values) { return weighted_figures(std::move(values)); }));
    }
    return all;
}

void put_column(JsonWriter& json, const WeightedFigures& figures) {
    const auto put_percentiles = [&figures](JsonWriter& to) {
        constexpr const char* names[] = {"p001", "p01", "p05", "p10", "p25", "p50",
                                         "p75",  "p90", "p95", "p99", "p999"};
        to.begin_object();
        for (std::size_t i = 0; i < 11; ++i) {
            put(to, {{names[i], figures.percentiles[i]}});
        }
        to.end_object();
    };
    put_object(json, {{"mean", figures.mean},
                      {"median", figures.median},
                      {"mode", figures.mode},
                      {"variance", figures.variance},
                      {"std_dev", figures.std_dev},
                      {"min", figures.min},
                      {"max", figures.max},
                      {"count", figures.count},
                      {"total_sum", figures.total_sum},
                      {"percentiles", put_percentiles}});
}

void put_file(JsonWriter& json, const ViewedRun& viewed, const GuideRun& run,
              const std::vector<GuideMetric>& metrics) {
    const auto all = static_cast<std::int64_t>(run.all.size());
    const double start = in_s(viewed.zero_utc_ns);
    put(json, {{"metadata", JsonPairs{{"guidellm_version", "0.8.1"}}}});
    json.key("benchmarks").begin_array().begin_object();
    put(json, {{"start_time", start},
               {"end_time", start + run.end},
               {"duration", run.end},
               {"warmup_duration", 0},
               {"cooldown_duration", 0}});
    json.key("metrics").begin_object();
    put(json, {{"request_totals", JsonPairs{{"successful", run.ok},
                                            {"incomplete", 0},
                                            {"errored", all - run.ok},
                                            {"total", all}}}});
    for (const GuideMetric& one : metrics) {
        json.key(one.name).begin_object();
        for (std::size_t i = 0; i < status_names.size(); ++i) {
            put_column(json.key(status_names[i]), one.columns[i]);
        }
        json.end_object();
    }
    json.end_object().end_object().end_array();
}

const GuideMetric& named(const std::vector<GuideMetric>& metrics, std::string_view name) {
    return *std::find_if(metrics.begin(), metrics.end(),
                         [name](const GuideMetric& one) { return one.name == name; });
}

std::string screen_of(const std::vector<GuideMetric>& metrics) {
    ViewTable latency({"Request Latency Statistics (Completed)", "Mean", "Mdn", "p95"});
    constexpr std::pair<const char*, const char*> shown[] = {
        {"Request Latency (s)", "request_latency"},
        {"TTFT (ms)", "time_to_first_token_ms"},
        {"TTFOT (ms)", "time_to_first_output_token_ms"},
        {"ITL (ms)", "inter_token_latency_ms"},
        {"TPOT (ms)", "time_per_output_token_ms"}};
    for (const auto& [label, name] : shown) {
        const WeightedFigures& one = named(metrics, name).columns[guide_ok];
        latency.add(
            {label, fixed(one.mean, 1), fixed(one.median, 1), fixed(one.percentiles[8], 1)});
    }
    ViewTable rates({"Server Throughput Statistics (All Requests)", "Mdn", "Mean"});
    const WeightedFigures& open = named(metrics, "request_concurrency").columns[guide_all];
    rates.add({"Request Concurrency", fixed(open.median, 1), fixed(open.mean, 1)});
    constexpr std::pair<const char*, const char*> per_second[] = {
        {"Requests Per Sec", "requests_per_second"},
        {"Input Tok Per Sec", "prompt_tokens_per_second"},
        {"Output Tok Per Sec", "output_tokens_per_second"},
        {"Total Tok Per Sec", "tokens_per_second"}};
    for (const auto& [label, name] : per_second) {
        rates.add({label, "", fixed(named(metrics, name).columns[guide_all].mean, 1)});
    }
    return latency.text() + "\n" + rates.text();
}

}  // namespace

ViewResult guidellm_view(const ViewedRun& viewed) {
    GuideRun run;
    run.end = in_s(viewed.duration_ns);
    for (const ViewedRequest& request : viewed.requests) {
        run.all.push_back(stats_of(request));
        run.ok += run.all.back().ok ? 1 : 0;
    }
    const std::vector<GuideMetric> metrics = metrics_of(run);
    ViewResult result;
    result.screen = screen_of(metrics);
    result.json = file_of([&](JsonWriter& json) { put_file(json, viewed, run, metrics); });
    result.notes = notes_on(
        viewed, {true, true, false},
        {"TPOT is (last token - fire) / tokens, TTFT included; ITL and TPOT weigh requests by "
         "their tokens",
         "the second table counts failed requests too; the tool's TTFT starts at the header write, "
         "ours at the fire",
         "not computable: the margins after the means, and slo_attainment without an SLO in the "
         "tool's form"});
    return result;
}

}  // namespace driftless
