#include "cmd/replay/flags/made_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cmd/replay/flags/rate_values.hpp"
#include "cmd/replay/flags/tools/tool_flags.hpp"
#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr double ns_per_s = 1e9;
/// Deviations of a random process that are kept to spare: fewer rows come once in 10^15 runs.
constexpr double deviations = 8;

/// Rows due within a time; 0: there is no rate, or what is wrong with it is said elsewhere.
double due_within(const Spelled& out, double seconds) {
    if (const Result<TypedRate> rate = parse_rate(argument_of(out, "--rate")); rate) {
        return rate.value().infinite ? 0 : rate.value().per_second * seconds;
    }
    const Result<TypedRamp> ramp = parse_ramp(argument_of(out, "--ramp"));
    if (!ramp || ramp.value().over_rows) {
        return 0;
    }
    const double length = static_cast<double>(ramp.value().length_ns) / ns_per_s;
    const double inside = std::min(seconds, length);
    const double reached =
        ramp.value().from + (ramp.value().to - ramp.value().from) * inside / length;
    return (ramp.value().from + reached) / 2 * inside +
           ramp.value().to * std::max(0.0, seconds - length);
}

/// The variance of the number of arrivals, as a multiple of its mean.
double spread_of(const Spelled& out) {
    const std::string typed = argument_of(out, "--arrivals");
    const Result<TypedArrivals> law = parse_arrivals(typed.empty() ? "poisson" : typed);
    if (!law || law.value().law == ArrivalLaw::constant) {
        return 0;
    }
    return law.value().law == ArrivalLaw::gamma ? 1 / law.value().shape : 1;
}

}  // namespace

std::string made_rows(Spelled& out, const std::string& standard) {
    if (const std::string limit = argument_of(out, "--limit"); !limit.empty()) {
        return limit;
    }
    const bool closed = has_argument(out, "--concurrency");
    if (closed && has_argument(out, "--for")) {
        add_flag(out, "--recycle", "");
        out.arguments.pop_back();
        add_note(out, "prompts are generated in passes of " + std::string(pass_rows) +
                          " rows until --for ends the run (--recycle); all of them differ");
        return pass_rows;
    }
    const Result<std::int64_t> time = parse_duration_ns(argument_of(out, "--duration"));
    const double mean =
        time && !closed ? due_within(out, static_cast<double>(time.value()) / ns_per_s) : 0;
    if (mean <= 0) {
        return standard;
    }
    const double spread = spread_of(out);
    const double rows =
        std::ceil(mean + deviations * std::sqrt(mean * spread) + deviations * spread) + 1;
    if (rows > timed_rows_max) {
        refuse_line(out, "the rate has " + std::to_string(mean) + " rows due within --duration " +
                             argument_of(out, "--duration") +
                             ", but at most 100 million can be generated; lower one of them");
        return standard;
    }
    add_note(out, "the data set has as many rows as the rate can need within --duration");
    return std::to_string(static_cast<std::uint64_t>(rows));
}

}  // namespace driftless
