#include "engine/plan/shares.hpp"

#include <utility>

#include "engine/plan/row_trees.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

std::vector<std::uint32_t> deal_rows(const Trace& trace, const Plan& plan, std::uint32_t shares) {
    constexpr std::uint32_t undealt = UINT32_MAX;
    std::vector<std::uint32_t> of_row(plan.dual ? trace.rows.size() : 0, undealt);
    std::vector<std::uint32_t> owners(plan.rows.size());
    std::uint32_t next = 0;
    for (std::size_t position = 0; position < plan.rows.size(); ++position) {
        if (plan.dual && of_row[plan.rows[position].row] != undealt) {  // its other request
            owners[position] = of_row[plan.rows[position].row];
            continue;
        }
        owners[position] = next;
        if (plan.dual) {
            of_row[plan.rows[position].row] = next;
        }
        next = next + 1 == shares ? 0 : next + 1;
    }
    return owners;
}

std::vector<std::uint32_t> deal_trees(const Trace& trace, const Plan& plan, std::uint32_t shares) {
    const RowTrees trees(trace, plan);
    std::vector<std::uint32_t> owners(plan.rows.size());
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        owners[position] = trees.tree_of(position) % shares;
    }
    return owners;
}

}  // namespace

std::vector<std::uint32_t> deal(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                DealRule rule) {
    CHECK(shares > 0);
    return rule == DealRule::rows ? deal_rows(trace, plan, shares)
                                  : deal_trees(trace, plan, shares);
}

PlanShare share_of(const Plan& plan, const std::vector<std::uint32_t>& owners,
                   std::uint32_t share) {
    CHECK(owners.size() == plan.rows.size());
    PlanShare part;
    part.plan = plan;
    part.plan.rows.clear();
    for (std::uint32_t position = 0; position < owners.size(); ++position) {
        if (owners[position] == share) {
            part.plan.rows.push_back(plan.rows[position]);
            part.positions.push_back(position);
        }
    }
    return part;
}

std::vector<PlanShare> shares_with_rows(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                        DealRule rule) {
    std::vector<PlanShare> dealt;
    if (shares < 2) {
        return dealt;
    }
    const std::vector<std::uint32_t> owners = deal(trace, plan, shares, rule);
    for (std::uint32_t share = 0; share < shares; ++share) {
        PlanShare part = share_of(plan, owners, share);
        if (!part.plan.rows.empty()) {
            dealt.push_back(std::move(part));
        }
    }
    return dealt.size() < 2 ? std::vector<PlanShare>() : dealt;
}

}  // namespace driftless
