/// Users: places that hold one live tree each, and the queue of trees that they will take next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/releases.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// TreeOrder: which tree is played next. Each tree is drawn once in a pass through the corpus;
// without recycling there is one pass.
//
// Where the corpus is gone through again, a tree of the last pass may still be played: each tree
// has copies, one more than all users need. A tree all of whose copies are being played is passed
// over in that pass. Pure: no clock; memory is taken when it is made.

class TreeOrder {
  public:
    /// Neither `trees` nor `rules.users` is 0.
    TreeOrder(std::uint32_t trees, const UserRules& rules);

    /// The next tree, which counts as played until `ended`; nothing where all were drawn, or all
    /// are being played.
    std::optional<DrawnTree> draw();
    void ended(const DrawnTree& drawn);

    /// So many copies of each tree there are.
    static std::uint64_t copies_of(std::uint32_t trees, const UserRules& rules) {
        return rules.recycle ? 1 + (std::uint64_t{rules.users} + trees - 1) / trees : 1;
    }

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

/// DrawnRows: a queue of trees that were drawn and have not begun. Bounded; its memory is taken
/// when it is made.
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

/// A user plays a tree to its end, and begins the next one at that instant, until the corpus is
/// used up, or the time.
///
/// The next tree is drawn as soon as nothing of the one before has still to leave: its first
/// requests are armed while the last answers come. After a tree in which nothing was answered its
/// user pauses (plan.hpp): a server that is gone is not asked as fast as it refuses.
///
/// Where single rows are kept open (`UserRules::single_rows`) the next rows are not drawn by one
/// user: whoever is free first takes the first of them, in the order of the file.
///
/// Owned by the schedule, which tells it what leaves and ends. Memory is taken when it is made.
/// Reads no clock.
class Users {
  public:
    /// `live` as in TurnGraph.
    Users(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules,
          const LiveTurns* live);

    /// Their requests.
    Releases& releases() { return releases_; }
    /// These have numbers below this.
    std::uint32_t requests_end() const { return rows_ * order_.copies(); }
    /// The most of them: the numbers above stand for others where requests are told of.
    static constexpr std::uint64_t requests_max = UINT32_MAX - 2;

    std::uint32_t position_of(std::uint32_t request) const { return request % rows_; }
    /// Who plays the tree of that request.
    std::uint32_t user_of(std::uint32_t request) const { return releases_.turn(request).user; }
    /// When it would be due if its tree went as recorded.
    std::int64_t recorded_due_ns(std::uint32_t request) const;

    void taken(std::uint32_t request);
    void dropped_taken() { ++dropping_; }
    void fired(std::uint32_t request, std::int64_t at_ns);
    void ended(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end);
    /// As in Releases.
    bool replied(std::uint32_t request, std::int64_t at_ns, bool goes_on);
    void stop();
    /// So many users are to play; there are no more than the rules have, and never fewer. Those
    /// that are new begin a little after `at_ns`, one after the other; they may be told again and
    /// again. Nothing happens before the measurement, or when the time is up. True where any was.
    bool grow(std::uint32_t users, std::int64_t at_ns);

    /// Their first requests are armed meanwhile.
    static constexpr std::int64_t grow_lead_ns = 100'000'000;
    static constexpr std::int64_t grow_spacing_ns = 50'000'000;

    /// Nobody plays any more.
    bool over() const { return playing_ == 0; }
    /// Of the measurement, from time 0; nothing while the warm-up goes on.
    std::optional<std::int64_t> measured_from_ns() const { return measured_from_ns_; }
    const IdleFigures& idle() const { return idle_; }
    const TreeOrder& order() const { return order_; }

  private:
    struct User {
        DrawnTree tree;  ///< while it plays
        std::optional<DrawnTree> next;
        std::int64_t begin_ns = 0;  ///< of the tree
        std::int64_t end_ns = 0;    ///< of what has ended of it
        std::uint32_t unleft = 0;   ///< requests that have still to leave
        std::uint32_t unended = 0;  ///< ... or to end
        std::uint32_t in_flight = 0;
        std::uint32_t awaited = 0;     ///< that have ended, and whose words others wait for
        std::uint32_t vain_trees = 0;  ///< the last so many, in which nothing was answered
        bool is_answered = false;      ///< something of this tree was, or was abandoned
        bool has_begun = false;        ///< something of this tree has had its turn
        bool is_cut = false;           ///< a part of the tree will not be sent: the time is up
    };

    void begin_all();
    void enter_all(const Trace& trace, const Plan& plan, Speed speed);
    bool draw(std::uint32_t number);
    bool draw_ahead();
    bool has_next(std::uint32_t number);
    bool take_tree(std::uint32_t number);
    void begin(std::uint32_t number, std::int64_t at_ns, bool pauses);
    bool sends_again(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end);
    void end_request(std::uint32_t request, std::int64_t at_ns, const TurnEnd& end);
    void end_tree(std::uint32_t number);
    void end_stages();
    void cap_tree(const User& user);
    void cap_all();
    void look_for_end();
    void take_cuts();

    const UserRules rules_;
    const std::optional<std::int64_t> tree_cap_ns_;  ///< divided by the speed
    const std::uint32_t rows_;
    const RowTrees trees_;
    TreeOrder order_;
    Releases releases_;
    std::vector<std::int64_t> recorded_ns_;  ///< [plan rows] behind the first row of the tree
    std::vector<User> users_;
    DrawnRows drawn_;            ///< of single rows: those that come next
    std::uint32_t begun_ = 0;    ///< users that play, or did
    std::uint32_t playing_ = 0;  ///< .. that play
    std::uint32_t in_flight_ = 0;
    std::uint32_t dropping_ = 0;      ///< requests that were taken as dropped, and have not ended
    std::int64_t end_ns_ = 0;         ///< of what has ended of all that was in flight
    std::int64_t stage_from_ns_ = 0;  ///< no stage of the warm-up ends before this
    std::optional<std::int64_t> measured_from_ns_;
    IdleFigures idle_;
    bool stopped_ = false;
};

}  // namespace driftless
