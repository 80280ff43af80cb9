/// Growth: how many users a run is to have, by what its last periods have measured (`--grow`).
///
/// At the end of each period of the measurement: the figure of the period joins those of the two
/// before it, and where their mean leaves at least a fifth of the limit users are added, one and
/// one more for each 15 % that it leaves (as kv-cache-tester adds them). Periods before the one at
/// whose begin all of them had begun are not looked at, or forgotten: nothing is added right after.
/// A period without a figure says nothing, and one with failures adds nobody. Users never become
/// fewer.
///
/// Owned by the periods, on the writer's side. The engine reads the one number that it publishes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/record/grow_rules.hpp"
#include "engine/stats/distribution.hpp"

namespace driftless {

class Growth {
  public:
    /// `wanted` outlives this; it is set where users are added.
    Growth(const GrowRules& rules, std::atomic<std::uint32_t>& wanted);

    const GrowRules& rules() const { return rules_; }
    /// A period of the measurement is over. `measured`: of the rules' metric. `failed`: requests
    /// that ended in it without a whole answer. `begun`: users that had begun when it did.
    void look(const Distribution& measured, std::uint64_t failed, std::uint64_t begun);

    static constexpr std::size_t periods_max = 3;  ///< whose mean is taken
    static constexpr double room_min = 0.2;        ///< of the limit, or nobody is added
    static constexpr double room_each = 0.15;      ///< for each user but the first

  private:
    double figure_of(const Distribution& measured) const;

    const GrowRules rules_;
    std::atomic<std::uint32_t>& wanted_;
    std::uint32_t users_;
    std::array<double, periods_max> figures_{};  ///< of the last periods, in turn
    std::size_t count_ = 0;                      ///< of those since users were added
    bool has_added_ = false;                     ///< and not all of them may have begun
};

}  // namespace driftless
