#include "tests/sim/laws_of_turns.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/breaches.hpp"
#include "tests/sim/killed_run.hpp"

namespace driftless::sim {

namespace {

/// A row that waits: its record, and when its parents let it go, by their records.
struct Turn {
    const Record* record = nullptr;
    std::int64_t released_ns = 0;
    bool released = true;       ///< by all of them
    bool is_exact = true;       ///< its due is that, and no other
    bool may_be_moved = false;  ///< to the left, by caps on idle time
    bool is_started = false;    ///< by the begin of the measurement, too
    bool is_told = true;        ///< records say all that decides whether it was released
    bool is_timed = false;      ///< by more than that others are over
};

using GoesOnBehind = std::map<std::uint32_t, std::uint32_t>;

/// Of its answer, for lack of room in our ring.
bool lost_words(const Record& record) {
    return std::any_of(record.tainted.begin(), record.tainted.end(), [](const std::string& why) {
        return why == taint_payload_dropped || why == taint_entries_dropped;
    });
}

/// `rules`: of users; whatever failed lets others go, too, where they say so.
/// `words`: the answer is to go on with.
std::optional<std::int64_t> released_by(const Record& parent, const Dependency& one,
                                        const UserRules& rules, bool words) {
    const bool go_on =
        rules.failures.rule == FailureRule::go_on && parent.outcome != Outcome::not_sent;
    if (one.trigger == Trigger::dispatch && parent.fired_ns) {
        return *parent.fired_ns + one.delay_ns;
    }
    const bool has_words = !words || !is_failure(parent.outcome) || go_on;
    if (one.trigger == Trigger::completion && is_answered(parent) && has_words) {
        return parent.done_ns.value_or(parent.ended_ns.value_or(0)) + one.delay_ns;
    }
    return go_on && parent.ended_ns ? std::optional(*parent.ended_ns + one.delay_ns) : std::nullopt;
}

/// The first record of each row, and the last: users may send one again.
struct Tries {
    const Record* first = nullptr;
    const Record* last = nullptr;
    const Record* left = nullptr;  ///< the first that left
};

/// [pass, row]
template <class Value>
using ByRow = std::map<std::pair<std::uint32_t, std::uint32_t>, Value>;

using Turns = ByRow<Turn>;

ByRow<Tries> tries_of(const std::vector<Record>& all) {
    ByRow<Tries> records;
    for (const Record& record : all) {
        Tries& tries = records[{record.pass, record.row}];
        const bool is_first = tries.first == nullptr || record.attempt < tries.first->attempt;
        const bool is_last = tries.last == nullptr || record.attempt > tries.last->attempt;
        tries.first = is_first ? &record : tries.first;
        tries.last = is_last ? &record : tries.last;
        const bool is_left =
            record.fired_ns && (tries.left == nullptr || record.attempt < tries.left->attempt);
        tries.left = is_left ? &record : tries.left;
    }
    return records;
}

std::uint32_t last_pass_of(const std::vector<Record>& records) {
    std::uint32_t last = 0;
    for (const Record& record : records) {
        last = std::max(last, record.pass);
    }
    return last;
}

/// When nothing more became of the row; what waited in vain was over with the row that failed it.
std::optional<std::int64_t> over_at(std::uint32_t pass, std::uint32_t row,
                                    const ByRow<Tries>& records) {
    const Record& record = *records.at({pass, row}).last;
    if (record.ended_ns || !record.error || record.outcome != Outcome::not_sent) {
        return record.ended_ns;
    }
    const std::string& error = *record.error;  // "row N, which it waited for, failed"
    const auto number = static_cast<std::uint32_t>(std::strtoul(error.c_str() + 4, nullptr, 10));
    const auto failed = records.find({pass, number});
    return failed == records.end() ? std::nullopt : failed->second.last->ended_ns;
}

void add_turns(const ByRow<Tries>& records, std::uint32_t pass, const Dependency& one,
               const UserRules& rules, const GoesOnBehind& live, Turns& turns) {
    const auto row = records.find({pass, one.row});
    const auto on = records.find({pass, one.on});
    const bool is_over = one.trigger == Trigger::over;
    if (row == records.end()) {
        return;
    }
    if (on == records.end()) {
        if (rules.start.is_inside() && !is_over) {  // it is over where the tree was entered
            turns[row->first].is_started = true;
            turns[row->first].record = row->second.first;
        }
        return;
    }
    Turn& turn = turns[row->first];
    turn.record = row->second.first;
    Dependency wait = one;
    const Record& parent = *on->second.last;
    const bool warms_up = turn.record->phase == Phase::warmup || parent.phase == Phase::warmup;
    wait.delay_ns = warms_up ? 0 : one.delay_ns;
    const Record* const left = on->second.left;
    const bool by_start = one.trigger == Trigger::dispatch && left != nullptr;
    const Record& of = by_start ? *left : parent;
    const auto before = live.find(one.row);
    const bool words = before != live.end() && before->second == one.on;
    const std::optional<std::int64_t> at_ns =
        is_over ? over_at(pass, one.on, records) : released_by(of, wait, rules, words);
    turn.is_timed = turn.is_timed || !is_over;
    turn.is_told = turn.is_told && (!words || !lost_words(of));
    turn.released = turn.released && at_ns;
    turn.released_ns = std::max(turn.released_ns, at_ns.value_or(0));
    turn.is_exact = turn.is_exact && !warms_up && !rules.idle.any();
    turn.may_be_moved = rules.idle.any();
    turn.is_started = turn.is_started || parent.phase == Phase::warmup;
}

Turns turns_of(const std::vector<Record>& all, const std::vector<Dependency>& dependencies,
               const UserRules& rules = {}, const GoesOnBehind& live = {}) {
    const ByRow<Tries> records = tries_of(all);
    Turns turns;
    const std::uint32_t last_pass = last_pass_of(all);
    for (const Dependency& one : dependencies) {
        for (std::uint32_t pass = 0; pass <= last_pass; ++pass) {
            add_turns(records, pass, one, rules, live, turns);
        }
    }
    std::erase_if(turns, [](const auto& one) { return !one.second.is_told; });
    return turns;
}

/// Where every record is there: a disk may have been full.
Turns turns_of(const SimResult& result) {
    return result.disk_failed
               ? Turns()
               : turns_of(result.records, result.dependencies, result.users, result.goes_on_behind);
}

/// Of a run that lost no lines. Rows that were sent again, and those that wait for them, have two
/// stories.
Turns turns_of(const KilledRun& run) {
    std::set<std::uint32_t> again;
    for (const Life& life : run.lives) {
        if (life.lines_lost || life.result.disk_failed) {
            return {};
        }
        again.insert(life.again.begin(), life.again.end());
    }
    Turns turns = turns_of(run.records, run.dependencies);
    for (const Dependency& one : run.dependencies) {
        if (again.contains(one.row) || again.contains(one.on)) {
            turns.erase({0, one.row});
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

std::string turns_wait(const Turns& turns) {
    Breaches breaches;
    for (const auto& [row, turn] : turns) {
        const Record& record = *turn.record;
        if (record.fired_ns) {
            breaches.unless(turn.released, record, "left behind a row that had failed");
            breaches.unless(*record.fired_ns >= turn.released_ns || turn.may_be_moved, record,
                            "left before its parents were done");
            const bool is_exact = turn.is_exact && !turn.is_started && turn.is_timed;
            breaches.unless(!is_exact || record.due_ns == turn.released_ns, record,
                            "was not due when its parents were done");
            breaches.unless(!record.parent_end_ns || record.due_ns >= *record.parent_end_ns, record,
                            "was due before its parents were done");
            breaches.unless(!turn.may_be_moved || turn.is_started || !turn.is_timed ||
                                record.due_ns <= turn.released_ns,
                            record, "was due later than it is without caps");
        }
    }
    return breaches.text();
}

std::string no_release_is_lost(const Turns& turns) {
    Breaches breaches;
    for (const auto& [row, turn] : turns) {
        breaches.unless(!turn.released || turn.record->outcome != Outcome::not_sent, *turn.record,
                        "was released and not sent");
    }
    return breaches.text();
}

std::string failures_end_trees(const Turns& turns) {
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

// Whatever became of them.
std::string barriers_hold(const SimResult& result) {
    if (result.disk_failed) {
        return "";
    }
    Breaches breaches;
    const ByRow<Tries> records = tries_of(result.records);
    for (const auto& [place, tries] : records) {
        for (const Dependency& one : result.dependencies) {
            const auto [pass, row] = place;
            if (one.trigger != Trigger::over || one.row != row || tries.left == nullptr ||
                !records.contains({pass, one.on})) {
                continue;
            }
            const Record& turn = *tries.left;
            const std::optional<std::int64_t> at_ns = over_at(pass, one.on, records);
            breaches.unless(at_ns && *turn.fired_ns >= *at_ns && turn.due_ns >= *at_ns, turn,
                            "left before row " + std::to_string(one.on) + " was over");
        }
    }
    return breaches.text();
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
