#include "engine/plan/plan.hpp"
#include "engine/replay/lanes.hpp"
#include "tests/sim/killed_run.hpp"
#include "tests/sim/laws.hpp"

namespace driftless::sim {

namespace {

/// One playing of a tree, by its records.
struct Played {
    std::uint32_t user = 0;
    std::uint32_t rows = 0;
    std::uint32_t a_row = 0;
    std::int64_t begin_ns = INT64_MAX;  ///< the first due
    std::int64_t end_ns = INT64_MIN;    ///< the last end that is known
    bool one_user = true;
    bool ends_known = true;  ///< of all that did not wait in vain
    bool is_answered = false;
};

/// Its due is when it would have been if all had gone as recorded.
bool waited_in_vain(const Record& record) {
    return record.outcome == Outcome::not_sent && record.error;
}

std::vector<Played> played_trees(const SimResult& result) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Played> trees;  // [pass, tree]
    for (const Record& record : result.records) {
        Played& tree = trees[{record.pass, result.trees.at(record.row)}];
        const bool same_user = record.user && (tree.rows == 0 || tree.user == *record.user);
        tree.one_user = tree.one_user && same_user;
        tree.user = record.user.value_or(0);
        tree.rows += 1;
        tree.a_row = record.row;
        tree.ends_known = tree.ends_known && (record.ended_ns || waited_in_vain(record));
        if (!waited_in_vain(record)) {
            tree.begin_ns = std::min(tree.begin_ns, record.due_ns);
        }
        tree.is_answered = tree.is_answered || is_answered(record);
        tree.end_ns = std::max(tree.end_ns, record.ended_ns.value_or(INT64_MIN));
    }
    std::vector<Played> sorted;
    for (const auto& [where, tree] : trees) {
        sorted.push_back(tree);
    }
    std::sort(sorted.begin(), sorted.end(), [](const Played& a, const Played& b) {
        return std::tie(a.user, a.begin_ns, a.end_ns) < std::tie(b.user, b.begin_ns, b.end_ns);
    });
    return sorted;
}

bool has_users(const SimResult& result) {
    return result.users.users > 0 && !result.disk_failed;
}

/// Calls `what` for each tree and the one that the same user played after it.
template <class What>
void each_pair(const std::vector<Played>& trees, What what) {
    for (std::size_t i = 1; i < trees.size(); ++i) {
        if (trees[i].user == trees[i - 1].user) {
            what(trees[i - 1], trees[i]);
        }
    }
}

void users_play_one_tree_each(const SimResult& result, Breaches& breaches) {
    if (!has_users(result)) {
        return;
    }
    const std::vector<Played> trees = played_trees(result);
    for (const Played& tree : trees) {
        breaches.unless(tree.one_user && tree.user < result.users.users, tree.a_row,
                        "was played by another user");
    }
    each_pair(trees, [&](const Played& one, const Played& next) {
        breaches.unless(next.begin_ns >= one.end_ns, next.a_row,
                        "began while another tree of its user was live");
    });
}

// The next tree begins at the instant at which all of the last one has ended; behind one in which
// nothing was answered after a pause. In the warm-up it may wait for the measurement.
void users_do_not_rest(const SimResult& result, Breaches& breaches) {
    if (!has_users(result) || result.stopped) {
        return;
    }
    std::map<std::uint32_t, std::uint32_t> vain;  // [user] trees
    each_pair(played_trees(result), [&](const Played& one, const Played& next) {
        std::uint32_t& in_vain = vain[one.user];
        in_vain = one.is_answered ? 0 : in_vain + 1;
        const std::int64_t begin_ns = one.end_ns + (in_vain > 0 ? failure_pause_ns(in_vain) : 0);
        const bool measured = one.end_ns > result.measured_from_ns.value_or(INT64_MAX);
        const bool known = one.ends_known && next.begin_ns != INT64_MAX && measured;
        breaches.unless(!known || next.begin_ns == begin_ns, next.a_row,
                        "began " + std::to_string(next.begin_ns - one.end_ns) +
                            " ns behind the tree before it");
    });
}

// Those that ended are there with all their rows, and where the time was long enough all of them.
void trees_are_played_whole(const SimResult& result, Breaches& breaches) {
    if (!has_users(result) || result.stopped || result.users.for_ns ||
        result.users.start.is_inside()) {
        return;
    }
    std::map<std::uint32_t, std::uint32_t> missing;  // [tree] rows
    for (const auto& [row, tree] : result.trees) {
        ++missing[tree];
    }
    for (const Record& record : result.records) {
        missing[result.trees.at(record.row)] -= record.attempt == 0 ? 1 : 0;
    }
    for (const auto& [tree, rows] : missing) {
        breaches.unless(rows == 0, tree, "is of a tree that was not played whole");
    }
}

void nothing_due_after_the_end(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool in_time = !result.users.for_ns || !result.measured_from_ns ||
                             record.due_ns < *result.measured_from_ns + *result.users.for_ns;
        breaches.unless(in_time || waited_in_vain(record), record, "was due when the time was up");
    }
}

