#include "cmd/compare/paired_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "cmd/values.hpp"
#include "engine/stats/group_key.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t size_groups = 5;
constexpr int time_groups = 6;

/// Walks all runs at once, in the order of their keys.
class Walk {
  public:
    explicit Walk(std::vector<const PlayedRun*> runs)
        : runs_(std::move(runs)), at_(runs_.size(), 0) {}

    /// To the next key that every run has; false at the end.
    bool next() {
        const std::size_t rows = runs_.front()->rows.size();
        for (at_.front() = started_ ? at_.front() + 1 : 0; at_.front() < rows; ++at_.front()) {
            started_ = true;
            if (all_have(runs_.front()->compared.requests[at_.front()].key)) {
                return true;
            }
        }
        return false;
    }
    const ComparedRequest& request(std::size_t run) const {
        return runs_[run]->compared.requests[at_[run]];
    }
    const PlayedRow& row(std::size_t run) const { return runs_[run]->rows[at_[run]]; }

  private:
    bool all_have(std::uint64_t key) {
        for (std::size_t run = 1; run < runs_.size(); ++run) {
            const std::vector<ComparedRequest>& requests = runs_[run]->compared.requests;
            while (at_[run] < requests.size() && requests[at_[run]].key < key) {
                ++at_[run];
            }
            if (at_[run] == requests.size() || requests[at_[run]].key != key) {
                return false;
            }
        }
        return true;
    }

    std::vector<const PlayedRun*> runs_;
    std::vector<std::size_t> at_;  ///< [runs]
    bool started_ = false;
};

/// The mean over runs `from` to `to`; NaN where one does not know it.
double mean_of(const Walk& walk, std::size_t from, std::size_t to, std::size_t value) {
    double sum = 0;
    for (std::size_t run = from; run < to; ++run) {
        const ComparedRequest& request = walk.request(run);
        const double one = request.values[value];
        sum += request.ok && one > 0 ? one : unknown_value;
    }
    return sum / static_cast<double>(to - from);
}

std::vector<PairedRequest> known_of(const std::vector<PairedRequest>& requests, RowValue value) {
    std::vector<PairedRequest> known;
    for (const PairedRequest& one : requests) {
        if (!std::isnan(one.ratio(value))) {
            known.push_back(one);
        }
    }
    return known;
}

/// A group's name and rows; sorted by `order`.
struct Group {
    std::string name;
    std::vector<const PairedRequest*> rows;
};
using Groups = std::map<std::int64_t, Group>;

Groups by_size(const std::vector<PairedRequest>& rows) {
    std::vector<std::uint32_t> lengths;
    for (const PairedRequest& row : rows) {
        lengths.push_back(static_cast<std::uint32_t>(row.input_tokens));
    }
    const std::vector<std::uint32_t> bounds = length_bounds(lengths, size_groups);
    Groups groups;
    for (const PairedRequest& row : rows) {
        const auto found = std::lower_bound(bounds.begin(), bounds.end(), row.input_tokens);
        Group& group = groups[found - bounds.begin()];
        group.name = "to " + with_commas(*found, 0);
        group.rows.push_back(&row);
    }
    return groups;
}

Groups by_turn(const std::vector<PairedRequest>& rows) {
    struct Turns {
        std::uint32_t last;
        const char* name;
    };
    constexpr std::array turns{Turns{0, "none"},
                               Turns{1, "1"},
                               Turns{2, "2"},
                               Turns{4, "3 to 4"},
                               Turns{8, "5 to 8"},
                               Turns{16, "9 to 16"},
                               Turns{UINT32_MAX, "from 17"}};
    Groups groups;
    for (const PairedRequest& row : rows) {
        const auto* const found = std::find_if(
            turns.begin(), turns.end(), [&row](const Turns& one) { return row.turn <= one.last; });
        Group& group = groups[found - turns.begin()];
        group.name = found->name;
        group.rows.push_back(&row);
    }
    return groups;
}

Groups by_hit(const std::vector<PairedRequest>& rows) {
    constexpr std::array names{"none", "to 25 %", "to 50 %", "to 75 %", "to 100 %"};
    Groups groups;
    for (const PairedRequest& row : rows) {
        if (std::isnan(row.expected_hit)) {
            continue;
        }
        const double quarters = std::ceil(std::clamp(row.expected_hit, 0.0, 1.0) * 4);
        Group& group = groups[static_cast<std::int64_t>(quarters)];
        group.name = names[static_cast<std::size_t>(quarters)];
        group.rows.push_back(&row);
    }
    return groups;
}

