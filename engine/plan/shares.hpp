/// Shares: a plan dealt to several that play it side by side: the engines of one process
/// (`--engines`), the processes of several machines (`--shard`).
///
/// Rows are dealt one by one, as they are due: the rows of one instant are spread over all shares,
/// which shortens the wait inside a burst. Where rows depend on each other, whole trees are dealt.
/// Both requests of a row under dual fire stay together. Who gets what depends on the trace, the
/// plan and the number of shares alone, so that each process can work it out by itself.
///
/// Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// One of several that play a plan.
struct ShardPlace {
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    bool is_part() const { return count > 1; }
    /// What each of them counts from 0 by itself, as numbers that no two of them have.
    constexpr std::uint32_t number_of(std::uint32_t own) const { return own * count + index; }
    /// The place among all of one of several that share what is here.
    constexpr ShardPlace within(ShardPlace outer) const {
        return {outer.index + outer.count * index, outer.count * count};
    }
    friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

/// What stays together.
enum class DealRule : std::uint8_t {
    rows,   ///< a row: each at its recorded instant, on any connection
    trees,  ///< the rows of a tree (row_trees.hpp): closed or sticky sessions, users
};

/// [position in the plan] its share, from 0. `shares`: at least 1.
std::vector<std::uint32_t> deal(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                DealRule rule);

/// What one of them plays.
struct PlanShare {
    /// Digest, sums and forecasts are of the whole plan.
    Plan plan;
    /// Those of its rows in the whole plan, ascending.
    std::vector<std::uint32_t> positions;
};

/// `owners` is what `deal` gave. A share may have no row.
PlanShare share_of(const Plan& plan, const std::vector<std::uint32_t>& owners, std::uint32_t share);

/// All shares that have rows, in order. None where fewer than two would have any: then the plan is
/// played whole.
std::vector<PlanShare> shares_with_rows(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                        DealRule rule);

/// Of `total` things (users, open requests) that several share: as many as that one gets. The first
/// get one more where they do not divide evenly.
constexpr std::uint32_t part_of(std::uint32_t total, std::uint32_t shares, std::uint32_t share) {
    return total / shares + (share < total % shares ? 1 : 0);
}

}  // namespace driftless