// At every instant, by the records: from the fire to the end. An end makes room at its instant.
void no_more_rows_open(const SimResult& result, Breaches& breaches) {
    if (!has_users(result) || !result.users.single_rows) {
        return;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // instant; -1 is an end
    for (const Record& record : result.records) {
        if (record.fired_ns && record.ended_ns) {
            changes.emplace_back(*record.fired_ns, 1);
            changes.emplace_back(*record.ended_ns, -1);
        }
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t open = 0;
    for (const auto& [at_ns, change] : changes) {
        open += change;
        breaches.unless(open <= std::int64_t{result.users.users},
                        std::to_string(open) + " rows are open at " + std::to_string(at_ns));
    }
}

// A row behind a failure waits out its pause, one behind an abandoned row is due at the instant
// that was drawn for it, however late we came to see that, and one that is sent again stands apart:
// all others are due in the order of the file, pass by pass.
void single_rows_in_order(const SimResult& result, Breaches& breaches) {
    if (!has_users(result) || !result.users.single_rows || result.stopped) {
        return;
    }
    std::vector<const Record*> by_user;
    for (const Record& record : result.records) {
        by_user.push_back(&record);
    }
    std::sort(by_user.begin(), by_user.end(), [](const Record* a, const Record* b) {
        return std::tie(a->user, a->due_ns, a->attempt) < std::tie(b->user, b->due_ns, b->attempt);
    });
    std::vector<const Record*> at_once;  // due when another had ended, or from the begin
    for (std::size_t i = 0; i < by_user.size(); ++i) {
        const bool first = i == 0 || by_user[i - 1]->user != by_user[i]->user;
        const bool behind_an_answer =
            !first && is_answered(*by_user[i - 1]) && by_user[i - 1]->outcome != Outcome::abandoned;
        if (by_user[i]->attempt == 0 && (first || behind_an_answer)) {
            at_once.push_back(by_user[i]);
        }
    }
    // Each engine has rows and users of its own.
    const auto engine_of = [&result](const Record* record) {
        return record->user.value_or(0) % result.engines;
    };
    std::sort(at_once.begin(), at_once.end(), [&engine_of](const Record* a, const Record* b) {
        return std::tuple(engine_of(a), a->pass, a->row) <
               std::tuple(engine_of(b), b->pass, b->row);
    });
    for (std::size_t i = 1; i < at_once.size(); ++i) {
        const bool ramps = result.users.ramp_ns > 0;  // who begins late takes its row at the begin
        const bool is_other = engine_of(at_once[i - 1]) != engine_of(at_once[i]);
        const bool in_order = at_once[i - 1]->due_ns <= at_once[i]->due_ns;
        breaches.unless(ramps || is_other || in_order, *at_once[i],
                        "was due before one that stands before it in the file");
    }
}

// Those that are not there from the begin: not before more users were wanted. Nobody is wanted
// less.
void users_begin_when_wanted(const SimResult& result, Breaches& breaches) {
    if (!has_users(result) || result.users.first() == result.users.users) {
        return;
    }
    std::map<std::uint32_t, const Record*> first;  // [user] the earliest due
    for (const Record& record : result.records) {
        if (!waited_in_vain(record) && record.user) {
            const Record*& known = first[*record.user];
            known = known == nullptr || record.due_ns < known->due_ns ? &record : known;
        }
    }
    for (std::size_t i = 1; i < result.wanted.size(); ++i) {
        breaches.unless(result.wanted[i].users > result.wanted[i - 1].users,
                        "fewer users were wanted than before");
    }
    for (const auto& [user, record] : first) {
        const auto wanted =
            std::find_if(result.wanted.begin(), result.wanted.end(),
                         [user](const SimResult::Wanted& one) { return one.users > user; });
        const bool is_wanted = wanted != result.wanted.end() && wanted->at_ns <= record->due_ns;
        breaches.unless(user < result.users.first() || is_wanted, *record,
                        "is of a user that nobody wanted by then");
    }
}

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

void turns_wait(const Turns& turns, Breaches& breaches) {
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
}

void no_release_is_lost(const Turns& turns, Breaches& breaches) {
    for (const auto& [row, turn] : turns) {
        breaches.unless(!turn.released || turn.record->outcome != Outcome::not_sent, *turn.record,
                        "was released and not sent");
    }
}

void failures_end_trees(const Turns& turns, Breaches& breaches) {
    for (const auto& [row, turn] : turns) {
        breaches.unless(turn.released || turn.record->outcome == Outcome::not_sent, *turn.record,
                        "has an outcome behind a row that had failed");
    }
}

// To the nanosecond: a turn is due so long after the last of them as was recorded.
void turns_wait(const SimResult& result, Breaches& breaches) {
    turns_wait(turns_of(result), breaches);
}
void no_release_is_lost(const SimResult& result, Breaches& breaches) {
    if (!result.stopped) {
        no_release_is_lost(turns_of(result), breaches);
    }
}
void failures_end_trees(const SimResult& result, Breaches& breaches) {
    failures_end_trees(turns_of(result), breaches);
}

// Whatever became of them.
void barriers_hold(const SimResult& result, Breaches& breaches) {
    if (result.disk_failed) {
        return;
    }
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
}

/// The last record of each row.
std::map<std::uint32_t, const Record*> last_records(const SimResult& result) {
    std::map<std::uint32_t, const Record*> last;
    for (const Record& record : result.records) {
        const Record*& one = last[record.row];
        one = one == nullptr || record.attempt > one->attempt ? &record : one;
    }
    return last;
}

// As many answers as its record says, each as the server has sent it in this conversation.
void prompts_hold_what_was_said(const SimResult& result, Breaches& breaches) {
    const bool live = !result.goes_on_behind.empty() && !result.disk_failed;
    const std::map<std::uint32_t, const Record*> records =
        live ? last_records(result) : std::map<std::uint32_t, const Record*>();
    for (const auto& [row, record] : records) {
        const auto behind = result.goes_on_behind.find(row);
        const auto seen = result.truth.find(row);
        if (!record->fired_ns) {
            continue;
        }
        breaches.unless((behind == result.goes_on_behind.end()) == !record->live_turns, *record,
                        "does not say whether it holds answers of the run");
        const std::uint32_t told = record->live_turns.value_or(0);
        if (behind != result.goes_on_behind.end() && records.contains(behind->second)) {
            const Record& before = *records.at(behind->second);
            const std::uint32_t answered = is_whole(before.outcome) ? 1 : 0;
            const bool is_known = before.fired_ns.has_value();
            breaches.unless(!is_known || told == before.live_turns.value_or(0) + answered, *record,
                            "holds another number of answers than were given");
        }
        if (seen != result.truth.end() && seen->second.history) {
            const mock::HistoryCount& history = *seen->second.history;
            breaches.unless(history.known == told, *record,
                            "holds " + std::to_string(history.known) + " answers of the server");
            breaches.unless(history.elsewhere + history.unknown == 0, *record,
                            "holds words that the server has not said there");
        }
    }
}

void prompts_are_filled_up(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        if (!record.padded_tokens || !record.prompt_tokens_off) {
            continue;
        }
        const std::int64_t over = std::max<std::int64_t>(0, -*record.padded_tokens);
        breaches.unless(
            *record.prompt_tokens_off == over, record,
            "is off its recorded length by " + std::to_string(*record.prompt_tokens_off));
    }
}

// A row knows at least how long its bytes have waited, whatever stood still.
void late_reads_are_known(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const auto found = result.waited.find(record.row);
        const std::int64_t waited_ns = found == result.waited.end() ? 0 : found->second.ns;
        breaches.unless(record.outcome != Outcome::ok || record.receive_delay_ns, record,
                        "has no bound on how late it was read");
        breaches.unless(!record.receive_delay_ns || waited_ns <= *record.receive_delay_ns, record,
                        "was read later than it says");
    }
}

