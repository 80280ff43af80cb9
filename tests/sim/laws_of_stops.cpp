#include "tests/sim/laws_of_stops.hpp"

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

// The loop sleeps for 20 ms at most, and looks at the flag when it wakes.
constexpr Duration reaction_max = milliseconds(25);

/// Of the measurement, up to this run time.
EndedRequests ended_by(const SimResult& result, std::int64_t at_ns) {
    EndedRequests all;
    for (const Record& record : result.records) {
        if (record.ended_ns && *record.ended_ns <= at_ns) {
            all.add(record);
        }
    }
    return all;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string nothing_leaves_behind_a_stop(const SimResult& result) {
    Breaches breaches;
    if (!result.stop_wanted_ns || !result.calm || result.overload) {
        return "";
    }
    for (const Record& record : result.records) {
        breaches.unless(
            !record.fired_ns || *record.fired_ns <= *result.stop_wanted_ns + reaction_max.ns,
            record, "left when the run had to stop");
    }
    return breaches.text();
}

// The condition is one of those that were given, it holds, and enough had ended. What ends between
// the end of the period and the look may be counted or not.
std::string stops_have_their_cause(const SimResult& result) {
    Breaches breaches;
    breaches.unless(!result.stopped_early || result.stop_found, "stopped early without a cause");
    if (!result.stop_found || !result.stop_wanted_ns || result.disk_failed) {
        return breaches.text();
    }
    const StoppedWhen& found = *result.stop_found;
    const EndedRequests least =
        ended_by(result, static_cast<std::int64_t>(found.at_s * 1e9) - settle_ns_max);
    const EndedRequests most = ended_by(result, *result.stop_wanted_ns);
    bool is_asked = false;
    for (const StopRule& rule : result.stop_when) {
        if (rule.text != found.condition) {
            continue;
        }
        is_asked = true;
        const double scale = found.unit == FigureUnit::time ? 1e6 : 1;
        breaches.unless(crosses(rule.threshold, found.value * scale), "its condition did not hold");
        if (rule.figure == StopFigure::errors) {
            breaches.unless(most.ended >= EarlyStop::sample_min, "judged by too few requests");
            breaches.unless(found.value >= share(least.failed, most.ended) - 1e-9 &&
                                found.value <= share(most.failed, least.ended) + 1e-9,
                            "another share has failed");
        }
    }
    breaches.unless(is_asked, "stopped by a condition that nobody gave");
    return breaches.text();
}

}  // namespace driftless::sim
