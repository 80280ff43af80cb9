#include "engine/comparison/paired_rows.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// What all runs say of a key.
struct KeyFacts {
    std::uint64_t key = 0;
    std::int64_t due_ns = 0;  ///< in the first run that has it
    std::uint64_t tree = 0;
    std::uint32_t runs_a = 0;  ///< runs that have it
    std::uint32_t runs_b = 0;
    std::uint32_t ok_a = 0;  ///< runs in which it is ok
    std::uint32_t ok_b = 0;
    bool dues_differ = false;
};

using Places = std::unordered_map<std::uint64_t, std::uint32_t>;

/// The keys of all runs; `run_of` tells a key met twice in one run.
class Keys {
  public:
    void add(const ComparedRun& run, bool is_a) {
        ++run_;
        for (const ComparedRequest& request : run.requests) {
            const auto [found, is_new] =
                places_.try_emplace(request.key, static_cast<std::uint32_t>(facts_.size()));
            if (is_new) {
                facts_.push_back({request.key, request.due_ns, request.tree});
                last_run_.push_back(0);
            }
            KeyFacts& facts = facts_[found->second];
            if (std::exchange(last_run_[found->second], run_) == run_) {
                ++twice_;
                continue;
            }
            ++(is_a ? facts.runs_a : facts.runs_b);
            (is_a ? facts.ok_a : facts.ok_b) += request.ok ? 1 : 0;
            facts.dues_differ = facts.dues_differ || facts.due_ns != request.due_ns;
        }
    }

    /// In the order of their dues.
    std::vector<KeyFacts> sorted() {
        std::sort(facts_.begin(), facts_.end(), [](const KeyFacts& a, const KeyFacts& b) {
            return std::pair(a.due_ns, a.key) < std::pair(b.due_ns, b.key);
        });
        return std::move(facts_);
    }
    std::uint64_t twice() const { return twice_; }

  private:
    std::vector<KeyFacts> facts_;
    std::vector<std::uint32_t> last_run_;  ///< [facts] the last run that had it; runs count from 1
    Places places_;
    std::uint32_t run_ = 0;
    std::uint64_t twice_ = 0;
};

RowUnits units_of(const std::vector<KeyFacts>& rows, std::uint64_t& trees) {
    RowUnits units;
    std::unordered_map<std::uint64_t, std::uint32_t> found;
    for (const KeyFacts& row : rows) {
        auto unit = static_cast<std::uint32_t>(units.count);
        if (row.tree != 0) {
            unit = found.try_emplace(row.tree, unit).first->second;
        }
        units.count += unit == units.count ? 1 : 0;
        units.unit_of.push_back(unit);
    }
    trees = found.size();
    return units;
}

void count_rows(const std::vector<KeyFacts>& rows, GroupComparison& comparison) {
    for (const KeyFacts& row : rows) {
        const bool whole_a = row.runs_a == comparison.runs_a;
        const bool whole_b = row.runs_b == comparison.runs_b;
        const bool ok_a = row.ok_a == comparison.runs_a;
        const bool ok_b = row.ok_b == comparison.runs_b;
        comparison.only_a += row.runs_b == 0 ? 1 : 0;
        comparison.only_b += row.runs_a == 0 ? 1 : 0;
        comparison.dues_differ += row.dues_differ ? 1 : 0;
        if (whole_a && whole_b) {
            ++comparison.keys;
            comparison.only_a_ok += ok_a && !ok_b ? 1 : 0;
            comparison.only_b_ok += ok_b && !ok_a ? 1 : 0;
        }
    }
}

}  // namespace

PairedRows pair_rows(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                     GroupComparison& comparison) {
    Keys keys;
    for (const ComparedRun& run : a) {
        keys.add(run, true);
    }
    for (const ComparedRun& run : b) {
        keys.add(run, false);
    }
    const std::vector<KeyFacts> rows = keys.sorted();
    CHECK(rows.size() <= UINT32_MAX);
    comparison.twice = keys.twice();
    count_rows(rows, comparison);

    PairedRows paired;
    paired.rows = rows.size();
    paired.runs_a = a.size();
    paired.trees = units_of(rows, comparison.trees);
    Places places;
    places.reserve(rows.size());
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
        places.emplace(rows[row].key, row);
    }
    const auto place = [&](const ComparedRun& run) {
        std::vector<const ComparedRequest*> requests(rows.size(), nullptr);
        for (const ComparedRequest& request : run.requests) {
            const ComparedRequest*& slot = requests[places.at(request.key)];
            slot = slot == nullptr ? &request : slot;
        }
        paired.runs.push_back(std::move(requests));
        paired.durations_ns.push_back(run.duration_ns);
    };
    std::for_each(a.begin(), a.end(), place);
    std::for_each(b.begin(), b.end(), place);
    return paired;
}

}  // namespace driftless
