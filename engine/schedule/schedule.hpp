/// Schedule: who decides when each request of a run is sent.
///
/// Recorded instants are all known before time 0: the schedule is then a cursor over the plan.
/// Under `--sessions closed` some requests wait for others (releases.hpp): the cursor then goes
/// over those that do not, and what the others release comes beside it, by due. Where users play
/// trees (users.hpp) all of them wait, for their user at least.
///
/// It tells which request is next (`peek`, `take`), and those who prepare requests what is to come
/// within a horizon of theirs (`within`). It is told what left (`fired`) and what is over
/// (`ended`). It reads no clock, builds nothing and sends nothing; all instants are run time, in ns
/// from time 0. Used by the engine thread alone; the plan outlives it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/plan/plan.hpp"
#include "engine/schedule/due.hpp"
#include "engine/schedule/lookahead.hpp"
#include "engine/schedule/releases.hpp"
#include "engine/schedule/users.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class Schedule {
  public:
    /// Every request at its recorded instant.
    explicit Schedule(const Plan& plan) : Schedule(std::span<const Planned>(plan.rows)) {}
    /// Closed: what has recorded dependencies waits for them. `earlier`: of a run that is resumed.
    Schedule(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier = {});

    /// Users play the trees of the plan; `rules.users` is not 0.
    Schedule(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules);

    /// The same requests, all of them at their recorded instants.
    Schedule as_recorded() const { return Schedule(rows_); }

    /// The request that goes next, due or not; nullptr where none is known, now or for good
    /// (`left`). Until `take`, or until something is released.
    const Due* peek() const { return has_next_ ? &next_ : nullptr; }
    /// That request is on its way from here on, whatever becomes of it. There is one (`peek`).
    Due take();
    /// It does not come any more: it was taken, or dropped.
    bool has_taken(const Due& due) const {
        return waits(due.request) ? releases()->has_taken(due.request) : due.request < cursor_;
    }

    /// The next request that this reader has not passed and that is not taken, where it is due up
    /// to `horizon_ns`, inclusive. Its rank is known when it is taken: 0 here. A request that waits
    /// is shown for arming as soon as all that it waits for have left; its due is 0 then.
    std::optional<Due> within(Lookahead reader, std::int64_t horizon_ns) {
        const std::uint32_t at = place_of(reader);
        std::optional<Due> root;
        if (at < rows_.size() && rows_[at].due_ns <= horizon_ns) {
            root = root_at(at);
        }
        return releases() == nullptr ? root : first_of(reader, horizon_ns, root);
    }
    /// The reader has done with the request that `within` has named.
    void pass(Lookahead reader, const Due& due);
    bool has_passed(Lookahead reader, const Due& due) const;
    /// The reader sees this request once more, and what it had passed behind it.
    void go_back(Lookahead reader, const Due& due);

    /// The request has left for the first time, not before it was due.
    void fired(const Due& due, std::int64_t at_ns);
    /// It has got its end, whether it had left or not. `answered`: by a whole answer.
    void ended(const Due& due, std::int64_t at_ns, bool answered);

    /// A request that waited for one without a whole answer will never be due: it is to get its end
    /// unsent. Its due is the recorded one, and it names the row that has failed. Nothing where
    /// there is none.
    std::optional<Due> dropped() const;
    void take_dropped();
    /// Nothing is to be sent any more: what waits is dropped.
    void stop();

    /// Requests that were not taken, whether they are known yet or not. While users play nobody
    /// knows: `unknown_left`.
    std::uint32_t left() const {
        if (users_ != nullptr) {
            return users_->over() ? 0 : unknown_left;
        }
        return static_cast<std::uint32_t>(rows_.size() - taken_);
    }
    static constexpr std::uint32_t unknown_left = UINT32_MAX;
    /// Every request was taken and has ended.
    bool over() const { return left() == 0 && ended_ == taken_; }
    /// Requests that were taken: all that there were, once it is over.
    std::uint64_t taken() const { return taken_; }
    /// Requests have numbers below this.
    std::uint32_t requests_end() const {
        const auto rows = static_cast<std::uint32_t>(rows_.size());
        return users_ == nullptr ? rows : rows * users_->order().copies();
    }
    /// Null where there are none.
    const Users* users() const { return users_.get(); }
    /// Position in the plan of the row that the request sends.
    std::uint32_t position_of(std::uint32_t request) const {
        return users_ == nullptr ? request : users_->position_of(request);
    }
    /// Of the first request, as it was known when the schedule was made; there is one.
    std::int64_t first_due_ns() const;
    /// Requests that wait for others, or did.
    std::uint32_t waiting_count() const { return releases() == nullptr ? 0 : releases()->count(); }
    /// This one waits for others, or did.
    bool waits(std::uint32_t request) const {
        return releases() != nullptr && !releases()->is_root(request);
    }
    /// The most requests that wait for one and the same.
    std::uint32_t widest() const { return releases() == nullptr ? 0 : releases()->widest(); }

  private:
    explicit Schedule(std::span<const Planned> rows);

    std::uint32_t place_of(Lookahead reader) const {
        return std::max(ahead_[static_cast<std::size_t>(reader)], cursor_);
    }
    std::uint32_t root_from(std::uint32_t position) const;
    Due root_at(std::uint32_t position) const {
        Due due;
        due.due_ns = rows_[position].due_ns;
        due.request = position;
        due.row = rows_[position].row;
        return due;
    }
    /// Those that wait: of recorded dependencies, or the users'.
    Releases* releases() { return users_ != nullptr ? &users_->releases() : releases_.get(); }
    const Releases* releases() const {
        return users_ != nullptr ? &users_->releases() : releases_.get();
    }
    Due of_request(std::uint32_t request) const;
    Due due_of_entry(const DueHeap::Entry& entry) const;
    std::optional<Due> first_of(Lookahead reader, std::int64_t horizon_ns,
                                const std::optional<Due>& root);
    void load_next();

    std::span<const Planned> rows_;
    Due next_;               ///< where `has_next_`
    Due last_;               ///< that was taken last, where one was
    bool has_next_ = false;  ///< one is known
    std::int64_t first_due_ns_ = 0;
    std::uint32_t cursor_ = 0;  ///< first row at a recorded instant that was not taken
    std::uint64_t taken_ = 0;
    std::uint64_t fired_ = 0;
    std::uint64_t ended_ = 0;
    /// First row at a recorded instant that was not passed.
    std::array<std::uint32_t, lookahead_count> ahead_{};
    std::unique_ptr<Releases> releases_;  ///< null: every instant is recorded, or users decide
    std::unique_ptr<Users> users_;        ///< null: there are none
};

}  // namespace driftless
