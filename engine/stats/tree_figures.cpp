#include "engine/stats/tree_figures.hpp"

#include <algorithm>

namespace driftless {

namespace {

constexpr double second_ns = 1e9;
constexpr double hour_ns = 3600 * second_ns;

/// Of one user's pass, at one side; other passes are other trees.
std::string key_of(const Record& record, const std::string& name) {
    return name + '\n' + std::to_string(record.pass) + '\n' +
           (record.user ? std::to_string(*record.user) : "") + '\n' + name_of(record.side);
}

/// Time that at least one of the intervals covers. Sorts them.
std::int64_t covered(std::vector<std::pair<std::int64_t, std::int64_t>>& flights) {
    std::sort(flights.begin(), flights.end());
    std::int64_t sum = 0;
    std::int64_t until = INT64_MIN;
    for (const auto& [from, to] : flights) {
        const std::int64_t begin = std::max(from, until);
        sum += std::max<std::int64_t>(to - begin, 0);
        until = std::max(until, to);
    }
    return sum;
}

}  // namespace

void TreeFigures::add(const Record& record) {
    if (record.phase != Phase::profile) {
        return;
    }
    const auto& name = record.tree ? record.tree : record.session;
    if (!name) {
        ++alone_;
        return;
    }
    if (record.user) {
        users_.insert(*record.user);
    }
    Tree& tree = trees_[key_of(record, *name)];
    (is_whole(record.outcome) ? tree.whole : tree.not_whole).insert(record.row);
    const bool cut = record.censored || record.outcome == Outcome::not_sent ||
                     record.outcome == Outcome::cancelled || record.outcome == Outcome::interrupted;
    tree.failed = tree.failed || (is_failure(record.outcome) && !cut);
    if (record.fired_ns && record.ended_ns) {
        tree.flights.emplace_back(*record.fired_ns, *record.ended_ns);
    }
    if (is_whole(record.outcome)) {
        const auto prompt = static_cast<double>(
            record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)}));
        tree.cache_known = tree.cache_known && record.cached_tokens.has_value();
        tree.cached += static_cast<double>(record.cached_tokens.value_or(0));
        tree.computed += prompt - static_cast<double>(record.cached_tokens.value_or(0));
        tree.output_known = tree.output_known && counts_output(record);
        tree.output += static_cast<double>(record.output_tokens.value_or(0));
    }
}

TreeTotals TreeFigures::totals(std::int64_t duration_ns) const {
    TreeTotals totals;
    totals.rows_alone = alone_;
    totals.users = users_.size();
    Sample duration, turns, answer, gap, computed, cached, output;
    for (const auto& [key, tree] : trees_) {
        ++totals.trees;
        // A request that failed and was sent again counts by its last try.
        const bool whole = std::includes(tree.whole.begin(), tree.whole.end(),
                                         tree.not_whole.begin(), tree.not_whole.end());
        if (!whole) {
            ++(tree.failed ? totals.failed : totals.unfinished);
            continue;
        }
        ++totals.finished;
        auto flights = tree.flights;
        const std::int64_t in_flight = covered(flights);
        std::int64_t last = flights.empty() ? 0 : flights.front().second;
        for (const auto& [from, to] : flights) {
            last = std::max(last, to);
        }
        const std::int64_t lasted = flights.empty() ? 0 : last - flights.front().first;
        duration.add(static_cast<double>(lasted) / second_ns);
        answer.add(static_cast<double>(in_flight) / second_ns);
        gap.add(static_cast<double>(lasted - in_flight) / second_ns);
        turns.add(static_cast<double>(tree.whole.size()));
        if (tree.output_known) {
            output.add(tree.output);
        }
        if (tree.cache_known) {
            computed.add(tree.computed);
            cached.add(tree.cached);
        }
    }
    totals.duration_s = duration.distribution();
    totals.turns = turns.distribution();
    totals.answer_s = answer.distribution();
    totals.gap_s = gap.distribution();
    totals.computed = computed.distribution();
    totals.cached = cached.distribution();
    totals.output = output.distribution();
    if (duration_ns > 0) {
        totals.jobs_per_hour =
            static_cast<double>(totals.finished) / (static_cast<double>(duration_ns) / hour_ns);
        if (totals.users > 0) {
            totals.jobs_per_hour_per_user =
                *totals.jobs_per_hour / static_cast<double>(totals.users);
        }
    }
    return totals;
}

}  // namespace driftless
