#include "engine/replay/rows_ahead.hpp"

#include <algorithm>
#include <optional>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
// Over loopback (macro_bench).
constexpr std::int64_t fire_cost_ns = 10'000;

// A row that follows one that is due at `before_ns`.
bool begins_instant(std::int64_t before_ns, const Due& due) {
    return due.due_ns - before_ns >= fire_cost_ns;
}

}  // namespace

RowsAhead::RowsAhead(const Trace& trace, Schedule& schedule, const Armer& armer,
                     std::size_t targets, bool sticky)
    : trace_(trace),
      schedule_(schedule),
      armer_(armer),
      soon_(targets),
      bursts_(targets),
      latest_(targets),
      crowds_(targets) {
    note_all_dues(sticky ? trace.sessions.size() : 0);
}

// Before the first is taken: the most rows that each server gets at one instant, as far as that is
// known, and the last row of each session. Rows that wait leave on the connections of those that
// they wait for; more are wanted where one answer releases several.
void RowsAhead::note_all_dues(std::size_t sessions) {
    last_of_session_.assign(sessions, 0);
    const Releases* const waiting = schedule_.releases();
    const std::uint32_t widest = waiting == nullptr ? 0 : waiting->graph().widest();
    std::vector<std::uint32_t> burst(bursts_.size());
    for (Schedule all = schedule_.as_recorded(); all.peek() != nullptr;) {
        const Due due = all.take();
        if (due.rank == 0) {
            burst.assign(burst.size(), 0);
        }
        const std::uint32_t target = target_of(due);
        burst[target] += schedule_.waits(due.request) ? 0 : 1;
        bursts_[target] = std::max({bursts_[target], burst[target], widest});
        const std::uint32_t session = trace_.rows[due.row].session;
        if (session < last_of_session_.size()) {
            last_of_session_[session] = due.request;
        }
    }
}

Due RowsAhead::take() {
    const Due due = schedule_.take();
    if (schedule_.has_passed(Lookahead::connecting, due)) {
        CHECK(soon_[target_of(due)] > 0);
        --soon_[target_of(due)];
        std::erase_if(crowds_[target_of(due)],
                      [&due](const Crowd& crowd) { return crowd.due_ns < due.due_ns; });
    }
    if (schedule_.has_passed(Lookahead::guarding, due)) {
        CHECK(near_rows_ > 0);
        --near_rows_;
        // What was released between two rows may have joined their instants, or parted them.
        instants_ -= instants_ > 0 && begins_instant(taken_ns_, due) ? 1 : 0;
        instants_ = std::min(instants_, near_rows_);
    }
    taken_ns_ = due.due_ns;
    return due;
}

void RowsAhead::look_ahead_a_second(std::int64_t at_ns) {
    while (const std::optional<Due> due =
               schedule_.within(Lookahead::connecting, at_ns + second_ns)) {
        ++soon_[target_of(*due)];
        note_crowd(target_of(*due), due->due_ns);
        schedule_.pass(Lookahead::connecting, *due);
    }
}

void RowsAhead::note_crowd(std::uint32_t target, std::int64_t due_ns) {
    Crowd& latest = latest_[target];
    latest = {due_ns, latest.due_ns == due_ns ? latest.rows + 1 : 1};
    std::vector<Crowd>& crowds = crowds_[target];
    if (latest.rows == crowd_min + 1) {
        crowds.push_back(latest);
    } else if (latest.rows > crowd_min && !crowds.empty()) {
        crowds.back() = latest;
    }
}

std::uint32_t RowsAhead::largest_crowd(std::uint32_t target) const {
    std::uint32_t most = 0;
    for (const Crowd& crowd : crowds_[target]) {
        most = std::max(most, crowd.rows);
    }
    return stopped_ ? 0 : most;
}

std::uint32_t RowsAhead::connections_wanted(std::uint32_t target) const {
    CHECK(target < soon_.size());
    const std::uint32_t left = stopped_ ? 0 : schedule_.left();
    return std::min(std::max(soon_[target], bursts_[target]), left);
}

std::uint32_t RowsAhead::instants_until(std::int64_t until_ns) {
    while (const std::optional<Due> due = schedule_.within(Lookahead::guarding, until_ns)) {
        instants_ += begins_instant(std::max(near_ns_, taken_ns_), *due) ? 1 : 0;
        near_ns_ = due->due_ns;
        ++near_rows_;
        schedule_.pass(Lookahead::guarding, *due);
    }
    CHECK(instants_ <= near_rows_);
    return instants_;
}

LaneWish RowsAhead::wish_of(const Due& due, bool fresh) const {
    LaneWish wish;
    wish.fresh = fresh;
    const std::uint32_t session = trace_.rows[due.row].session;
    if (session < last_of_session_.size()) {
        wish.session = session;
        const Users* const users = schedule_.users();
        const std::uint32_t position =
            users == nullptr ? due.request : users->position_of(due.request);
        wish.last = last_of_session_[session] == position;
    }
    return wish;
}

}  // namespace driftless
