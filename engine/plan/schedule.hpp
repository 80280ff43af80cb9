/// Schedule: who decides when each request of a run is sent: recorded instants, requests that wait
/// for others, and Users: places that hold one live tree each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/closed_loop.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Users: places that hold one live tree each, and the queue of trees that they will take next.

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

/// Users: places that hold one live tree each. A user plays a tree to its end, and begins the next
/// one at that instant, until the corpus is used up, or the time.
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
        DrawnTree tree;             ///< while it plays
        DrawnTree next;             ///< where it has one
        std::int64_t begin_ns = 0;  ///< of the tree
        std::int64_t end_ns = 0;    ///< of what has ended of it
        std::uint32_t unleft = 0;   ///< requests that have still to leave
        std::uint32_t unended = 0;  ///< ... or to end
        std::uint32_t in_flight = 0;
        std::uint32_t awaited = 0;     ///< that have ended, and whose words others wait for
        std::uint32_t vain_trees = 0;  ///< the last so many, in which nothing was answered
        bool is_answered = false;      ///< something of this tree was, or was abandoned
        bool has_begun = false;        ///< something of this tree has had its turn
        bool has_next = false;
        bool is_cut = false;  ///< a part of the tree will not be sent: the time is up
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

/// Schedule: who decides when each request of a run is sent.
///
/// Recorded instants are all known before time 0: the schedule is then a cursor over the plan.
/// Under `--sessions closed` some requests wait for others (closed_loop.hpp): the cursor then goes
/// over those that do not, and what the others release comes beside it, by due. Where users play
/// trees (schedule.hpp) all of them wait, for their user at least.
///
/// It tells which request is next (`peek`, `take`), and those who prepare requests what is to come
/// within a horizon of theirs (`within`). It is told what left (`fired`) and what is over
/// (`ended`). It reads no clock, builds nothing and sends nothing; all instants are run time, in ns
/// from time 0. Used by the engine thread alone; the plan outlives it.
class Schedule {
  public:
    /// Every request at its recorded instant.
    explicit Schedule(const Plan& plan) : Schedule(std::span<const Planned>(plan.rows)) {}
    /// Closed: what has recorded dependencies waits for them. `earlier`: of a run that is resumed.
    /// `live`: rows go on behind the words of answers of this run; else null.
    Schedule(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier = {},
             const LiveTurns* live = nullptr);

    /// Users play the trees of the plan; `rules.users` is not 0.
    Schedule(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules,
             const LiveTurns* live = nullptr);

    /// The same requests, all of them at their recorded instants.
    Schedule as_recorded() const { return Schedule(recorded_.rows); }

    /// The request that goes next, due or not; nullptr where none is known, now or for good
    /// (`left`). Until `take`, or until something is released.
    const Due* peek() const { return has_next_ ? &next_ : nullptr; }
    /// That request is on its way from here on, whatever becomes of it. There is one (`peek`).
    Due take();
    /// It does not come any more: it was taken, or dropped.
    bool has_taken(const Due& due) const {
        return waits(due.request) ? waiting_->turn(due.request).is_taken()
                                  : due.request < recorded_.cursor;
    }

    /// The next request that this reader has not passed and that is not taken, where it is due up
    /// to `horizon_ns`, inclusive. Its rank is known when it is taken: 0 here. A request that waits
    /// is shown for arming as soon as all that it waits for have left; its due is 0 then.
    std::optional<Due> within(Lookahead reader, std::int64_t horizon_ns) {
        const std::uint32_t at = recorded_.place_of(reader);
        std::optional<Due> root;
        if (at < recorded_.rows.size() && recorded_.rows[at].due_ns <= horizon_ns) {
            root = recorded_.due_at(at);
        }
        return waiting_ == nullptr ? root : first_of(reader, horizon_ns, root);
    }
    /// The next request to be armed waits for an answer, and is due as soon as that has ended.
    bool arms_soon() const { return waiting_ != nullptr && waiting_->arms_soon(); }
    /// The reader has done with the request that `within` has named.
    void pass(Lookahead reader, const Due& due);
    bool has_passed(Lookahead reader, const Due& due) const;
    /// The reader sees this request once more, and what it had passed behind it.
    void go_back(Lookahead reader, const Due& due);