// Each chunk came within its bound, and no bound is wider than the row's.
void chunks_came_within_their_bounds(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const auto found = result.event_reads.find(record.row);
        if (!record.chunks_late_known || record.chunk_ns.empty() || record.stale_retries > 0 ||
            found == result.event_reads.end()) {
            continue;
        }
        breaches.unless(record.first_late_ns == record.chunk_late_ns.front() &&
                            record.last_late_ns == record.chunk_late_ns.back(),
                        record, "has other bounds than its chunks");
        const std::int64_t fired_ns = *record.fired_ns;
        std::map<std::int64_t, std::vector<std::int64_t>> came;  // [read]
        for (const SimResult::LastRead& event : found->second) {
            came[event.read_ns].push_back(std::max(event.came_ns, fired_ns));
        }
        std::map<std::int64_t, std::vector<std::size_t>> chunks;  // [read]
        for (std::size_t i = 0; i < record.chunk_ns.size(); ++i) {
            chunks[fired_ns + record.chunk_ns[i]].push_back(i);
        }
        for (const auto& [read_ns, numbers] : chunks) {
            const std::vector<std::int64_t>& events = came[read_ns];
            for (std::size_t i = 0; i < numbers.size() && !events.empty(); ++i) {
                // Of several events in one read it is not told which of them had tokens.
                const bool told = events.size() == numbers.size();
                const std::int64_t came_ns =
                    told ? events[i] : *std::max_element(events.begin(), events.end());
                const std::int64_t late_ns = record.chunk_late_ns[numbers[i]];
                breaches.unless(read_ns - came_ns <= late_ns, record,
                                "has a chunk that waited for " + std::to_string(read_ns - came_ns) +
                                    " ns, and says " + std::to_string(late_ns));
                breaches.unless(late_ns <= record.receive_delay_ns.value_or(-1), record,
                                "has a bound that is wider than that of all its reads");
            }
        }
    }
}

