#include "engine/record/live_trees.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

LiveTrees::LiveTrees(const Trace& trace, const Plan& plan)
    : rows_(static_cast<std::uint32_t>(plan.rows.size())), trees_(trace, plan) {}

std::uint32_t LiveTrees::tree_of(const Due& due) const {
    CHECK(rows_ > 0);
    return trees_.tree_of(due.request % rows_);
}

LiveTrees::Played& LiveTrees::played(const Due& due) {
    const std::uint32_t place = due.user != Due::no_user ? due.user : tree_of(due);
    if (place >= played_.size()) {
        played_.resize(place + std::size_t{1});
    }
    return played_[place];
}

TreeChange LiveTrees::fired(const Due& due) {
    Played& now = played(due);
    const std::uint64_t tree = number_in_pass(tree_of(due), due.pass);
    if (tree != now.tree) {  // the one before it has ended
        now.tree = tree;
        now.ended = 0;
    }
    const TreeChange change = {now.live ? 0 : 1, now.flying == 0 ? 1 : 0};
    now.live = true;
    ++now.flying;
    // What is sent once more has not ended yet.
    now.ended -= due.attempt > 0 && now.ended > 0 ? 1 : 0;
    return change;
}

TreeChange LiveTrees::ended(const Due& due, bool had_left) {
    Played& now = played(due);
    TreeChange change;
    if (had_left) {
        CHECK(now.flying > 0);
        change.flying = --now.flying == 0 ? -1 : 0;
    }
    if (number_in_pass(tree_of(due), due.pass) != now.tree) {
        now.tree = number_in_pass(tree_of(due), due.pass);  // it begins unsent
        now.ended = 0;
    }
    now.ended += had_left || due.attempt == 0 ? 1 : 0;
    if (now.live && now.flying == 0 && now.ended >= trees_.rows_of(tree_of(due)).size()) {
        now.live = false;
        change.live = -1;
    }
    return change;
}

}  // namespace driftless
