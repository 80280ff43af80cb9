// Rows ahead of their instant, and rows that come back: bound to a connection, lost with it, built
// once more, dropped, and what is left when nothing more is to be sent.

#include "engine/replay/pacer.hpp"
#include "proto/core/check.hpp"

namespace driftless {

bool Pacer::bind_ahead(std::int64_t horizon_ns) {
    (void)take_retries();  // one that was built again since the last step is still the armer's
    while (const std::optional<Due> due = schedule_.within(Lookahead::binding, horizon_ns)) {
        RowUnderway* row = stopped_ ? nullptr : armer_.ready(*due);
        if (row == nullptr) {
            return false;  // not armed yet, or not any more
        }
        const std::uint32_t target = ahead_.target_of(*due);
        const bool binds = lanes_.parts.has_tls(target) && row->stage == RowStage::armed;
        if (binds) {
            LaneWish wish = ahead_.wish_of(*due, false);
            // Before time 0 is set, from the first row on: all that is armed is bound for a start.
            wish.lead = zero_ == never ? Duration{due->due_ns - schedule_.first_due_ns()}
                                       : due_instant(*due) - driver_.now();
            if (lanes_.pool.bind(target, *row, wish, false) == nullptr) {
                return false;
            }
        }
        schedule_.pass(Lookahead::binding, *due);
        if (binds) {
            return true;
        }
    }
    return false;
}

// Rows whose bytes are gone with their connection are built again: those that have been fired wait
// for a connection that nobody has used, those that are due for any, the others keep their place.
bool Pacer::take_retries() {
    bool any = false;
    while (RowUnderway* row = lanes_.parts.again.pop_front()) {
        take_again(*row);
        any = true;
    }
    while (RowUnderway* row = armer_.take_again()) {
        any = true;
        if (!row->taken) {
            row->losses = 0;  // it has time
            schedule_.go_back(Lookahead::binding, row->due);
            continue;
        }
        waiting_.add(*row);
        (void)lanes_.pool.open_one(ahead_.target_of(row->due));
    }
    return any;
}

void Pacer::take_again(RowUnderway& row) {
    if (!stopped_) {
        armer_.arm_again(row);
        return;
    }
    armer_.give_back(row);
    if (row.tries > 0) {
        lanes_.in_flight.end_without_lane(row, Outcome::cancelled);
    } else if (row.taken) {
        note_unsent(row);
        waiting_.add(row);  // `drop_unsent` ends it
    } else {
        row.enter(RowStage::wanted);  // it comes to its end when it is taken
    }
}

// Rows that will never be due, because a row that they wait for has failed: one at a time.
bool Pacer::end_dropped() {
    const std::optional<Due> dropped = schedule_.dropped();
    if (!dropped || !ring_.has_room_for_row()) {
        return false;
    }
    schedule_.take_dropped();
    lanes_.in_flight.end_without_lane(armer_.give_up(*dropped), Outcome::not_sent);
    return true;
}

// Under closed sessions others may be armed before the next row is known. Where they have left no
// room for it, it is built as those are that must leave again: or all would wait for each other.
bool Pacer::set_aside_next(Instant now) {
    const Due* next = schedule_.peek();
    const bool in_the_way = armer_.full() || (armer_.lacks_room() && armer_.armed_count() > 0);
    if (!in_the_way || armer_.rows().find(next->request) != nullptr ||
        schedule_.has_passed(Lookahead::arming, *next)) {
        return false;
    }
    RowUnderway& row = armer_.arm_late(ahead_.take());
    row.cause = LateCause::limit;
    row.turn = now;
    return true;
}

void Pacer::stop() {
    if (stopped_) {
        return;
    }
    stopped_ = true;
    stopped_at_ = driver_.now();
    late_.note_caps(stopped_at_);
    waiting_.each_unsent([this](RowUnderway& row) { note_unsent(row); });
    ahead_.stop();
    schedule_.stop();
    RowList unbuilt = armer_.stop();
    lanes_.pool.unbind_all();
    while (RowUnderway* row = unbuilt.pop_front()) {
        take_again(*row);
    }
    waiting_.stop();
}

// What the user asked for held the row back until nothing more was sent.
void Pacer::note_unsent(RowUnderway& row) const {
    if (zero_ == never || due_instant(row.due) >= stopped_at_) {
        return;
    }
    const Instant due = due_instant(row.due);
    if (row.taken) {
        late_.end(row, due);
    } else {
        late_.begin(row, due, stopped_at_);
    }
}

bool Pacer::drop_unsent(std::uint32_t rows_max) {
    CHECK(stopped_);
    std::uint32_t dropped = 0;
    for (; dropped < rows_max && (waiting_.end_one() || end_dropped()); ++dropped) {
    }
    for (; dropped < rows_max && schedule_.peek() != nullptr && ring_.has_room_for_row();
         ++dropped) {
        RowUnderway& row = armer_.give_up(ahead_.take());
        note_unsent(row);
        lanes_.in_flight.end_without_lane(row, Outcome::not_sent);
    }
    return dropped > 0;
}

}  // namespace driftless
