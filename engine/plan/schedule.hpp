/// Schedule: who decides when each request of a run is sent: recorded instants, requests that wait
/// for others, users.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/releases.hpp"
#include "engine/plan/users.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Recorded instants are all known before time 0: the schedule is then a cursor over the plan.
/// Under `--sessions closed` some requests wait for others (releases.hpp): the cursor then goes
/// over those that do not, and what the others release comes beside it, by due. Where users play
/// trees (users.hpp) all of them wait, for their user at least.
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
    /// The words of an answer have come back at `at_ns`, or will not. False where no row waits for
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
    std::int64_t first_due_ns() const { return first_due_ns_; }

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
        Due due_at(std::uint32_t position) const { return planned_due(rows[position], position); }
    };

    std::uint32_t root_from(std::uint32_t position) const;
    Due of_request(std::uint32_t request) const;
    Due due_of_entry(const DueHeap::Entry& entry) const;
    std::optional<Due> first_of(Lookahead reader, std::int64_t horizon_ns,
                                const std::optional<Due>& root);
    void load_next();

    Recorded recorded_;
    Due next_;               ///< where `has_next_`; all 0 before one was
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
