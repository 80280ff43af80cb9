/// Users: places that hold one live tree each. A user plays a tree to its end, and begins the next
/// one at that instant, until the corpus is used up, or the time.
///
/// The next tree is drawn as soon as nothing of the one before has still to leave: its first
/// requests are armed while the last answers come.
///
/// Owned by the schedule, which tells it what leaves and ends. Memory is taken when it is made.
/// Reads no clock.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/row_trees.hpp"
#include "engine/schedule/releases.hpp"
#include "engine/schedule/tree_order.hpp"
#include "engine/schedule/user_rules.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class Users {
  public:
    Users(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules);

    /// Their requests.
    Releases& releases() { return releases_; }
    /// These have numbers below this.
    std::uint32_t requests_end() const { return rows_ * order_.copies(); }
    /// The most of them: the numbers above stand for others where requests are told of.
    static constexpr std::uint64_t requests_max = UINT32_MAX - 2;

    std::uint32_t position_of(std::uint32_t request) const { return request % rows_; }
    /// Who plays the tree of that request.
    std::uint32_t user_of(std::uint32_t request) const { return user_of_[place_of(request)]; }
    /// When it would be due if its tree went as recorded.
    std::int64_t recorded_due_ns(std::uint32_t request) const;

    void fired(std::uint32_t request, std::int64_t at_ns);
    void ended(std::uint32_t request, std::int64_t at_ns, bool answered);
    void stop();

    /// Nobody plays any more.
    bool over() const { return playing_ == 0; }
    const TreeOrder& order() const { return order_; }

  private:
    struct User {
        DrawnTree tree;             ///< while it plays
        DrawnTree next;             ///< where it has one
        std::int64_t begin_ns = 0;  ///< of the tree
        std::int64_t end_ns = 0;    ///< of what has ended of it
        std::uint32_t unleft = 0;   ///< requests that have still to leave
        std::uint32_t unended = 0;  ///< ... or to end
        bool has_next = false;
        bool is_cut = false;  ///< a part of the tree will not be sent: the time is up
    };

    std::uint32_t place_of(std::uint32_t request) const {
        return request / rows_ * trees_.count() + trees_.tree_of(position_of(request));
    }
    bool draw(std::uint32_t number);
    void begin(std::uint32_t number, std::int64_t at_ns);
    void end_tree(std::uint32_t number);
    void take_cuts();

    const std::uint32_t rows_;
    const RowTrees trees_;
    TreeOrder order_;
    Releases releases_;
    std::vector<std::int64_t> recorded_ns_;  ///< [plan rows] behind the first row of the tree
    std::vector<User> users_;
    std::vector<std::uint32_t> user_of_;  ///< [copies * trees] of one that is played
    std::uint32_t playing_ = 0;
    bool stopped_ = false;
};

}  // namespace driftless
