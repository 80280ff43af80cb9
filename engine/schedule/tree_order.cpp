#include "engine/schedule/tree_order.hpp"

#include <numeric>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

TreeOrder::TreeOrder(std::uint32_t trees, const UserRules& rules)
    : order_(trees), recycles_(rules.recycle) {
    CHECK(trees > 0 && rules.users > 0);
    copies_ = recycles_ ? 1 + (rules.users + trees - 1) / trees : 1;
    is_played_.resize(std::size_t{copies_} * trees);
    std::iota(order_.begin(), order_.end(), 0U);
    if (rules.order == TreeRule::shuffle) {
        Random random(rules.seed);
        for (std::uint32_t left = trees; left > 1; --left) {
            const auto other = static_cast<std::uint32_t>(random.below(left));
            std::swap(order_[left - 1], order_[other]);
        }
    }
}

std::optional<DrawnTree> TreeOrder::draw() {
    if (played_ == is_played_.size()) {
        return std::nullopt;
    }
    while (!used_up()) {  // ends: some copy is not being played, and its tree comes
        if (next_ == order_.size()) {
            next_ = 0;
            ++pass_;
        }
        const std::uint32_t tree = order_[next_++];
        for (std::uint32_t copy = 0; copy < copies_; ++copy) {
            const std::size_t place = place_of(tree, copy);
            if (!is_played_[place]) {
                is_played_[place] = true;
                ++played_;
                return DrawnTree{tree, copy, pass_};
            }
        }
        ++passed_over_;
    }
    return std::nullopt;
}

void TreeOrder::ended(const DrawnTree& drawn) {
    const std::size_t place = place_of(drawn.tree, drawn.copy);
    CHECK(is_played_[place] && played_ > 0);
    is_played_[place] = false;
    --played_;
}

}  // namespace driftless
