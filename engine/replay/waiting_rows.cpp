#include "engine/replay/waiting_rows.hpp"

#include <algorithm>
#include <tuple>

#include "engine/io/driver.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

static constexpr std::int64_t second_ns = 1'000'000'000;
// Over loopback (macro_bench).
static constexpr std::int64_t fire_cost_ns = 10'000;

// A row that follows one that is due at `before_ns`.
static bool begins_instant(std::int64_t before_ns, const Due& due) {
    return due.due_ns - before_ns >= fire_cost_ns;
}

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

static Outcome outcome_of_failure(const LaneTarget& target) {
    return target.failure_timed_out            ? Outcome::timeout_connect
           : target.failure_is_tls             ? Outcome::tls_failed
           : is_own_lack(target.failure_errno) ? Outcome::client_failed
                                               : Outcome::connect_failed;
}

WaitingRows::WaitingRows(Lanes& lanes, Armer& armer, EventRing& ring, const RowsAhead& ahead)
    : lanes_(lanes),
      armer_(armer),
      ring_(ring),
      ahead_(ahead),
      queues_(lanes.parts.targets.size()) {}

bool WaitingRows::Choice::before(const Choice& other) const {
    const auto place = [](const Choice& choice) {
        const Due& due = choice.rows->first->due;
        return std::tuple(!choice.retry, due.due_ns, due.request);
    };
    return place(*this) < place(other);
}

void WaitingRows::add(RowUnderway& row) {
    CHECK(row.taken);
    row.enter(RowStage::waiting);
    Queue& queue = queues_[ahead_.target_of(row.due)];
    (row.tries > 0 ? queue.retries : queue.rows).push_back(row);
}

bool WaitingRows::empty() const {
    for (const Queue& queue : queues_) {
        if (!queue.empty()) {
            return false;
        }
    }
    return true;
}

bool WaitingRows::has_lane(std::uint32_t target, const RowList& rows) const {
    if (rows.empty() || lanes_.shelf.count(target) == 0) {
        return false;
    }
    const LaneWish wish = ahead_.wish_of(rows.first->due, is_retry(rows, target));
    return lanes_.pool.has_idle(target, wish);
}

bool WaitingRows::bind(RowUnderway& row) {
    const std::uint32_t target = ahead_.target_of(row.due);
    return queues_[target].empty() &&
           lanes_.pool.bind(target, row, ahead_.wish_of(row.due, false), true) != nullptr;
}

bool WaitingRows::finds_lane(const RowUnderway& row) const {
    const std::uint32_t target = ahead_.target_of(row.due);
    const LaneWish wish = ahead_.wish_of(row.due, false);
    return row.stage == RowStage::bound || (queues_[target].empty() && wish.session == no_session &&
                                            lanes_.pool.has_idle(target, wish));
}

// Over all servers the row that was due first goes first: a cap on what is in flight, or a host
// that was stopped, must not favour one of them.
std::optional<WaitingRows::Choice> WaitingRows::next() const {
    std::optional<Choice> best;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        for (const RowList* rows : {&queue.retries, &queue.rows}) {
            const Choice choice{target, is_retry(*rows, target), rows};
            if ((choice.retry || lanes_.in_flight.has_room()) && has_lane(target, *rows) &&
                (!best || choice.before(*best))) {
                best = choice;
            }
        }
    }
    return best;
}

WaitingRows::Step WaitingRows::step() {
    const std::optional<Choice> choice = next();
    if (!choice) {
        return {};
    }
    const std::uint32_t target = choice->target;
    RowUnderway& row = *choice->rows->first;
    CHECK(row.stage == RowStage::waiting && row.storage != nullptr);
    const LaneWish wish = ahead_.wish_of(row.due, choice->retry);
    const bool tls = lanes_.parts.targets[target].tls != nullptr;
    Lane* lane =
        tls ? lanes_.pool.bind(target, row, wish, true) : lanes_.pool.take_idle(target, wish);
    if (lane == nullptr) {
        return {};  // it has grown too old since `next` saw it
    }
    (choice->retry ? queues_[target].retries : queues_[target].rows).remove(row);
    return tls ? Step{true, nullptr, nullptr} : Step{true, lane, &row};
}

