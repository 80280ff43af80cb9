#include "tests/sim/laws_of_turns.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "tests/sim/breaches.hpp"

namespace driftless::sim {

namespace {

/// A row that waits: its record, and when its parents let it go, by their records.
struct Turn {
    const Record* record = nullptr;
    std::int64_t released_ns = 0;
    bool released = true;  ///< by all of them
};

/// As far as framing tells: what its content lacks is known too late.
bool is_answered(const Record& record) {
    return record.done_ns.has_value() && record.status == 200;
}

std::optional<std::int64_t> released_by(const Record& parent, const Dependency& one) {
    if (one.trigger == Trigger::dispatch) {
        return parent.fired_ns ? std::optional(*parent.fired_ns + one.delay_ns) : std::nullopt;
    }
    return is_answered(parent) ? std::optional(*parent.done_ns + one.delay_ns) : std::nullopt;
}

/// All of which every record is there: a disk may have been full.
std::map<std::uint32_t, Turn> turns_of(const SimResult& result) {
    std::map<std::uint32_t, const Record*> records;
    for (const Record& record : result.records) {
        records[record.row] = &record;
    }
    std::map<std::uint32_t, Turn> turns;
    for (const Dependency& one : result.dependencies) {
        if (result.disk_failed || !records.contains(one.row) || !records.contains(one.on)) {
            continue;
        }
        Turn& turn = turns[one.row];
        turn.record = records.at(one.row);
        const std::optional<std::int64_t> at_ns = released_by(*records.at(one.on), one);
        turn.released = turn.released && at_ns;
        turn.released_ns = std::max(turn.released_ns, at_ns.value_or(0));
    }
    return turns;
}

}  // namespace

// To the nanosecond: a turn is due so long after the last of them as was recorded.
std::string turns_wait(const SimResult& result) {
    Breaches breaches;
    for (const auto& [row, turn] : turns_of(result)) {
        const Record& record = *turn.record;
        if (record.fired_ns) {
            breaches.unless(turn.released, record, "left behind a row that had failed");
            breaches.unless(*record.fired_ns >= turn.released_ns, record,
                            "left before its parents were done");
            breaches.unless(record.due_ns == turn.released_ns, record,
                            "was not due when its parents were done");
        }
    }
    return breaches.text();
}

std::string no_release_is_lost(const SimResult& result) {
    Breaches breaches;
    for (const auto& [row, turn] : turns_of(result)) {
        breaches.unless(
            result.stopped || !turn.released || turn.record->outcome != Outcome::not_sent,
            *turn.record, "was released and not sent");
    }
    return breaches.text();
}

std::string failures_end_trees(const SimResult& result) {
    Breaches breaches;
    for (const auto& [row, turn] : turns_of(result)) {
        breaches.unless(turn.released || turn.record->outcome == Outcome::not_sent, *turn.record,
                        "has an outcome behind a row that had failed");
    }
    return breaches.text();
}

}  // namespace driftless::sim