Groups by_time(const std::vector<PairedRequest>& rows) {
    const auto order = [](const PairedRequest& x, const PairedRequest& y) {
        return x.due_ns < y.due_ns;
    };
    const auto [first, last] = std::minmax_element(rows.begin(), rows.end(), order);
    const std::int64_t from = first->due_ns;
    const std::int64_t part = std::max<std::int64_t>((last->due_ns - from) / time_groups + 1, 1);
    Groups groups;
    for (const PairedRequest& row : rows) {
        const std::int64_t number = (row.due_ns - from) / part;
        Group& group = groups[number];
        group.name = fmt::format("{:.1f} to {:.1f} s", in_s(from + number * part),
                                 in_s(from + (number + 1) * part));
        group.rows.push_back(&row);
    }
    return groups;
}

/// A's side of a group is 1 everywhere, so that the ratio of the two medians is the median of the
/// ratios, with the interval of the room that all others come from.
ChangeGroup change_of(const Group& group, RowValue value, const ComparisonOptions& options) {
    ComparedRun ones;
    ComparedRun ratios;
    for (const PairedRequest* row : group.rows) {
        ComparedRequest& one = ones.requests.emplace_back();
        one.key = std::uint64_t{row->pass} << 32 | row->row;
        one.due_ns = row->due_ns;
        one.tree = row->tree;
        one.ok = true;
        one.values[static_cast<std::size_t>(RowValue::ttft)] = 1;
        ratios.requests.push_back(one);
        ratios.requests.back().values[static_cast<std::size_t>(RowValue::ttft)] = row->ratio(value);
    }
    const ComparedMetric median{ComparedFigure::value_percentile, RowValue::ttft, 500};
    const GroupComparison compared =
        compare_groups({&ones, 1}, {&ratios, 1}, {&median, 1}, options);
    const MetricComparison& found = compared.metrics.front();
    ChangeGroup out{group.name, group.rows.size(), found.ratio,
                    found.low,  found.high,        found.in_these_runs};
    if (std::isnan(out.ratio)) {  // few rows have a median, and no interval
        std::vector<double> values;
        for (const PairedRequest* row : group.rows) {
            values.push_back(row->ratio(value));
        }
        std::nth_element(values.begin(), values.begin() + (values.size() - 1) / 2, values.end());
        out.ratio = values[(values.size() - 1) / 2];
    }
    return out;
}

}  // namespace

std::vector<PairedRequest> paired_requests(const std::vector<PlayedRun>& a,
                                           const std::vector<PlayedRun>& b) {
    std::vector<PairedRequest> requests;
    Walk walk(all_runs(a, b));
    while (walk.next()) {
        const PlayedRow& row = walk.row(0);
        const ComparedRequest& request = walk.request(0);
        PairedRequest& one = requests.emplace_back();
        one.row = row.row;
        one.pass = row.pass;
        one.turn = row.turn;
        one.due_ns = request.due_ns;
        one.tree = request.tree;
        one.input_tokens = request.input_tokens;
        one.expected_hit = row.expected_tokens / row.prompt_tokens;
        for (std::size_t i = 0; i < row_value_count; ++i) {
            one.a[i] = mean_of(walk, 0, a.size(), i);
            one.b[i] = mean_of(walk, a.size(), a.size() + b.size(), i);
            if (std::isnan(one.ratio(static_cast<RowValue>(i)))) {
                one.a[i] = one.b[i] = unknown_value;
            }
        }
    }
    return requests;
}

std::vector<PairedRequest> most_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                        std::size_t most) {
    std::vector<PairedRequest> known = known_of(requests, value);
    const auto size = [value](const PairedRequest& one) {
        return std::fabs(std::log(one.ratio(value)));
    };
    const std::size_t listed = std::min(most, known.size());
    std::partial_sort(
        known.begin(), known.begin() + static_cast<std::ptrdiff_t>(listed), known.end(),
        [&](const PairedRequest& x, const PairedRequest& y) { return size(x) > size(y); });
    known.resize(listed);
    return known;
}

std::vector<ChangeView> where_it_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                         const ComparisonOptions& options) {
    std::vector<ChangeView> views;
    const std::vector<PairedRequest> rows = known_of(requests, value);
    if (rows.empty()) {
        return views;
    }
    const auto add = [&](const char* by, const Groups& groups) {
        if (groups.size() < 2) {
            return;
        }
        ChangeView& view = views.emplace_back();
        view.by = by;
        for (const auto& [order, group] : groups) {
            view.groups.push_back(change_of(group, value, options));
        }
    };
    add("input tokens", by_size(rows));
    add("turn", by_turn(rows));
    add("expected hit", by_hit(rows));
    add("due", by_time(rows));
    return views;
}

OutputChanges output_changes(const PlayedRun& a, const PlayedRun& b) {
    OutputChanges out;
    Walk walk({&a, &b});
    while (walk.next()) {
        const bool known = walk.request(0).ok && walk.request(1).ok && walk.row(0).output_digest &&
                           walk.row(1).output_digest;
        out.known += known ? 1 : 0;
        out.changed += known && walk.row(0).output_digest != walk.row(1).output_digest ? 1 : 0;
    }
    return out;
}

}  // namespace driftless
