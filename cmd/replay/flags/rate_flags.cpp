#include "cmd/replay/flags/rate_flags.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr double ns_per_s = 1e9;

/// One line of a shape.
struct Point {
    double seconds = 0;
    double rate = 0;
};

struct Lines {
    std::string_view rest;
    std::uint64_t number = 0;

    /// The next one with anything on it; false at the end.
    bool next(std::string_view& line) {
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            line = trim_blanks(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            ++number;
            line = line.ends_with('\r') ? trim_blanks(line.substr(0, line.size() - 1)) : line;
            if (!line.empty() && !line.starts_with('#')) {
                return true;
            }
        }
        return false;
    }
};

/// What is wrong with the line; empty: nothing.
std::string read_point(std::string_view line, const std::vector<Point>& before, Point& point) {
    const std::size_t comma = line.find(',');
    const Result<std::int64_t> at = parse_duration_ns(trim_blanks(line.substr(0, comma)));
    const Result<double> rate = comma == line.npos
                                    ? Result<double>(Error{ErrorCode::invalid, 0, ""})
                                    : parse_rate_or_zero(trim_blanks(line.substr(comma + 1)));
    if (!at || !rate) {
        return "is not SECONDS,RATE; write lines such as 60,12.5";
    }
    point = {static_cast<double>(at.value()) / ns_per_s, rate.value()};
    if (before.empty() && at.value() != 0) {
        return "does not begin at second 0; give the rate at second 0 in the first line";
    }
    if (!before.empty() && point.seconds < before.back().seconds) {
        return "is earlier than the line before it; sort the lines by seconds";
    }
    if (before.size() == shape_lines_max) {
        return "is one line too many; use at most 100000 lines";
    }
    return "";
}

std::string read_points(const std::string& where, std::string_view text,
                        std::vector<Point>& points) {
    Lines lines{text};
    std::string_view line;
    while (lines.next(line)) {
        if (points.empty() && line == "seconds,rate") {
            continue;
        }
        Point point;
        if (const std::string why = read_point(line, points, point); !why.empty()) {
            return where + ":" + std::to_string(lines.number) + ": \"" +
                   std::string(line.substr(0, 80)) + "\" " + why;
        }
        points.push_back(point);
    }
    return "";
}

RateCurve curve_of(const TypedRamp& ramp) {
    RateCurve curve(ramp.to);
    const double length_s = static_cast<double>(ramp.length_ns) / ns_per_s;
    if (ramp.steps == 0) {
        curve.add(length_s, ramp.from, ramp.to, ramp.form);
        return curve;
    }
    for (std::uint32_t step = 0; step < ramp.steps; ++step) {
        const double rate = ramp.from + (ramp.to - ramp.from) * step / (ramp.steps - 1);
        curve.add(length_s / ramp.steps, rate, rate);
    }
    return curve;
}

/// The flag that says the rate, and whether there are two.
std::string rate_flag(const RateFlags& flags, std::string& refusal) {
    const std::pair<bool, const char*> all[] = {
        {flags.rate.has_value(), "--rate"},
        {flags.ramp.has_value(), "--ramp"},
        {!flags.shape_file.empty(), "--shape"},
    };
    std::string found;
    for (const auto& [given, name] : all) {
        if (given && !found.empty()) {
            refusal = found + " and " + name + " both set the rate; remove one";
        }
        found = given && found.empty() ? name : found;
    }
    return found;
}

/// What goes on beside a rate, and cannot.
std::string rate_contradiction(const WorkloadFlags& workload, const std::string& flag) {
    const ArrivalLaw law = workload.rates.arrivals.value_or(TypedArrivals()).law;
    if (workload.user_count.most > 0) {
        return flag +
               " sets when sessions begin, but with --users a session begins when another has "
               "ended; remove one; --sessions closed without --users follows the rate";
    }
    if (workload.rates.rate && workload.rates.rate->infinite && workload.rates.arrivals) {
        return "--rate inf sends all rows at time 0, so --arrivals has no gaps to draw; remove one";
    }
    if (workload.files.sessions == Sessions::recorded && workload.speed_text != "1") {
        return "--speed changes recorded instants, but " + flag +
               " replaces them; remove --speed, or give another rate";
    }
    if (workload.plan.spread && law != ArrivalLaw::recorded) {
        return "--spread changes recorded instants, but " + flag + " replaces them; remove one";
    }
    return "";
}

}  // namespace

std::string read_shape(const std::string& path, RateCurve& curve) {
    const std::string where = "--shape " + path;
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return where + ": cannot be read (" + reason_of(text.error()) +
               "); name a file of lines SECONDS,RATE";
    }
    return parse_shape(where, text.value(), curve);
}

std::string parse_shape(const std::string& where, std::string_view text, RateCurve& curve) {
    std::vector<Point> points;
    if (const std::string why = read_points(where, text, points); !why.empty()) {
        return why;
    }
    if (points.size() < 2) {
        return where + ": has " + (points.empty() ? "no line" : "one line") +
               "; a shape needs two or more lines SECONDS,RATE; for one constant rate use --rate R";
    }
    curve = RateCurve(points.front().rate);
    for (std::size_t i = 1; i < points.size(); ++i) {
        const double length_s = points[i].seconds - points[i - 1].seconds;
        if (length_s > 0) {
            curve.add(length_s, points[i - 1].rate, points[i].rate);
        }
    }
    curve.hold(points.back().rate);
    if (curve.is_zero()) {
        return where + ": its rate is always 0; give a rate above 0 in some line";
    }
    return "";
}

std::string complete_rates(WorkloadFlags& workload) {
    const RateFlags& flags = workload.rates;
    std::string refusal;
    const std::string flag = rate_flag(flags, refusal);
    if (!refusal.empty()) {
        return refusal;
    }
    if (flag.empty()) {
        return flags.arrivals ? "--arrivals draws the gaps of a rate; add --rate R" : "";
    }
    if (const std::string why = rate_contradiction(workload, flag); !why.empty()) {
        return why;
    }
    const TypedArrivals typed = flags.arrivals.value_or(TypedArrivals());
    ArrivalRules rules;
    rules.law = typed.law;
    rules.shape = typed.shape;
    rules.scaled = typed.scaled;
    rules.seed = workload.plan.seed;
    rules.by_trees = workload.files.sessions != Sessions::recorded;
    rules.duration_ns = workload.plan.duration_ns;
    if (flags.rate) {
        rules.all_at_once = flags.rate->infinite;
        rules.curve = RateCurve(flags.rate->per_second);
    } else if (flags.ramp && flags.ramp->over_rows) {
        rules.over_rows = RampOverRows{flags.ramp->from, flags.ramp->to, flags.ramp->form};
    } else if (flags.ramp) {
        rules.curve = curve_of(*flags.ramp);
    } else if (const std::string why = read_shape(flags.shape_file, rules.curve); !why.empty()) {
        return why;
    }
    workload.files.times_free = typed.law != ArrivalLaw::recorded || rules.all_at_once;
    workload.arrivals = std::move(rules);
    return "";
}

}  // namespace driftless
