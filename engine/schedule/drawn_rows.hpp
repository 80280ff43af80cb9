/// DrawnRows: a queue of trees that were drawn and have not begun. Bounded; its memory is taken
/// when it is made.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/schedule/tree_order.hpp"
#include "proto/core/check.hpp"

namespace driftless {

class DrawnRows {
  public:
    explicit DrawnRows(std::size_t most) : ring_(most) {}

    bool empty() const { return count_ == 0; }
    bool full() const { return count_ == ring_.size(); }
    void push(const DrawnTree& tree) {
        CHECK(!full());
        ring_[(first_ + count_) % ring_.size()] = tree;
        ++count_;
    }
    DrawnTree pop() {
        CHECK(!empty());
        const DrawnTree tree = ring_[first_];
        first_ = (first_ + 1) % ring_.size();
        --count_;
        return tree;
    }

  private:
    std::vector<DrawnTree> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace driftless
