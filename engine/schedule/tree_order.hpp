/// TreeOrder: which tree is played next. Each tree is drawn once in a pass through the corpus;
/// without recycling there is one pass.
///
/// Where the corpus is gone through again, a tree of the last pass may still be played: each tree
/// has copies, one more than all users need. A tree all of whose copies are being played is passed
/// over in that pass. Pure: no clock; memory is taken when it is made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/schedule/user_rules.hpp"

namespace driftless {

/// One playing of a tree.
struct DrawnTree {
    std::uint32_t tree = 0;
    std::uint32_t copy = 0;
    std::uint32_t pass = 0;
};

class TreeOrder {
  public:
    /// Neither `trees` nor `rules.users` is 0.
    TreeOrder(std::uint32_t trees, const UserRules& rules);

    /// The next tree, which counts as played until `ended`; nothing where all were drawn, or all
    /// are being played.
    std::optional<DrawnTree> draw();
    void ended(const DrawnTree& drawn);

    /// So many copies of each tree there are.
    static std::uint64_t copies_of(std::uint32_t trees, const UserRules& rules);

    /// Nothing will be drawn any more, whatever ends.
    bool used_up() const { return !recycles_ && next_ == order_.size(); }
    std::uint32_t copies() const { return copies_; }

  private:
    std::vector<std::uint32_t> order_;  ///< [trees]
    bool recycles_ = false;
    std::uint32_t copies_ = 1;
    std::uint32_t next_ = 0;  ///< in `order_`
    std::uint32_t pass_ = 0;
    std::vector<std::uint32_t> free_;  ///< [trees * copies] those not played, per tree a stack
    std::vector<std::uint32_t> free_count_;  ///< [trees] of them
    std::size_t free_in_all_ = 0;
};

}  // namespace driftless
