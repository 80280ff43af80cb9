#include "tests/sim/laws_of_waits.hpp"

#include <algorithm>
#include <string>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

// A row knows at least how long its bytes have waited, whatever stood still.
std::string late_reads_are_known(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const auto found = result.waited.find(record.row);
        const std::int64_t waited_ns = found == result.waited.end() ? 0 : found->second.ns;
        breaches.unless(record.outcome != Outcome::ok || record.receive_delay_ns, record,
                        "has no bound on how late it was read");
        breaches.unless(!record.receive_delay_ns || waited_ns <= *record.receive_delay_ns, record,
                        "was read later than it says");
    }
    return breaches.text();
}

// No schedule keeps bytes from being read for long: `unread_max` of the loop, a guard, and the
// turns between them, each with a step of arithmetic.
std::string bytes_are_read_in_time(const SimResult& result) {
    constexpr Duration longest = microseconds(400);
    constexpr std::int64_t steps = 20;  // as many completions are handled in a turn, and some more
    return only(result.overload ||
                    result.unread_max <= longest + Duration{steps * result.arithmetic_max.ns},
                std::to_string(result.unread_max.ns) + " ns before something was read");
}

// Bounds are tight: where nothing kept the process from reading, no record says that something did.
std::string no_false_alarm_of_late_reads(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const std::int64_t delay_ns = record.receive_delay_ns.value_or(0);
        breaches.unless(!result.calm || delay_ns <= calm_delay_max.ns, record,
                        "says that it was read up to " + std::to_string(delay_ns) + " ns late");
        breaches.unless(!result.calm || !has_taint(record, taint_read_late), record,
                        "is tainted read_late, and nothing kept it from being read");
    }
    return breaches.text();
}

// No wait counts twice: all of them lie between the fire and the last part. And waits of the parts
// of a request add up, but for as long as a part may have been on its way to
// the kernel, and for what may be a sleep of ours in which the kernel took it.
std::string parts_that_waited_are_told(const SimResult& result) {
    Breaches breaches;
    const std::int64_t unsure_ns = result.latency_max.ns + calm_delay_max.ns;
    for (const Record& record : result.records) {
        const auto found = result.parts_ns.find(record.row);
        if (found == result.parts_ns.end() || !record.sent_ns || record.stale_retries > 0) {
            continue;
        }
        const bool told = has_taint(record, taint_sent_late);
        breaches.unless(
            !told || found->second.back() - *record.fired_ns > result.limits.receive_delay_ns,
            record, "is tainted sent_late, and had left by then");
        if (result.sends_block || result.flushes_fail) {
            continue;
        }
        std::int64_t waited_ns = 0;
        for (std::size_t i = 1; i < found->second.size(); ++i) {
            const std::int64_t apart_ns = found->second[i] - found->second[i - 1];
            waited_ns += std::max<std::int64_t>(apart_ns - unsure_ns, 0);
        }
        breaches.unless(told || waited_ns <= result.limits.receive_delay_ns, record,
                        "had parts that waited for " + std::to_string(waited_ns) +
                            " ns in sum, and is not tainted");
    }
    return breaches.text();
}

}  // namespace driftless::sim