// No schedule keeps bytes from being read for long: `unread_max` of the loop, a guard, and the
// turns between them, each with a step of arithmetic.
void bytes_are_read_in_time(const SimResult& result, Breaches& breaches) {
    constexpr Duration longest = microseconds(400);
    constexpr std::int64_t steps = 20;  // as many completions are handled in a turn, and some more
    breaches.unless(result.overload ||
                        result.unread_max <= longest + Duration{steps * result.arithmetic_max.ns},
                    std::to_string(result.unread_max.ns) + " ns before something was read");
}

// Where the kernel has lost the end of a connection, somebody looks for it, whatever the limits of
// the row are.
void ends_are_seen_in_time(const SimResult& result, Breaches& breaches) {
    const Duration longest = LanePool::end_unseen_max + result.arithmetic_max;
    breaches.unless(result.overload || result.end_unseen_max <= longest,
                    std::to_string(result.end_unseen_max.ns) + " ns before an end was seen");
}

// Bounds are tight: where nothing kept the process from reading, no record says that something did.
void no_false_alarm_of_late_reads(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const std::int64_t delay_ns = record.receive_delay_ns.value_or(0);
        breaches.unless(!result.calm || delay_ns <= calm_delay_max.ns, record,
                        "says that it was read up to " + std::to_string(delay_ns) + " ns late");
        breaches.unless(!result.calm || !has_taint(record, taint_read_late), record,
                        "is tainted read_late, and nothing kept it from being read");
    }
}

