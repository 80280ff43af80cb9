#include "tests/sim/laws_of_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/plan/plan.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/laws_of_turns.hpp"

namespace driftless::sim {

namespace {

/// `Retry-After` of the mock's 429.
constexpr std::int64_t mock_asks_for = 1'000'000'000;

bool has_users(const SimResult& result) {
    return result.users.users > 0 && !result.disk_failed;
}

/// No stretch without a request in flight is longer than the cap; from `from_ns` on.
/// No cap shortens a pause, neither that of a turn that is sent again, nor that of a user, before
/// rows that wait for none.
void cap_stretches(std::vector<const Record*> records, std::int64_t from_ns, std::int64_t cap_ns,
                   Breaches& breaches) {
    std::sort(records.begin(), records.end(),
              [](const Record* a, const Record* b) { return a->due_ns < b->due_ns; });
    std::optional<std::int64_t> over_ns;  // nothing that came so far was in flight behind this
    for (const Record* record : records) {
        if (over_ns && record->phase == Phase::profile && record->attempt == 0 &&
            record->parent_end_ns) {
            const std::int64_t idle_ns = record->due_ns - std::max(*over_ns, from_ns);
            breaches.unless(idle_ns <= cap_ns, *record,
                            "was due " + std::to_string(idle_ns) + " ns behind all before it");
        }
        if (!record->ended_ns) {
            return;  // nobody knows
        }
        over_ns = std::max(over_ns.value_or(*record->ended_ns), *record->ended_ns);
    }
}

/// It was not sent, and its due is one of what would have been.
bool is_nominal(const Record& record) {
    return record.outcome == Outcome::not_sent;
}

}  // namespace

std::string warm_up_comes_first(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result)) {
        return "";
    }
    for (const Record& record : result.records) {
        const bool warms_up = record.phase == Phase::warmup;
        breaches.unless(!warms_up || result.users.start.warms_up(), record, "is of no warm-up");
        if (warms_up && result.measured_from_ns && record.ended_ns) {
            breaches.unless(*record.ended_ns <= *result.measured_from_ns, record,
                            "warmed up when the measurement had begun");
        }
        if (!warms_up && record.fired_ns) {
            breaches.unless(
                result.measured_from_ns.has_value() && record.due_ns >= *result.measured_from_ns,
                record, "was due before the measurement");
        }
    }
    return breaches.text();
}

// A row behind a primer comes as long after it as was recorded, and as much longer as all the
// others: so long the primers took.
std::string trees_go_on_where_primed(const SimResult& result) {
    Breaches breaches;
    const StartRules& start = result.users.start;
    if (!has_users(result) || !start.is_inside() || start.warmup_requests > 0 ||
        result.users.idle.any()) {
        return "";
    }
    using InPass = std::pair<std::uint32_t, std::uint32_t>;  // and a row, of a tree or itself
    std::map<InPass, const Record*> primers;                 // [tree]
    const auto tree_of = [&](const Record& record) {
        return InPass(record.pass, result.trees.at(record.row));
    };
    std::set<InPass> sent;
    for (const Record& record : result.records) {
        if (record.phase == Phase::profile) {
            sent.emplace(record.pass, record.row);
        } else if (record.attempt == 0) {
            const bool is_first = primers.try_emplace(tree_of(record), &record).second;
            breaches.unless(is_first, record, "primes a session that has a primer");
        }
    }
    std::set<InPass> waiting;  // for rows that are no primers, as far as they were sent
    for (const Dependency& one : result.dependencies) {
        for (const auto& [pass, row] : sent) {
            if (row == one.on) {
                waiting.emplace(pass, one.row);
            }
        }
    }
    std::optional<std::int64_t> later_ns;
    for (const Record& record : result.records) {
        const auto primer = primers.find(tree_of(record));
        if (primer == primers.end() || record.phase != Phase::profile || record.attempt > 0) {
            continue;
        }
        const Record& before = *primer->second;
        breaches.unless(result.recorded_ns.at(record.row) >= result.recorded_ns.at(before.row),
                        record, "was recorded before the primer of its tree");
        if (waiting.contains({record.pass, record.row}) || is_nominal(record)) {
            continue;
        }
        const std::int64_t behind_ns =
            (record.due_ns - before.due_ns) -
            (result.recorded_ns.at(record.row) - result.recorded_ns.at(before.row));
        later_ns = later_ns.value_or(behind_ns);
        breaches.unless(behind_ns == *later_ns && behind_ns >= 0, record,
                        "goes on " + std::to_string(behind_ns - *later_ns) +
                            " ns later than others behind their primers");
    }
    return breaches.text();
}

std::string idle_time_is_capped(const SimResult& result) {
    Breaches breaches;
    const IdleCaps& caps = result.users.idle;
    if (!has_users(result) || result.stopped || !result.measured_from_ns) {
        return "";
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const Record*>> trees;
    std::vector<const Record*> all;
    for (const Record& record : result.records) {
        if (!is_nominal(record) || record.ended_ns) {
            trees[{record.pass, result.trees.at(record.row)}].push_back(&record);
            all.push_back(&record);
        }
    }
    for (const auto& [tree, records] : trees) {
        if (caps.tree_ns) {
            cap_stretches(records, *result.measured_from_ns, *caps.tree_ns, breaches);
        }
    }
    // While a writer that comes too seldom holds words back nothing is moved.
    if (caps.system_ns && !result.live) {
        cap_stretches(all, *result.measured_from_ns, *caps.system_ns, breaches);
    }
    return breaches.text();
}

std::string failed_turns_are_sent_again(const SimResult& result) {
    Breaches breaches;
    if (!has_users(result)) {
        return "";
    }
    const FailureRules& rules = result.users.failures;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const Record*>> tries;
    for (const Record& record : result.records) {
        tries[{record.pass, record.row}].push_back(&record);
    }
    for (auto& [row, all] : tries) {
        std::sort(all.begin(), all.end(),
                  [](const Record* a, const Record* b) { return a->attempt < b->attempt; });
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Record& one = *all[i];
            breaches.unless(one.attempt == i, one, "has an attempt twice, or lacks one");
            const bool is_again =
                one.attempt < rules.retries_max ||
                (rules.waits_for_429 && one.status == 429 && one.attempt < Due::attempts_max);
            const bool fails = !is_answered(one) && one.outcome != Outcome::not_sent;
            if (i + 1 < all.size()) {
                const std::int64_t again_ns = all[i + 1]->due_ns;
                breaches.unless(fails && is_again, one, "was sent again without a cause");
                const bool asked = rules.waits_for_429 && one.status == 429;
                const std::int64_t last_ns =
                    one.ended_ns.value_or(0) +
                    (asked ? mock_asks_for : failure_pause_ns(one.attempt + 1));
                breaches.unless(again_ns == last_ns, one,
                                "was not sent again when its pause was over");
            } else if (!result.stopped && !result.users.for_ns) {
                breaches.unless(!fails || !is_again, one, "failed and was not sent again");
            }
        }
    }
    return breaches.text();
}

}  // namespace driftless::sim