    /// The request has left for the first time, not before it was due.
    void fired(const Due& due, std::int64_t at_ns);
    /// It has got its end, whether it had left or not. A turn of a user may come again.
    void ended(const Due& due, std::int64_t at_ns, const TurnEnd& end);
    /// The words of an answer have come back at `at_ns`, or will not. False where nobody waits for
    /// them.
    bool replied(std::uint32_t request, std::uint32_t pass, std::uint8_t attempt,
                 std::int64_t at_ns, bool goes_on);
    /// Somebody waits for words of an answer that has ended.
    bool awaits_words() const { return waiting_ != nullptr && waiting_->awaited() > 0; }

    /// A request that waited for one without a whole answer will never be due: it is to get its end
    /// unsent. Its due is the recorded one, and it names the row that has failed. Nothing where
    /// there is none.
    std::optional<Due> dropped() const;
    void take_dropped();
    /// Nothing is to be sent any more: what waits is dropped.
    void stop();
    /// So many users are to play (schedule.hpp). There are users.
    void grow(std::uint32_t users, std::int64_t at_ns) {
        if (users_->grow(users, at_ns)) {
            load_next();
        }
    }

    /// Requests that were not taken, whether they are known yet or not. While users play nobody
    /// knows: `unknown_left`.
    std::uint32_t left() const {
        if (users_ != nullptr) {
            return users_->over() ? 0 : unknown_left;
        }
        return static_cast<std::uint32_t>(recorded_.rows.size() - taken_);
    }
    static constexpr std::uint32_t unknown_left = UINT32_MAX;
    /// Every request was taken and has ended.
    bool over() const { return left() == 0 && ended_ == taken_; }
    /// Requests that were taken: all that there were, once it is over.
    std::uint64_t taken() const { return taken_; }
    /// Null where there are none.
    const Users* users() const { return users_.get(); }
    /// Begin of the measurement, from time 0; nothing while users warm up.
    std::optional<std::int64_t> measured_from_ns() const {
        return users_ == nullptr ? std::optional<std::int64_t>(0) : users_->measured_from_ns();
    }
    /// The requests that wait for others, or did, or for their users; null: every due is recorded.
    const Releases* releases() const { return waiting_; }
    /// What the plan says of that request.
    const Planned& planned(const Due& due) const {
        return recorded_.rows[users_ == nullptr ? due.request : users_->position_of(due.request)];
    }
    /// This one waits, or did.
    bool waits(std::uint32_t request) const {
        return waiting_ != nullptr && waiting_->turn(request).state != TurnState::root;
    }
    /// Of the first request, as it was known when the schedule was made; there is one.
    std::int64_t first_due_ns() const;

  private:
    explicit Schedule(std::span<const Planned> rows);

    /// The plan, and how far it was gone through where rows are due at recorded instants.
    struct Recorded {
        std::span<const Planned> rows;
        std::uint32_t cursor = 0;  ///< first that was not taken
        /// First that was not passed.
        std::array<std::uint32_t, lookahead_count> ahead{};

        std::uint32_t place_of(Lookahead reader) const {
            return std::max(ahead[static_cast<std::size_t>(reader)], cursor);
        }
        Due due_at(std::uint32_t position) const {
            Due due;
            due.due_ns = rows[position].due_ns;
            due.request = position;
            due.row = rows[position].row;
            due.side = rows[position].side;
            return due;
        }
    };

    std::uint32_t root_from(std::uint32_t position) const;
    Due of_request(std::uint32_t request) const;
    Due due_of_entry(const DueHeap::Entry& entry) const;
    std::optional<Due> first_of(Lookahead reader, std::int64_t horizon_ns,
                                const std::optional<Due>& root);
    void load_next();

    Recorded recorded_;
    Due next_;               ///< where `has_next_`
    Due last_;               ///< that was taken last, where one was
    bool has_next_ = false;  ///< one is known
    std::int64_t first_due_ns_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t fired_ = 0;
    std::uint64_t ended_ = 0;
    std::unique_ptr<Releases> releases_;  ///< null: every instant is recorded, or users decide
    std::unique_ptr<Users> users_;        ///< null: there are none
    Releases* waiting_ = nullptr;         ///< either of theirs
};

// Rehearsal: a schedule played in thought, to know what a run will need. Pure: no clock, no
// server; each output token takes the same time, and a prompt none.

/// The first `requests_max` requests of the schedule, by the instants at which they would be due if
/// each output token took `token_ns`. A row comes as often as it would be sent. Sums of tokens and
/// digests are those of `plan`.
Plan rehearse(const Trace& trace, const Plan& plan, Schedule schedule, std::int64_t token_ns,
              std::size_t requests_max);

}  // namespace driftless
