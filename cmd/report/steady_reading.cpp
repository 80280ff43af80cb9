#include "cmd/report/steady_reading.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cmd/report/record_pass.hpp"
#include "cmd/screen/lines.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

std::string trend_text(const char* what, const TrendFinding& trend) {
    if (!trend.known) {
        return fmt::format("{}: too few to tell", what);
    }
    const char* word = trend.p >= 0.01 ? "no trend" : trend.z > 0 ? "rises" : "falls";
    return fmt::format("{} {} (p = {:.3g})", what, word, trend.p);
}

std::string little_text(const SteadyState& state) {
    return fmt::format("{:.2f} in flight; {:.3f}/s x {:.3f} s = {:.2f} ({:+.1f} %): {}",
                       state.in_flight, state.rate, state.time_s, state.rate * state.time_s,
                       100 * state.little_difference(),
                       state.little_holds() ? "holds within 5 %" : "does not hold");
}

void add_lines(ViewTable& table, const char* name, const Distribution& whole,
               const Distribution& window) {
    constexpr std::pair<const char*, std::size_t> shown[] = {
        {"p50", median_index}, {"p90", p90_index}, {"p99", p99_index}};
    for (const auto& [word, place] : shown) {
        const auto text = [place](const Distribution& of) {
            return of.count == 0 ? "-" : fixed(of.at[place] / ns_per_ms, 2);
        };
        table.add({fmt::format("{} {} ms", name, word), text(whole), text(window)});
    }
}

void write_distribution(JsonWriter& json, const char* name, const Distribution& of) {
    json.key(name).begin_object();
    for (const auto& [key, value] :
         {std::pair{"mean", of.mean}, std::pair{"p50", of.median()},
          std::pair{"p90", of.at[p90_index]}, std::pair{"p95", of.at[p95_index]},
          std::pair{"p99", of.at[p99_index]}, std::pair{"max", of.max}}) {
        json.key(key);
        of.count == 0 ? json.null() : json.number(value / ns_per_ms);
    }
    json.end_object();
}

void write_side(JsonWriter& json, const char* name, const SteadySide& side) {
    json.key(name).begin_object();
    json.key("requests").unsigned_integer(side.requests);
    json.key("seconds").number(side.seconds);
    json.key("request_throughput").number(side.requests_per_s);
    json.key("output_throughput");
    side.tokens_per_s ? json.number(*side.tokens_per_s) : json.null();
    write_distribution(json, "ttft_ms", side.ttft);
    write_distribution(json, "ttft_due_ms", side.ttft_due);
    write_distribution(json, "tpot_ms", side.tpot);
    write_distribution(json, "e2e_ms", side.e2e);
    json.end_object();
}

void write_trend(JsonWriter& json, const char* name, const TrendFinding& trend) {
    json.key(name).begin_object();
    json.key("z");
    trend.known ? json.number(trend.z) : json.null();
    json.key("p");
    trend.known ? json.number(trend.p) : json.null();
    json.end_object();
}

}  // namespace

std::string read_steady(const ReportedRun& run, SteadyReading& out) {
    SteadyRun steady;
    std::string why = each_record(run, [&steady](const Record& record) { steady.add(record); });
    if (!why.empty()) {
        return why;
    }
    why = each_record_at(run, steady.find(),
                         [&steady](const Record& record) { steady.add_again(record); });
    out = steady.reading();
    return why;
}

std::string steady_screen(const SteadyReading& reading) {
    const SteadyState& state = reading.state;
    Lines lines;
    lines.blank();
    if (!state.found) {
        lines.add("Steady state", "not computed: fewer than 100 requests were sent");
        return lines.take();
    }
    const double length = ratio(in_s(state.length_ns()), in_s(state.last_ns - state.first_ns));
    lines.add("Steady state",
              fmt::format("{}; from {:.2f} s to {:.2f} s, {:.1f} % of the run: ramp {:.2f} s, "
                          "drain {:.2f} s",
                          state.is_steady() ? "yes" : "not reached", in_s(state.begin_ns),
                          in_s(state.end_ns), 100 * length, in_s(state.begin_ns - state.first_ns),
                          in_s(state.last_ns - state.end_ns)));
    lines.add("Trend", trend_text("in flight", state.in_flight_trend) + "; " +
                           trend_text("TTFT", state.ttft_trend));
    lines.add("Little's law", little_text(state));
    lines.add("Independent",
              fmt::format("{:.0f} of {} TTFTs: the others depend on those before them",
                          state.effective, state.ttfts));
    ViewTable table({"", "whole run", "steady part"});
    const auto both = [&table, &reading](const char* name, auto figure) {
        table.add({name, figure(reading.whole), figure(reading.window)});
    };
    both("requests", [](const SteadySide& side) { return std::to_string(side.requests); });
    both("requests/s", [](const SteadySide& side) { return fixed(side.requests_per_s, 2); });
    both("output tokens/s", [](const SteadySide& side) {
        return side.tokens_per_s ? fixed(*side.tokens_per_s, 1) : "not counted";
    });
    add_lines(table, "TTFT", reading.whole.ttft, reading.window.ttft);
    add_lines(table, "TPOT", reading.whole.tpot, reading.window.tpot);
    add_lines(table, "E2E", reading.whole.e2e, reading.window.e2e);
    return lines.take() + table.text();
}

void write_steady(JsonWriter& json, const SteadyReading& reading) {
    const SteadyState& state = reading.state;
    json.begin_object();
    json.key("found").boolean(state.found);
    json.key("steady").boolean(state.is_steady());
    json.key("begin_ns").integer(state.begin_ns);
    json.key("end_ns").integer(state.end_ns);
    json.key("ramp_ns").integer(state.begin_ns - state.first_ns);
    json.key("drain_ns").integer(state.last_ns - state.end_ns);
    write_trend(json, "in_flight_trend", state.in_flight_trend);
    write_trend(json, "ttft_trend", state.ttft_trend);
    json.key("little").begin_object();
    json.key("in_flight").number(state.in_flight);
    json.key("rate").number(state.rate);
    json.key("time_s").number(state.time_s);
    json.key("difference").number(state.little_difference());
    json.key("holds").boolean(state.little_holds());
    json.end_object();
    json.key("ttfts").unsigned_integer(state.ttfts);
    json.key("effective_ttfts").number(state.effective);
    write_side(json, "whole", reading.whole);
    write_side(json, "window", reading.window);
    json.end_object();
}

}  // namespace driftless