// Whatever kept the process from reading: what came before a deadline is read before it ends a row.
// Deadlines give in behind 65,536 reads on end (`receives_before_deadlines` of between_fires.cpp).
void timeouts_keep_to_what_came(const SimResult& result, Breaches& breaches) {
    if (result.overload || result.bytewise) {
        return;
    }
    for (const Record& record : result.records) {
        const auto unread = result.unread_ns.find(record.row);
        if (unread == result.unread_ns.end() || !record.fired_ns || record.stale_retries > 0) {
            continue;
        }
        const auto last = result.last_reads.find(record.row);
        const Timeouts& limits = result.timeouts;
        std::int64_t deadline_ns = std::numeric_limits<std::int64_t>::min();  // none has passed
        if (record.outcome == Outcome::timeout_total) {
            deadline_ns = *record.fired_ns + limits.total.ns;
        } else if (record.outcome == Outcome::timeout_first_byte) {
            deadline_ns = *record.fired_ns + limits.first_byte.ns;
        } else if (record.outcome == Outcome::abandoned) {
            deadline_ns = given_up_at_ns(result, record).value_or(deadline_ns);
        } else if (record.outcome == Outcome::timeout_idle && last != result.last_reads.end()) {
            deadline_ns = last->second.read_ns + limits.idle.ns;
        }
        breaches.unless(deadline_ns <= unread->second, record,
                        "timed out at " + std::to_string(deadline_ns) +
                            " ns, and did not read what had come at " +
                            std::to_string(unread->second));
    }
}

// No wait counts twice: all of them lie between the fire and the last part. And waits of the parts
// of a request add up, but for as long as a part may have been on its way to
// the kernel, and for what may be a sleep of ours in which the kernel took it.
void parts_that_waited_are_reported(const SimResult& result, Breaches& breaches) {
    const std::int64_t unsure_ns = result.latency_max.ns + calm_delay_max.ns;
    for (const Record& record : result.records) {
        const auto found = result.parts_ns.find(record.row);
        if (found == result.parts_ns.end() || !record.sent_ns || record.stale_retries > 0) {
            continue;
        }
        const bool reported = has_taint(record, taint_sent_late);
        breaches.unless(
            !reported || found->second.back() - *record.fired_ns > result.limits.receive_delay_ns,
            record, "is tainted sent_late, and had left by then");
        if (result.sends_block || result.flushes_fail) {
            continue;
        }
        std::int64_t waited_ns = 0;
        for (std::size_t i = 1; i < found->second.size(); ++i) {
            const std::int64_t apart_ns = found->second[i] - found->second[i - 1];
            waited_ns += std::max<std::int64_t>(apart_ns - unsure_ns, 0);
        }
        breaches.unless(reported || waited_ns <= result.limits.receive_delay_ns, record,
                        "had parts that waited for " + std::to_string(waited_ns) +
                            " ns in sum, and is not tainted");
    }
}

// When a row was really over for the client: when the end of its answer came, where a read has
// ended it; else when we say that it was, which is later or the same.
std::int64_t over_ns(const SimResult& result, const Record& record) {
    const auto found = result.last_reads.find(record.row);
    const bool by_read =
        found != result.last_reads.end() && found->second.read_ns == record.ended_ns;
    return by_read ? found->second.came_ns : record.ended_ns.value_or(INT64_MAX);
}

