#include "engine/schedule/tree_order.hpp"

#include <numeric>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

TreeOrder::TreeOrder(std::uint32_t trees, const UserRules& rules)
    : order_(trees), recycles_(rules.recycle) {
    CHECK(trees > 0 && rules.users > 0);
    copies_ = static_cast<std::uint32_t>(copies_of(trees, rules));
    free_.resize(std::size_t{copies_} * trees);
    free_count_.assign(trees, copies_);
    free_in_all_ = free_.size();
    for (std::size_t place = 0; place < free_.size(); ++place) {
        free_[place] = copies_ - 1 - static_cast<std::uint32_t>(place % copies_);  // 0 on top
    }
    std::iota(order_.begin(), order_.end(), 0U);
    if (rules.order == TreeRule::shuffle) {
        Random random(rules.seed);
        for (std::uint32_t left = trees; left > 1; --left) {
            const auto other = static_cast<std::uint32_t>(random.below(left));
            std::swap(order_[left - 1], order_[other]);
        }
    }
}

std::uint64_t TreeOrder::copies_of(std::uint32_t trees, const UserRules& rules) {
    return rules.recycle ? 1 + (std::uint64_t{rules.users} + trees - 1) / trees : 1;
}

std::optional<DrawnTree> TreeOrder::draw() {
    if (free_in_all_ == 0) {
        return std::nullopt;
    }
    while (!used_up()) {  // ends: some copy is not being played, and its tree comes
        if (next_ == order_.size()) {
            next_ = 0;
            ++pass_;
        }
        const std::uint32_t tree = order_[next_++];
        if (free_count_[tree] > 0) {
            --free_in_all_;
            const std::uint32_t top = --free_count_[tree];
            return DrawnTree{tree, free_[std::size_t{tree} * copies_ + top], pass_};
        }
    }
    return std::nullopt;
}

void TreeOrder::ended(const DrawnTree& drawn) {
    std::uint32_t& count = free_count_[drawn.tree];
    CHECK(count < copies_ && drawn.copy < copies_);
    free_[std::size_t{drawn.tree} * copies_ + count] = drawn.copy;
    ++count;
    ++free_in_all_;
}

}  // namespace driftless
