#include "tests/sim/laws_of_abandonment.hpp"

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

// A calm process sleeps for 0.5 ms at most while answers stream, and its other work is far shorter.
constexpr Duration abandon_reaction_max = milliseconds(1);

}  // namespace

std::optional<std::int64_t> given_up_at_ns(const SimResult& result, const Record& record) {
    if (record.phase == Phase::warmup || !record.fired_ns) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> after_ns =
        abandoned_after_ns(result.abandon, {record.row, record.pass, record.attempt});
    return after_ns ? std::optional(*record.fired_ns + *after_ns) : std::nullopt;
}

// Those that were drawn and no others, never early, and soon: what ended before has its own
// outcome. A request that was sent again may have been without a connection then.
std::string abandoned_as_drawn(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const bool abandoned = record.outcome == Outcome::abandoned;
        const std::optional<std::int64_t> at_ns = given_up_at_ns(result, record);
        breaches.unless(!abandoned || at_ns, record, "was abandoned, and its client would wait");
        breaches.unless(!abandoned || (record.ended_ns && !record.done_ns), record,
                        "was abandoned, and was complete or has no end");
        if (!at_ns || !record.ended_ns) {
            continue;
        }
        breaches.unless(!abandoned || *record.ended_ns >= *at_ns, record,
                        "was abandoned before its time");
        const bool in_time = *record.ended_ns <= *at_ns + abandon_reaction_max.ns;
        breaches.unless(
            in_time || !result.calm || result.overload || record.stale_retries > 0, record,
            "was given up, and went on for " + std::to_string(*record.ended_ns - *at_ns) + " ns");
    }
    return breaches.text();
}

}  // namespace driftless::sim
