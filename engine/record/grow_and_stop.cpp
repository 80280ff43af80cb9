#include "engine/record/grow_and_stop.hpp"

#include <algorithm>
#include <numeric>

#include "proto/core/errors.hpp"

namespace driftless {

Growth::Growth(const GrowRules& rules, std::atomic<std::uint32_t>& wanted)
    : rules_(rules), wanted_(wanted), users_(rules.users_first) {
    CHECK(rules.any() && rules.users_first > 0 && rules.users_first <= rules.users_max);
    wanted_.store(users_, std::memory_order_relaxed);
}

void Growth::look(const Distribution& measured, std::uint64_t failed, std::uint64_t begun) {
    has_added_ = has_added_ && begun < users_;
    if (has_added_) {
        return;
    }
    if (measured.count == 0) {
        return;
    }
    figures_[count_++ % periods_max] =
        shown_statistics[static_cast<std::size_t>(rules_.figure)].of(measured);
    const std::size_t known = std::min(count_, periods_max);
    const double sum = std::accumulate(figures_.begin(), figures_.begin() + known, 0.0);
    const double limit = static_cast<double>(rules_.limit_ns);
    const double room = 1 - sum / static_cast<double>(known) / limit;
    if (room < room_min || failed > 0 || users_ == rules_.users_max) {
        return;
    }
    const std::uint32_t added = 1 + static_cast<std::uint32_t>(room / room_each);
    users_ += std::min(added, rules_.users_max - users_);
    wanted_.store(users_, std::memory_order_relaxed);
    count_ = 0;
    has_added_ = true;
}

static constexpr double ns_per_ms = 1e6;
static constexpr double ns_per_s = 1e9;
static_assert(static_cast<int>(StopFigure::e2e) == static_cast<int>(GrowMetric::e2e));
static_assert(shown_statistics[static_cast<std::size_t>(GrowFigure::max)].name ==
              std::string_view("max"));

void EndedRequests::add(const Record& record) {
    const bool counts = record.phase != Phase::warmup && record.outcome != Outcome::not_sent &&
                        record.outcome != Outcome::abandoned && !record.censored;
    ended += counts ? 1 : 0;
    failed += counts && is_failure(record.outcome) ? 1 : 0;
}

EarlyStop::EarlyStop(const std::vector<StopRule>& rules, const EndedRequests& before,
                     std::atomic<bool>& wanted)
    : requests_(before), wanted_(wanted) {
    CHECK(!rules.empty());
    for (const StopRule& rule : rules) {
        watched_.push_back({rule, std::nullopt, 0});
    }
}

EarlyStop::Figure EarlyStop::figure_of(const StopRule& rule, const PeriodMeasured& measured) const {
    switch (rule.figure) {
        case StopFigure::errors: {
            const auto all = static_cast<double>(std::max<std::uint64_t>(requests_.ended, 1));
            return {static_cast<double>(requests_.failed) / all, requests_.ended};
        }
        case StopFigure::failed:
            return {static_cast<double>(requests_.failed), requests_.ended};
        default:
            break;
    }
    const Distribution& times = measured.times[static_cast<std::size_t>(rule.figure)];
    return times.count == 0 ? Figure() : Figure{rule.threshold.statistic->of(times), times.count};
}

void EarlyStop::ended(const Record& record) {
    Recent recent{record.ended_ns.value_or(0), {}};
    recent.one.add(record);
    if (recent.one.ended > 0) {
        recent_.push_back(recent);
    }
}

void EarlyStop::look(const PeriodMeasured& measured) {
    std::erase_if(recent_, [&](const Recent& recent) {
        const bool counts = recent.ended_ns <= measured.end_ns;
        requests_.ended += counts ? recent.one.ended : 0;
        requests_.failed += counts ? recent.one.failed : 0;
        return counts;
    });
    for (Watched& watched : watched_) {
        look_at(watched, measured);
    }
}

void EarlyStop::look_at(Watched& watched, const PeriodMeasured& measured) {
    const StopRule& rule = watched.rule;
    const Figure figure = figure_of(rule, measured);
    if (figure.values == 0) {
        return;
    }
    if (!crosses(rule.threshold, figure.value)) {
        watched.holds_from_ns.reset();
        return;
    }
    const bool of_run = rule.figure == StopFigure::errors || rule.figure == StopFigure::failed;
    watched.values =
        watched.holds_from_ns && !of_run ? watched.values + figure.values : figure.values;
    watched.holds_from_ns = watched.holds_from_ns.value_or(measured.begin_ns);
    const bool long_enough = measured.end_ns - *watched.holds_from_ns >= rule.for_ns;
    const std::uint64_t enough = rule.figure == StopFigure::failed ? 1 : sample_min;
    if (found_ || !long_enough || watched.values < enough) {
        return;
    }
    const FigureUnit unit = rule.threshold.figure->unit;
    const double value = unit == FigureUnit::time ? figure.value / ns_per_ms : figure.value;
    found_ = StoppedWhen{rule.text, static_cast<double>(measured.end_ns) / ns_per_s, value, unit};
    wanted_.store(true, std::memory_order_relaxed);
}

}  // namespace driftless
