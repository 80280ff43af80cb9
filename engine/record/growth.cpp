#include "engine/record/growth.hpp"

#include <algorithm>
#include <numeric>

#include "proto/core/check.hpp"

namespace driftless {

Growth::Growth(const GrowRules& rules, std::atomic<std::uint32_t>& wanted)
    : rules_(rules), wanted_(wanted), users_(rules.users_first) {
    CHECK(rules.any() && rules.users_first > 0 && rules.users_first <= rules.users_max);
    wanted_.store(users_, std::memory_order_relaxed);
}

double Growth::figure_of(const Distribution& measured) const {
    switch (rules_.figure) {
        case GrowFigure::avg:
            return measured.mean;
        case GrowFigure::p50:
            return measured.at[median_index];
        case GrowFigure::p90:
            return measured.at[p90_index];
        case GrowFigure::p95:
            return measured.at[p95_index];
        case GrowFigure::p99:
            return measured.at[p99_index];
        case GrowFigure::max:
            return measured.max;
    }
    CHECK(false);
    return 0;
}

void Growth::look(const Distribution& measured, std::uint64_t failed, std::uint64_t begun) {
    has_added_ = has_added_ && begun < users_;
    if (has_added_) {
        return;
    }
    if (measured.count == 0) {
        return;
    }
    figures_[count_++ % periods_max] = figure_of(measured);
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

}  // namespace driftless
