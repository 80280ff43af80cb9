// What is to come: how many rows, how close to each other, and how many connections they need.

#include <algorithm>
#include <optional>

#include "engine/replay/pacer.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// Over loopback (macro_bench).
constexpr std::int64_t fire_cost_ns = 10'000;

// A row that follows one that is due at `before_ns`.
bool begins_instant(std::int64_t before_ns, const Due& due) {
    return due.due_ns - before_ns >= fire_cost_ns;
}

}  // namespace

std::uint32_t Pacer::rows_left() const {
    return stopped_ ? 0 : schedule_.left();
}

void Pacer::look_ahead_a_second(Instant now) {
    const std::int64_t at = zero_ == never ? schedule_.first_due_ns() : now_in_run(now);
    const std::int64_t horizon = at + 1'000'000'000;
    while (const std::optional<Due> due = schedule_.within(Lookahead::connecting, horizon)) {
        ++soon_[target_of(*due)];
        schedule_.pass(Lookahead::connecting, *due);
    }
}

std::uint32_t Pacer::instants_within(Instant now, Duration horizon) {
    if (zero_ == never) {
        return 0;
    }
    const std::int64_t until = (now - zero_ + horizon).ns;
    while (const std::optional<Due> due = schedule_.within(Lookahead::guarding, until)) {
        instants_ += begins_instant(std::max(near_ns_, taken_ns_), *due) ? 1 : 0;
        near_ns_ = due->due_ns;
        ++near_rows_;
        schedule_.pass(Lookahead::guarding, *due);
    }
    return instants_;
}

// The schedule, past its next row.
Due Pacer::move_on() {
    const Due due = schedule_.take();
    if (schedule_.has_passed(Lookahead::connecting, due)) {
        CHECK(soon_[target_of(due)] > 0);
        --soon_[target_of(due)];
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

// Before the first is taken: the most rows that each server gets at one instant, and the last row
// of each session.
void Pacer::note_all_dues() {
    std::vector<std::uint32_t> burst(bursts_.size());
    for (Schedule all = schedule_.as_recorded(); all.peek() != nullptr;) {
        const Due due = all.take();
        if (due.rank == 0) {
            burst.assign(burst.size(), 0);
        }
        const std::uint32_t target = target_of(due);
        bursts_[target] = std::max(bursts_[target], ++burst[target]);
        const std::uint32_t session = trace_.rows[due.row].session;
        if (session < last_of_session_.size()) {
            last_of_session_[session] = due.request;
        }
    }
}

std::uint32_t Pacer::connections_wanted(std::uint32_t target) const {
    return std::min(std::max(soon_[target], bursts_[target]), rows_left());
}

}  // namespace driftless