// For how long a row that was held back had room from when it was due to when it left: fewer rows
// than may be in flight had left and were not over, where the user has set that cap, and no token
// budget was used up, which counts as so many rows. What may pass between the end of an answer and
// the next fire does not count, nor as much again: the client may not know which answer came first.
std::int64_t room_ns(const SimResult& result, const Record& held) {
    std::vector<std::pair<std::int64_t, std::int64_t>> changes{{held.due_ns, 0},
                                                               {*held.fired_ns, 0}};
    for (const Record& record : result.records) {
        if (record.fired_ns && *record.fired_ns < *held.fired_ns && !result.capped_by_host) {
            changes.emplace_back(*record.fired_ns, 1);
            changes.emplace_back(std::max(over_ns(result, record), *record.fired_ns), -1);
        }
    }
    for (const UsedUp& stretch : used_up(result, *held.fired_ns)) {
        changes.emplace_back(stretch.from_ns, result.inflight_max);
        changes.emplace_back(stretch.to_ns, -std::int64_t{result.inflight_max});
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t room_ns = 0;
    std::int64_t open = 0;
    std::int64_t since_ns = held.due_ns;  // there was room, or it is not that late yet
    for (const auto& [at_ns, change] : changes) {
        const bool full = open >= std::int64_t{result.inflight_max};
        open += change;
        const bool fills = open >= std::int64_t{result.inflight_max};
        if (at_ns < held.due_ns || at_ns > *held.fired_ns) {
            continue;
        }
        if (!full && (fills || at_ns == *held.fired_ns)) {
            const std::int64_t stretch_ns = at_ns - since_ns;
            room_ns += stretch_ns > 2 * RoomTimes::unseen_max.ns ? stretch_ns : 0;
        }
        since_ns = full && !fills ? at_ns : since_ns;
    }
    return room_ns;
}

// For how long tokens of its budget were lost while a row waited: the bucket was full, and it was
// we who sent nothing. Those that others took late were there in time for the next.
std::int64_t lost_ns(const SimResult& result, const Record& held) {
    std::int64_t lost_ns = 0;
    for (const UsedUp& stretch : ran_over(result, *held.fired_ns)) {
        const std::int64_t both_ns =
            std::min(stretch.to_ns, *held.fired_ns) - std::max(stretch.from_ns, held.due_ns);
        lost_ns += both_ns > RoomTimes::unseen_max.ns ? both_ns : 0;
    }
    return lost_ns;
}

// For how long a row that a full cap held back last had waited for tokens of a budget before: they
// come at their instants, whether or not there was room meanwhile.
std::int64_t waited_for_tokens_ns(const SimResult& result, const Record& held) {
    std::int64_t waited_ns = 0;
    for (const UsedUp& stretch : used_up(result, *held.fired_ns)) {
        waited_ns = std::max(waited_ns, std::min(stretch.to_ns, *held.fired_ns) - held.due_ns);
    }
    return waited_ns > 0 ? std::max<std::int64_t>(waited_ns - lost_ns(result, held), 0) : 0;
}

// What --max-inflight or a budget held back the user wanted to wait, but only while as many rows
// were in flight, or the tokens had left: a place is free when an answer has come, not when we read
// so. The rest of the wait is a stop, or whatever else kept us from reading and sending, and nobody
// wanted it. Which of several answers came first is not known where they are read in another order,
// and nothing of it where the host slept: its clock stood still.
void only_a_full_cap_holds_back(const SimResult& result, Breaches& breaches) {
    if (result.engines > 1) {
        return;  // each has a part of the cap, and records do not say whose they are
    }
    const bool two_budgets = result.budgets.input.tokens > 0 && result.budgets.output.tokens > 0;
    for (const Record& record : result.records) {
        const bool by_budget = record.late_cause == LateCause::budget;
        if (!is_wish(record.late_cause) || !record.fired_ns || result.disk_failed ||
            !result.sleeps.empty() || (by_budget && two_budgets)) {
            continue;
        }
        // Tokens that ran over while all places were taken are no loss of ours.
        const std::int64_t room = room_ns(result, record);
        const std::int64_t by_cap_ns = *record.drift_ns - room;
        const std::int64_t wanted_ns =
            by_budget ? *record.drift_ns - std::min(lost_ns(result, record), room)
                      : std::max(by_cap_ns, waited_for_tokens_ns(result, record));
        breaches.unless(record.held_ns <= wanted_ns + RoomTimes::unseen_max.ns, record,
                        "was held by the cap for " + std::to_string(wanted_ns) + " ns, and says " +
                            std::to_string(record.held_ns));
    }
}

// Of single rows, which are built in the order in which answers release them: one whose body was
// there when it was due is late by `prepare` only where it stood behind one that was late for that.
// Over TLS it may be the records instead.
void late_bodies_make_rows_late(const SimResult& result, Breaches& breaches) {
    for (const Record& record : result.records) {
        const bool plain = result.users.single_rows && !record.url.starts_with("https");
        if (!plain || record.late_cause != LateCause::prepare || !record.fired_ns) {
            continue;
        }
        const bool any = std::any_of(
            result.records.begin(), result.records.end(), [&record](const Record& before) {
                return before.late_cause == LateCause::prepare &&
                       before.fired_ns >= record.due_ns && before.fired_ns < record.fired_ns;
            });
        breaches.unless(any || record.armed_ns > record.due_ns, record,
                        "is late by prepare, and every body was there");
    }
}

// Our clock does not show that the host slept: its stamps say nothing of what came meanwhile. Each
// row that was open knows that bytes may have waited for as long. One that was sent again is
// tainted for that.
void sleeps_of_the_host_are_reported(const SimResult& result, Breaches& breaches) {
    constexpr std::int64_t length_min_ns = 1'000'000;
    for (const Record& record : result.records) {
        for (const SimResult::Sleep& sleep : result.sleeps) {
            const bool open = record.fired_ns && *record.fired_ns < sleep.at_ns &&
                              record.ended_ns.value_or(0) > sleep.at_ns;
            breaches.unless(!open || record.stale_retries > 0 || sleep.length_ns < length_min_ns ||
                                record.receive_delay_ns.value_or(0) >= sleep.length_ns,
                            record, "was open while the host slept, and does not say so");
        }
    }
}

constexpr Law laws_of_users_all[] = {
    {"users play one tree each", users_play_one_tree_each},
    {"users do not rest", users_do_not_rest},
    {"trees are played whole", trees_are_played_whole},
    {"nothing is due when the time is up", nothing_due_after_the_end},
    {"no more rows are open than asked", no_more_rows_open},
    {"single rows come in file order", single_rows_in_order},
    {"users begin when they are wanted", users_begin_when_wanted},
    {"turns wait for their parents", turns_wait},
    {"no release is lost", no_release_is_lost},
    {"failures end their trees", failures_end_trees},
    {"no turn before what its barrier names", barriers_hold},
    {"prompts hold what was said", prompts_hold_what_was_said},
    {"prompts are filled up", prompts_are_filled_up},
    {"late reads are known", late_reads_are_known},
    {"chunks came within their bounds", chunks_came_within_their_bounds},
    {"bytes are read in time", bytes_are_read_in_time},
    {"ends are seen in time", ends_are_seen_in_time},
    {"no false alarm of late reads", no_false_alarm_of_late_reads},
    {"timeouts keep to what came", timeouts_keep_to_what_came},
    {"parts that waited are reported", parts_that_waited_are_reported},
    {"only a full cap holds back", only_a_full_cap_holds_back},
    {"late bodies make rows late", late_bodies_make_rows_late},
    {"sleeps of the host are reported", sleeps_of_the_host_are_reported},
};

}  // namespace

std::span<const Law> laws_of_users() {
    return laws_of_users_all;
}

void turns_wait_over_segments(const KilledRun& run, Breaches& breaches) {
    turns_wait(turns_of(run), breaches);
}

void no_release_is_lost_over_segments(const KilledRun& run, Breaches& breaches) {
    if (!was_stopped(run)) {
        no_release_is_lost(turns_of(run), breaches);
    }
}

void failures_end_trees_over_segments(const KilledRun& run, Breaches& breaches) {
    failures_end_trees(turns_of(run), breaches);
}

}  // namespace driftless::sim