bool WaitingRows::answer_failures() {
    bool any = false;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        Queue& queue = queues_[target];
        LaneTarget& lanes = lanes_.parts.targets[target];
        for (; lanes.failures > 0; --lanes.failures) {
            RowList& rows = !queue.retries.empty() ? queue.retries : queue.rows;
            if (rows.empty()) {
                lanes.failures = 0;
                break;
            }
            if (!is_retry(rows, target) && !ring_.has_room_for_row()) {
                break;  // reserved ring slots are for rows in flight only
            }
            end(*rows.pop_front(), outcome_of_failure(lanes), lanes.failure_errno);
            any = true;
        }
    }
    if (!stopped_) {
        open_wanted();
    }
    return any;
}

// Where one cannot be opened, all that are allowed are in use: the others cannot be, either.
void WaitingRows::open_wanted() {
    while (const std::optional<Choice> wanting = next_without_lane()) {
        if (!lanes_.pool.open_one(wanting->target)) {
            make_room(*wanting);
            return;
        }
    }
}

std::optional<WaitingRows::Choice> WaitingRows::next_without_lane() const {
    std::optional<Choice> best;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        const bool retry = !queue.retries.empty();
        const Choice choice{target, retry, retry ? &queue.retries : &queue.rows};
        if (lacks_connection(target) && (!best || choice.before(*best))) {
            best = choice;
        }
    }
    return best;
}

// A row waits that may leave, and nothing that is there or under way can carry it.
bool WaitingRows::lacks_connection(std::uint32_t target) const {
    const LaneTarget& lanes = lanes_.parts.targets[target];
    if (lanes.connecting > 0 || lanes.failures > 0) {
        return false;
    }
    const Queue& queue = queues_[target];
    return queue.retries.empty()
               ? lanes_.in_flight.has_room() && !queue.rows.empty() && !has_lane(target, queue.rows)
               : !has_lane(target, queue.retries);
}

// All connections that are allowed are in use. An idle one gives way, unless a row waits for it
// that was due earlier; where there is none, a busy one will come free. For a retry, which is in
// flight, one gives way, too, that is kept for rows that may not leave before the retry has ended.
void WaitingRows::make_room(const Choice& wanting) {
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        const bool rows_want =
            !queue.rows.empty() &&
            (wanting.retry
                 ? lanes_.in_flight.has_room()
                 : target == wanting.target || Choice{target, false, &queue.rows}.before(wanting));
        if (!rows_want && !has_lane(target, queue.retries) && lanes_.pool.make_room(target)) {
            return;
        }
    }
}

void WaitingRows::end(RowUnderway& row, Outcome outcome, std::int32_t sys_errno) {
    CHECK(row.stage == RowStage::waiting);
    armer_.give_back(row);
    lanes_.in_flight.end_without_lane(row, outcome, sys_errno);
}

void WaitingRows::stop() {
    stopped_ = true;
    for (Queue& queue : queues_) {
        while (RowUnderway* row = queue.retries.pop_front()) {
            end(*row, Outcome::cancelled);
        }
    }
}

bool WaitingRows::end_one() {
    CHECK(stopped_);
    for (Queue& queue : queues_) {
        if (!queue.rows.empty() && ring_.has_room_for_row()) {
            end(*queue.rows.pop_front(), Outcome::not_sent);
            return true;
        }
    }
    return false;
}

void WaitingRows::forget() {
    CHECK(stopped_);
    for (Queue& queue : queues_) {
        while (RowUnderway* row = queue.rows.pop_front()) {
            armer_.give_back(*row);
        }
    }
}

}  // namespace driftless
