#include "tests/sim/laws_of_turns.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tests/sim/breaches.hpp"
#include "tests/sim/killed_run.hpp"

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

std::map<std::uint32_t, Turn> turns_of(const std::vector<Record>& all,
                                       const std::vector<Dependency>& dependencies) {
    std::map<std::uint32_t, const Record*> records;
    for (const Record& record : all) {
        records[record.row] = &record;
    }
    std::map<std::uint32_t, Turn> turns;
    for (const Dependency& one : dependencies) {
        if (!records.contains(one.row) || !records.contains(one.on)) {
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

/// Where every record is there: a disk may have been full.
std::map<std::uint32_t, Turn> turns_of(const SimResult& result) {
    return result.disk_failed ? std::map<std::uint32_t, Turn>()
                              : turns_of(result.records, result.dependencies);
}

/// Of a run that lost no lines. Rows that were sent again, and those that wait for them, have two
/// stories.
std::map<std::uint32_t, Turn> turns_of(const KilledRun& run) {
    std::set<std::uint32_t> again;
    for (const Life& life : run.lives) {
        if (life.lines_lost || life.result.disk_failed) {
            return {};
        }
        again.insert(life.again.begin(), life.again.end());
    }
    std::map<std::uint32_t, Turn> turns = turns_of(run.records, run.dependencies);
    for (const Dependency& one : run.dependencies) {
        if (again.contains(one.row) || again.contains(one.on)) {
            turns.erase(one.row);
        }
    }
    std::erase_if(turns, [](const auto& one) {  // it left, or not: nobody knows when
        return one.second.record->outcome == Outcome::interrupted;
    });
    return turns;
}

bool was_stopped(const KilledRun& run) {
    return std::any_of(run.lives.begin(), run.lives.end(),
                       [](const Life& life) { return life.result.stopped; });
}

std::string turns_wait(const std::map<std::uint32_t, Turn>& turns) {
    Breaches breaches;
    for (const auto& [row, turn] : turns) {
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

std::string no_release_is_lost(const std::map<std::uint32_t, Turn>& turns) {
    Breaches breaches;
    for (const auto& [row, turn] : turns) {
        breaches.unless(!turn.released || turn.record->outcome != Outcome::not_sent, *turn.record,
                        "was released and not sent");
    }
    return breaches.text();
}

std::string failures_end_trees(const std::map<std::uint32_t, Turn>& turns) {
    Breaches breaches;
    for (const auto& [row, turn] : turns) {
        breaches.unless(turn.released || turn.record->outcome == Outcome::not_sent, *turn.record,
                        "has an outcome behind a row that had failed");
    }
    return breaches.text();
}

}  // namespace

// To the nanosecond: a turn is due so long after the last of them as was recorded.
std::string turns_wait(const SimResult& result) {
    return turns_wait(turns_of(result));
}
std::string no_release_is_lost(const SimResult& result) {
    return result.stopped ? "" : no_release_is_lost(turns_of(result));
}
std::string failures_end_trees(const SimResult& result) {
    return failures_end_trees(turns_of(result));
}

std::string turns_wait_over_segments(const KilledRun& run) {
    return turns_wait(turns_of(run));
}
std::string no_release_is_lost_over_segments(const KilledRun& run) {
    return was_stopped(run) ? "" : no_release_is_lost(turns_of(run));
}
std::string failures_end_trees_over_segments(const KilledRun& run) {
    return failures_end_trees(turns_of(run));
}

}  // namespace driftless::sim
