#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cmd/runs/find.hpp"

namespace driftless {

namespace {

constexpr std::size_t batches = 10;
constexpr std::size_t third = 3;
constexpr std::size_t rows_min = 4 * batches;
constexpr double z_min = 3.3;
constexpr double ratio_min = 1.5;
constexpr double late_share_min = 0.2;

using Means = std::array<double, batches>;

double mean_of(const Means& means, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) {
        sum += means[i];
    }
    return sum / static_cast<double>(to - from);
}

/// Normal approximation with continuity correction; ties count as nothing.
double mann_kendall_z(const Means& means) {
    int score = 0;
    for (std::size_t i = 0; i < batches; ++i) {
        for (std::size_t j = i + 1; j < batches; ++j) {
            score += means[j] > means[i] ? 1 : means[j] < means[i] ? -1 : 0;
        }
    }
    constexpr double n = batches;
    return score <= 0 ? 0 : (score - 1) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

double ratio_of(const Means& means) {
    const double first = mean_of(means, 0, third);
    return first > 0 ? mean_of(means, batches - third, batches) / first : 0;
}

bool rises(const Means& means) {
    const double first = mean_of(means, 0, third);
    const double middle = mean_of(means, third, batches - third);
    const double last = mean_of(means, batches - third, batches);
    return mann_kendall_z(means) > z_min && last > ratio_min * first &&
           last - middle > late_share_min * (last - first);
}

/// Median time from the first token to the end. The wait for the first token is not in it: it grows
/// with the run where a server is overloaded.
std::int64_t median_answer_ns(const std::vector<RowTimes>& rows) {
    std::vector<std::int64_t> times;
    times.reserve(rows.size());
    for (const RowTimes& row : rows) {
        if (row.first_token_ns) {
            times.push_back(row.ended_ns - *row.first_token_ns);
        }
    }
    if (times.empty()) {
        return 0;
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

struct BatchMeans {
    Means waiting{};  ///< rows that were due and had not ended
    Means ttft{};     ///< ns, from the due instant
};

/// Of `rows`, sorted by due, those from `skipped` on.
BatchMeans batch_means(const std::vector<RowTimes>& rows, std::size_t skipped) {
    std::vector<std::int64_t> ends;
    ends.reserve(rows.size());
    for (const RowTimes& row : rows) {
        ends.push_back(row.ended_ns);
    }
    std::sort(ends.begin(), ends.end());
    const std::size_t count = rows.size() - skipped;
    BatchMeans means;
    for (std::size_t batch = 0; batch < batches; ++batch) {
        const std::size_t from = skipped + batch * count / batches;
        const std::size_t to = skipped + (batch + 1) * count / batches;
        for (std::size_t i = from; i < to; ++i) {
            const RowTimes& row = rows[i];
            const auto ended = std::upper_bound(ends.begin(), ends.end(), row.due_ns);
            means.waiting[batch] +=
                static_cast<double>(i) - static_cast<double>(ended - ends.begin());
            means.ttft[batch] +=
                static_cast<double>(row.first_token_ns.value_or(row.ended_ns) - row.due_ns);
        }
        means.waiting[batch] /= static_cast<double>(to - from);
        means.ttft[batch] /= static_cast<double>(to - from);
    }
    return means;
}

}  // namespace

StabilityFinding judge_stability(std::vector<RowTimes> rows) {
    if (rows.size() < rows_min) {
        return {};
    }
    std::sort(rows.begin(), rows.end(),
              [](const RowTimes& a, const RowTimes& b) { return a.due_ns < b.due_ns; });
    const std::int64_t first_ns = rows.front().due_ns;
    const std::int64_t from_ns =
        first_ns + std::min(median_answer_ns(rows), (rows.back().due_ns - first_ns) / 2);
    const auto begin = std::find_if(rows.begin(), rows.end(),
                                    [&](const RowTimes& row) { return row.due_ns >= from_ns; });
    const auto skipped = static_cast<std::size_t>(begin - rows.begin());
    if (rows.size() - skipped < rows_min) {
        return {};
    }
    const auto [waiting, ttft] = batch_means(rows, skipped);
    const bool both = rises(waiting) && rises(ttft);
    return {both ? Stability::unstable : Stability::stable, ratio_of(waiting), ratio_of(ttft)};
}

namespace {

/// A probe below the boundary is at this share of it.
constexpr double below_share = 0.85;
/// A probe in this part below the boundary makes that one superfluous.
constexpr double below_from = 0.75;
constexpr double below_to = 0.95;
/// The interval widens by 1, 3, 7, 15 and 31 widths of the boundary, and no further.
constexpr std::uint32_t widenings_max = 5;

/// As few digits as the width needs, within the bounds. A tenth of `width` is resolved.
double rounded(const SearchRules& rules, double value, double width) {
    double at = std::round(value);
    if (!rules.whole) {
        const double digits = std::ceil(-std::log10(width / 10));
        const double scale = std::pow(10.0, std::abs(digits));
        at = digits >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
    }
    return std::clamp(at, rules.low, rules.high);
}

/// What is asked at each step, over all probes that are done.
class Asked {
  public:
    Asked(const SearchRules& rules, const std::vector<ProbeDone>& done)
        : rules_(rules), done_(done) {}

    /// Nothing where it was not tried, or spoiled.
    std::optional<bool> met(double value, std::uint32_t seed) const {
        for (const ProbeDone& one : done_) {
            if (one.probe.value == value && one.probe.seed == seed &&
                one.result != ProbeResult::spoiled) {
                return one.result == ProbeResult::meets;
            }
        }
        return std::nullopt;
    }

    /// A probe, with the number of its tries so far.
    KneeProbe probe(double value, std::uint32_t seed, Purpose purpose) const {
        KneeProbe next{value, seed, 0, purpose};
        for (const ProbeDone& one : done_) {
            next.attempt += one.probe.value == value && one.probe.seed == seed ? 1 : 0;
        }
        return next;
    }

    /// Loads that were probed to find the boundary, ascending. Replicates do not move it.
    std::vector<double> searched() const {
        std::vector<double> values;
        for (const ProbeDone& one : done_) {
            if (one.probe.purpose != Purpose::replicate && one.probe.seed == 0 &&
                one.result != ProbeResult::spoiled) {
                values.push_back(one.probe.value);
            }
        }
        std::sort(values.begin(), values.end());
        return values;
    }

    const SearchRules& rules() const { return rules_; }

  private:
    const SearchRules& rules_;
    const std::vector<ProbeDone>& done_;
};

/// Pass and fail by the probes so far. A failure below a load that passed counts when a second
/// seed fails there, too: `next` is that probe.
SearchStep boundary(const Asked& asked) {
    SearchStep step;
    const std::vector<double> values = asked.searched();
    double highest_met = 0;
    for (const double value : values) {
        highest_met = *asked.met(value, 0) ? value : highest_met;
    }
    for (const double value : values) {
        bool meets = *asked.met(value, 0);
        if (!meets && value < highest_met) {
            const std::optional<bool> again = asked.met(value, 1);
            if (!again) {
                step.next = asked.probe(value, 1, Purpose::below);
                return step;
            }
            meets = *again;
        }
        if (!meets) {
            step.knee.fail = value;
            step.knee.monotone = value > highest_met;
            return step;
        }
        step.knee.pass = value;
    }
    return step;
}

/// Doubling or halving until both sides are known, then the middle.
void search(const Asked& asked, SearchStep& step) {
    const SearchRules& rules = asked.rules();
    Knee& knee = step.knee;
    const auto go = [&](double value, double width, Purpose purpose) {
        step.next = asked.probe(rounded(rules, value, width), 0, purpose);
    };
    if (!knee.pass && !knee.fail) {
        step.next = asked.probe(rules.start, 0, Purpose::bracket);
    } else if (!knee.pass) {
        if (*knee.fail <= rules.low) {
            knee.state = SearchState::lowest_fails;
            return;
        }
        go(rules.whole ? std::floor(*knee.fail / 2) : *knee.fail / 2, *knee.fail / 10,
           Purpose::bracket);
    } else if (!knee.fail) {
        if (*knee.pass >= rules.high) {
            knee.state = SearchState::highest_passes;
            return;
        }
        go(*knee.pass * 2, *knee.pass / 10, Purpose::bracket);
    } else {
        const double width = *knee.fail - *knee.pass;
        const double enough = std::max(rules.tolerance * *knee.pass, rules.whole ? 1.0 : 0.0);
        if (width > enough * (1 + 1e-9)) {
            go(*knee.pass + width / 2, width, Purpose::bisect);
        }
    }
}

/// Batching can break monotonicity: one probe below the boundary, unless there was one.
void look_below(const Asked& asked, SearchStep& step) {
    const double pass = *step.knee.pass;
    const double at = rounded(asked.rules(), pass * below_share, pass / 10);
    for (const double value : asked.searched()) {
        if (value >= below_from * pass && value <= below_to * pass) {
            return;
        }
    }
    if (at < pass && !asked.met(at, 0)) {
        step.next = asked.probe(at, 0, Purpose::below);
    }
}

enum class IntervalEnd : std::uint8_t { low, high };

/// The end of the interval on one side: the load nearest to the boundary at which all seeds say
/// the same. Nothing where there is none, or where `next` must be probed first.
std::optional<double> end_of_interval(const Asked& asked, IntervalEnd side, SearchStep& step) {
    const SearchRules& rules = asked.rules();
    const double width = *step.knee.fail - *step.knee.pass;
    const bool wanted = side == IntervalEnd::low;
    const double boundary = wanted ? *step.knee.pass : *step.knee.fail;
    double before = 0;
    for (std::uint32_t i = 0; i <= widenings_max; ++i) {
        const double away = ((1U << i) - 1) * width;
        const double value =
            i == 0 ? boundary : rounded(rules, wanted ? boundary - away : boundary + away, width);
        if (i > 0 && value == before) {
            return std::nullopt;  // the bound of what is allowed
        }
        before = value;
        bool all = true;
        for (std::uint32_t seed = 0; all && seed <= rules.replicates; ++seed) {
            const std::optional<bool> met = asked.met(value, seed);
            if (!met) {
                step.next = asked.probe(value, seed, Purpose::replicate);
                return std::nullopt;
            }
            all = *met == wanted;
        }
        if (all) {
            return value;
        }
    }
    return std::nullopt;
}

void find_interval(const Asked& asked, SearchStep& step) {
    if (asked.rules().replicates == 0) {
        return;
    }
    step.knee.low = end_of_interval(asked, IntervalEnd::low, step);
    if (!step.next) {
        step.knee.high = end_of_interval(asked, IntervalEnd::high, step);
    }
}

}  // namespace

const char* name_of(Purpose purpose) {
    switch (purpose) {
        case Purpose::bracket:
            return "bracket";
        case Purpose::bisect:
            return "bisect";
        case Purpose::below:
            return "below";
        case Purpose::replicate:
            return "replicate";
    }
    return "";
}

const char* name_of(SearchState state) {
    switch (state) {
        case SearchState::searching:
            return "searching";
        case SearchState::found:
            return "found";
        case SearchState::lowest_fails:
            return "lowest-fails";
        case SearchState::highest_passes:
            return "highest-passes";
        case SearchState::spoiled:
            return "spoiled";
        case SearchState::too_many:
            return "too-many-probes";
    }
    return "";
}

Result<void> check_rules(const SearchRules& rules) {
    const auto refused = [](const char* why) { return Error{ErrorCode::out_of_range, 0, why}; };
    if (!(rules.low > 0)) {
        return refused("the lowest load must be above 0");
    }
    if (!(rules.low <= rules.high)) {
        return refused("the lowest load is above the highest one");
    }
    if (!(rules.start >= rules.low && rules.start <= rules.high)) {
        return refused("the search must start between the lowest and the highest load");
    }
    if (!(rules.tolerance > 0)) {
        return refused("the tolerance must be above 0");
    }
    return {};
}

SearchStep next_step(const SearchRules& rules, const std::vector<ProbeDone>& done) {
    const Asked asked(rules, done);
    SearchStep step = boundary(asked);
    if (!step.next) {
        search(asked, step);
    }
    const bool over = step.knee.state != SearchState::searching;
    if (!over && !step.next) {
        look_below(asked, step);
    }
    if (!over && !step.next) {
        find_interval(asked, step);
    }
    if (!over && !step.next) {
        step.knee.state = SearchState::found;
    }
    if (step.next && step.next->attempt >= rules.tries_max) {
        step.knee.state = SearchState::spoiled;
        step.next.reset();
    } else if (step.next && done.size() >= probes_max) {
        step.knee.state = SearchState::too_many;
        step.next.reset();
    }
    return step;
}

}  // namespace driftless
