// Rows that have no connection yet: those that try again, those whose connect failed, and those
// that nobody will send any more.

#include <algorithm>

#include "engine/replay/pacer.hpp"
#include "proto/core/check.hpp"

namespace driftless {

// Rows whose stale connection wants another try: their bytes are built again, then they wait for a
// connection that nobody has used.
bool Pacer::take_retries() {
    bool any = false;
    for (const LanePool::Retry& retry : lanes_.retries()) {
        any = true;
        if (stopped_) {
            lanes_.end_without_lane(retry.planned, Outcome::cancelled, 0, retry.tries, true);
            continue;
        }
        armer_.arm_again(retry.planned);
        retries_.push_back(retry);
    }
    lanes_.retries().clear();
    while (armer_.retry_ready()) {
        Waiting row;
        row.request = armer_.take_retry();
        const auto found = std::find_if(
            retries_.begin(), retries_.end(),
            [&](const LanePool::Retry& retry) { return retry.planned == row.request.planned; });
        CHECK(found != retries_.end());
        row.tries = found->tries;
        row.fired = found->fired;
        retries_.erase(found);
        const std::uint32_t target = target_of(row.request.planned);
        retrying_[target].push_back(row);
        (void)lanes_.open_one(target);
        any = true;
    }
    return any;
}

// A connect that failed is the end of the row that has waited longest for it.
bool Pacer::answer_failures() {
    bool any = false;
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        LaneTarget& lanes = lanes_.targets()[target];
        for (; lanes.failures > 0; --lanes.failures) {
            std::deque<Waiting>& rows =
                !retrying_[target].empty() ? retrying_[target] : waiting_[target];
            if (rows.empty()) {
                lanes.failures = 0;
                break;
            }
            if (rows.front().tries == 0 && !ring_.has_room_for_row()) {
                break;  // the place of an end belongs to rows that have left
            }
            const Waiting row = rows.front();
            rows.pop_front();
            end_waiting(
                row, lanes.failure_timed_out ? Outcome::timeout_connect : Outcome::connect_failed,
                lanes.failure_errno);
            any = true;
        }
        if (wants_connection(target) && !lanes_.open_one(target)) {
            make_room();
        }
    }
    return any;
}

// A row waits, and nothing that is there or under way can carry it.
bool Pacer::wants_connection(std::uint32_t target) const {
    const LaneTarget& lanes = lanes_.targets()[target];
    if (lanes.connecting > 0 || lanes.failures > 0) {
        return false;
    }
    return retrying_[target].empty() ? !waiting_[target].empty() && lanes.idle.count == 0
                                     : !lanes_.has_unused(target);
}

// All connections that are allowed are in use: one that stands idle, and that no row waits for,
// gives way. Where there is none, a busy one will come free.
void Pacer::make_room() {
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        const bool wanted =
            !waiting_[target].empty() || (!retrying_[target].empty() && lanes_.has_unused(target));
        if (!wanted && lanes_.make_room(target)) {
            return;
        }
    }
}

void Pacer::end_waiting(const Waiting& row, Outcome outcome, std::int32_t sys_errno) {
    armer_.give_back(row.request);
    lanes_.end_without_lane(row.request.planned, outcome, sys_errno, row.tries, row.tries > 0);
}

void Pacer::stop() {
    stopped_ = true;
    for (const std::uint32_t planned : armer_.stop()) {
        const auto found =
            std::find_if(retries_.begin(), retries_.end(),
                         [&](const LanePool::Retry& retry) { return retry.planned == planned; });
        CHECK(found != retries_.end());
        lanes_.end_without_lane(planned, Outcome::cancelled, 0, found->tries, true);
    }
    retries_.clear();
    for (std::deque<Waiting>& rows : retrying_) {
        for (const Waiting& row : rows) {
            end_waiting(row, Outcome::cancelled, 0);
        }
        rows.clear();
    }
}

bool Pacer::drop_unsent(std::uint32_t rows_max) {
    CHECK(stopped_);
    std::uint32_t dropped = 0;
    for (std::deque<Waiting>& rows : waiting_) {
        for (; dropped < rows_max && !rows.empty() && ring_.has_room_for_row(); ++dropped) {
            end_waiting(rows.front(), Outcome::not_sent, 0);
            rows.pop_front();
        }
    }
    for (; dropped < rows_max && next_ < plan_.rows.size() && ring_.has_room_for_row(); ++dropped) {
        lanes_.end_without_lane(next_, Outcome::not_sent, 0, 0, false);
        ++next_;
    }
    return dropped > 0;
}

}  // namespace driftless
