#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cmd/runs/find.hpp"

namespace driftless {

/// A probe below the boundary is at this share of it.
static constexpr double below_share = 0.85;
/// A probe in this part below the boundary makes that one superfluous.
static constexpr double below_from = 0.75;
static constexpr double below_to = 0.95;
/// The interval widens by 1, 3, 7, 15 and 31 widths of the boundary, and no further.
static constexpr std::uint32_t widenings_max = 5;

/// As few digits as the width needs, within the bounds. A tenth of `width` is resolved.
static double rounded(const SearchRules& rules, double value, double width) {
    double at = std::round(value);
    if (!rules.whole) {
        const double digits = std::ceil(-std::log10(width / 10));
        const double scale = std::pow(10.0, std::abs(digits));
        at = digits >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
    }
    return std::clamp(at, rules.low, rules.high);
}

namespace {

/// What is asked at each step, over all probes that are done.
class Asked {
  public:
    Asked(const SearchRules& rules, std::span<const JudgedProbe> done)
        : rules_(rules), done_(done) {}

    /// Nothing where it was not tried, or spoiled.
    std::optional<bool> met(double value, std::uint32_t seed) const {
        for (const JudgedProbe& one : done_) {
            if (one.is_at(value, seed) && one.is_judged()) {
                return one.outcome == ProbeOutcome::meets;
            }
        }
        return std::nullopt;
    }

    /// A probe, with the number of its tries so far.
    KneeProbe probe(double value, std::uint32_t seed, Purpose purpose) const {
        KneeProbe next{value, seed, 0, purpose};
        for (const JudgedProbe& one : done_) {
            next.attempt += one.is_at(value, seed) && one.counts() ? 1 : 0;
        }
        return next;
    }

    /// Loads that were probed to find the boundary, ascending. Replicates do not move it.
    std::vector<double> searched() const {
        std::vector<double> values;
        for (const JudgedProbe& one : done_) {
            if (one.probe.purpose != Purpose::replicate && one.probe.seed == 0 && one.is_judged()) {
                values.push_back(one.probe.value);
            }
        }
        std::ranges::sort(values);
        return values;
    }

    const SearchRules& rules() const { return rules_; }

  private:
    const SearchRules& rules_;
    std::span<const JudgedProbe> done_;
};

}  // namespace

/// Pass and fail by the probes so far. A failure below a load that passed counts when a second
/// seed fails there, too: `next` is that probe.
static SearchStep boundary(const Asked& asked) {
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

/// Growing steps up or down until both sides are known, then the middle.
static void search(const Asked& asked, SearchStep& step) {
    const SearchRules& rules = asked.rules();
    Knee& knee = step.knee;
    const double tried = static_cast<double>(asked.searched().size());
    const double factor = std::min(2.0, std::pow(rules.step, tried));
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
        go(rules.whole ? std::floor(*knee.fail / factor) : *knee.fail / factor, *knee.fail / 10,
           Purpose::bracket);
    } else if (!knee.fail) {
        if (*knee.pass >= rules.high) {
            knee.state = SearchState::highest_passes;
            return;
        }
        go(rules.whole ? std::ceil(*knee.pass * factor) : *knee.pass * factor, *knee.pass / 10,
           Purpose::bracket);
    } else {
        const double width = *knee.fail - *knee.pass;
        const double enough = std::max(rules.tolerance * *knee.pass, rules.whole ? 1.0 : 0.0);
        if (width > enough * (1 + 1e-9)) {
            go(*knee.pass + width / 2, width, Purpose::bisect);
        }
    }
}

/// Batching can break monotonicity: one probe below the boundary, unless there was one.
static void look_below(const Asked& asked, SearchStep& step) {
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

namespace {

enum class IntervalEnd : std::uint8_t { low, high };

}  // namespace

/// The end of the interval on one side: the load nearest to the boundary at which all seeds say
/// the same. Nothing where there is none, or where `next` must be probed first.
static std::optional<double> end_of_interval(const Asked& asked, IntervalEnd side,
                                             SearchStep& step) {
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

static void find_interval(const Asked& asked, SearchStep& step) {
    if (asked.rules().replicates == 0) {
        return;
    }
    step.knee.low = end_of_interval(asked, IntervalEnd::low, step);
    if (!step.next) {
        step.knee.high = end_of_interval(asked, IntervalEnd::high, step);
    }
}

std::optional<double> saturated_rate(std::vector<std::int64_t> ended_ns) {
    constexpr double ns_per_second = 1e9;
    std::ranges::sort(ended_ns);
    double highest = 0;
    for (std::size_t i = ended_ns.size() / 2; i < ended_ns.size(); ++i) {
        const double ended = static_cast<double>(std::max<std::int64_t>(ended_ns[i], 1));
        highest = std::max(highest, static_cast<double>(i + 1) * ns_per_second / ended);
    }
    return ended_ns.size() < saturated_min ? std::nullopt : std::optional(highest);
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

SearchStep next_step(const SearchRules& rules, std::span<const JudgedProbe> done) {
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
    } else if (step.next && std::ranges::count_if(done, &JudgedProbe::counts) >= probes_max) {
        step.knee.state = SearchState::too_many;
        step.next.reset();
    }
    return step;
}

}  // namespace driftless
