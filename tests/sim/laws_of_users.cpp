#include "tests/sim/laws_of_users.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/laws_of_turns.hpp"

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

}  // namespace

std::string users_play_one_tree_each(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result)) {
        return "";
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
    return breaches.text();
}

// The next tree begins at the instant at which all of the last one has ended; behind one in which
// nothing was answered after a pause. In the warm-up it may wait for the measurement.
std::string users_do_not_rest(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result) || result.stopped) {
        return "";
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
    return breaches.text();
}

// Those that ended are there with all their rows, and where the time was long enough all of them.
std::string trees_are_played_whole(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result) || result.stopped || result.users.for_ns ||
        result.users.start.is_inside()) {
        return "";
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
    return breaches.text();
}

std::string nothing_due_after_the_end(const SimResult& result) {
    Breaches breaches;
    for (const Record& record : result.records) {
        const bool in_time = !result.users.for_ns || !result.measured_from_ns ||
                             record.due_ns < *result.measured_from_ns + *result.users.for_ns;
        breaches.unless(in_time || waited_in_vain(record), record, "was due when the time was up");
    }
    return breaches.text();
}

// At every instant, by the records: from the fire to the end. An end makes room at its instant.
std::string no_more_rows_open(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result) || !result.users.single_rows) {
        return "";
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
    return breaches.text();
}

// A row behind a failure waits out its pause, one behind an abandoned row is due at the instant
// that was drawn for it, however late we came to see that, and one that is sent again stands apart:
// all others are due in the order of the file, pass by pass.
std::string single_rows_in_order(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result) || !result.users.single_rows || result.stopped) {
        return "";
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
    return breaches.text();
}

// Those that are not there from the begin: not before more users were wanted. Nobody is wanted
// less.
std::string users_begin_when_wanted(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result) || result.users.first() == result.users.users) {
        return "";
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
    return breaches.text();
}

}  // namespace driftless::sim
