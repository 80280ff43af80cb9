#include "engine/plan/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "engine/plan/trees.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

static bool goes_before(const Due& a, const Due& b) {
    return a.due_ns != b.due_ns ? a.due_ns < b.due_ns : a.request < b.request;
}

Schedule::Schedule(std::span<const Planned> rows) : recorded_{rows} {
    load_next();
    first_due_ns_ = next_.due_ns;
}

Schedule::Schedule(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier,
                   const LiveTurns* live)
    : recorded_{plan.rows},
      releases_(std::make_unique<Releases>(trace, plan, speed, earlier, live)),
      waiting_(releases_.get()) {
    recorded_.cursor = root_from(0);
    recorded_.ahead.fill(recorded_.cursor);
    load_next();
    CHECK(plan.rows.empty() || has_next_);  // or nothing would ever be sent
    first_due_ns_ = next_.due_ns;
}

Schedule::Schedule(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules,
                   const LiveTurns* live)
    : recorded_{plan.rows},
      users_(std::make_unique<Users>(trace, plan, speed, rules, live)),
      waiting_(&users_->releases()) {
    recorded_.cursor = static_cast<std::uint32_t>(plan.rows.size());
    recorded_.ahead.fill(recorded_.cursor);
    load_next();
    CHECK(has_next_ || users_->over());  // or nothing would ever be sent
    first_due_ns_ = next_.due_ns;
}

/// As recorded, in the tree of its user where it has one.
Due Schedule::of_request(std::uint32_t request) const {
    if (users_ == nullptr) {
        return recorded_.due_at(request);
    }
    Due due = recorded_.due_at(users_->position_of(request));
    due.request = request;
    due.due_ns = users_->recorded_due_ns(request);
    const PendingTurn& turn = waiting_->turn(request);
    due.pass = turn.pass;
    due.user = turn.user;
    due.phase = turn.warms_up ? Phase::warmup : Phase::profile;
    due.attempt = turn.attempt;
    due.one_token = turn.one_token;
    return due;
}

Due Schedule::due_of_entry(const DueHeap::Entry& entry) const {
    Due due = of_request(entry.request);
    due.due_ns = entry.due_ns;
    due.parent_end_ns = waiting_->turn(entry.request).parent_end_ns;
    return due;
}

std::uint32_t Schedule::root_from(std::uint32_t position) const {
    while (position < recorded_.rows.size() && waits(position)) {
        ++position;
    }
    return position;
}

/// The earlier of the next recorded instant and the next one that was released.
void Schedule::load_next() {
    const DueHeap::Entry* released = waiting_ == nullptr ? nullptr : waiting_->peek();
    has_next_ = recorded_.cursor < recorded_.rows.size() || released != nullptr;
    if (!has_next_) {
        return;
    }
    if (recorded_.cursor < recorded_.rows.size()) {
        next_ = recorded_.due_at(recorded_.cursor);
    }
    if (released != nullptr) {
        const Due known = due_of_entry(*released);
        next_ =
            recorded_.cursor < recorded_.rows.size() && goes_before(next_, known) ? next_ : known;
    }
    next_.rank = taken_ > 0 && next_.due_ns == last_.due_ns ? last_.rank + 1 : 0;
}

Due Schedule::take() {
    CHECK(has_next_);
    last_ = next_;
    ++taken_;
    if (waits(last_.request)) {
        waiting_->take(last_.request);
        if (users_ != nullptr) {
            users_->taken(last_.request);
        }
    } else {
        recorded_.cursor = root_from(last_.request + 1);
        CHECK(recorded_.cursor >= recorded_.rows.size() ||
              recorded_.rows[recorded_.cursor].due_ns >= last_.due_ns);
    }
    load_next();
    return last_;
}

// What is next goes before all that is prepared for later; then what follows those that have left.
std::optional<Due> Schedule::first_of(Lookahead reader, std::int64_t horizon_ns,
                                      const std::optional<Due>& root) {
    if (reader == Lookahead::arming && has_next_ && next_.due_ns <= horizon_ns &&
        !has_passed(reader, next_)) {
        Due due = next_;
        due.rank = 0;
        return due;
    }
    const std::optional<DueHeap::Entry> released = waiting_->within(reader, horizon_ns);
    if (!released) {
        return root;
    }
    if (reader == Lookahead::arming) {
        return due_of_entry({0, released->request});
    }
    const Due known = due_of_entry(*released);
    return root && goes_before(*root, known) ? root : known;
}

void Schedule::pass(Lookahead reader, const Due& due) {
    if (waits(due.request)) {
        waiting_->pass(reader, due.request);
        return;
    }
    CHECK(due.request == recorded_.place_of(reader));
    recorded_.ahead[static_cast<std::size_t>(reader)] = root_from(due.request + 1);
}

bool Schedule::has_passed(Lookahead reader, const Due& due) const {
    return waits(due.request) ? waiting_->turn(due.request).has_passed(reader)
                              : due.request < recorded_.ahead[static_cast<std::size_t>(reader)];
}

void Schedule::go_back(Lookahead reader, const Due& due) {
    CHECK(!has_taken(due));
    if (waits(due.request)) {
        waiting_->go_back(reader, due.request);
        return;
    }
    std::uint32_t& at = recorded_.ahead[static_cast<std::size_t>(reader)];
    at = std::min(at, due.request);
}

void Schedule::fired(const Due& due, std::int64_t at_ns) {
    CHECK(has_taken(due) && at_ns >= due.due_ns);
    ++fired_;
    CHECK(fired_ <= taken_);
    if (waiting_ != nullptr) {
        users_ != nullptr ? users_->fired(due.request, at_ns) : waiting_->fired(due.request, at_ns);
        load_next();
    }
}

void Schedule::ended(const Due& due, std::int64_t at_ns, const TurnEnd& end) {
    CHECK(has_taken(due));
    ++ended_;
    CHECK(ended_ <= taken_);
    if (waiting_ != nullptr) {
        users_ != nullptr ? users_->ended(due.request, at_ns, end)
                          : waiting_->ended(due.request, at_ns, end.goes_on());
        load_next();
    }
    // Somebody releases what is left, or drops it.
    CHECK(left() == 0 || has_next_ || ended_ < taken_ || dropped() || awaits_words());
}

bool Schedule::replied(std::uint32_t request, std::uint32_t pass, std::uint8_t attempt,
                       std::int64_t at_ns, bool goes_on) {
    CHECK(waiting_ != nullptr);
    const PendingTurn& turn = waiting_->turn(request);
    const bool is_its = turn.pass == pass && turn.attempt == attempt;
    const bool is_awaited =
        is_its && (users_ != nullptr ? users_->replied(request, at_ns, goes_on)
                                     : waiting_->replied(request, at_ns, goes_on));
    if (is_awaited) {
        load_next();
        CHECK(left() == 0 || has_next_ || ended_ < taken_ || dropped() || awaits_words());
    }
    return is_awaited;
}

std::optional<Due> Schedule::dropped() const {
    const std::optional<Fallen::One> one = waiting_ == nullptr ? std::nullopt : waiting_->dropped();
    if (!one) {
        return std::nullopt;
    }
    Due due = of_request(one->request);
    due.failed_row = one->failed == Fallen::none ? Due::none_failed : of_request(one->failed).row;
    return due;
}

void Schedule::take_dropped() {
    CHECK(waiting_ != nullptr);
    waiting_->take_dropped();
    if (users_ != nullptr) {
        users_->dropped_taken();
    }
    ++taken_;
}

void Schedule::stop() {
    if (waiting_ != nullptr) {
        users_ != nullptr ? users_->stop() : waiting_->stop();
    }
}

namespace {

/// An answer that is open: when it ends, and whose it is.
struct Open {
    std::int64_t end_ns = 0;
    Due due;
    bool operator>(const Open& other) const {
        return end_ns != other.end_ns ? end_ns > other.end_ns : due.request > other.due.request;
    }
};

}  // namespace

Plan rehearse(const Trace& trace, const Plan& plan, Schedule schedule, std::int64_t token_ns,
              std::size_t requests_max) {
    Plan rehearsed = plan;
    rehearsed.rows.clear();
    rehearsed.burst_rows_max = 0;
    std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
    while (rehearsed.rows.size() < requests_max && (schedule.peek() != nullptr || !open.empty())) {
        const Due* const next = schedule.peek();
        if (next == nullptr || (!open.empty() && open.top().end_ns <= next->due_ns)) {
            const Open first = open.top();
            open.pop();
            schedule.ended(first.due, first.end_ns, true);
            if (schedule.awaits_words()) {
                schedule.replied(first.due.request, first.due.pass, first.due.attempt, first.end_ns,
                                 true);
            }
            continue;
        }
        const Due due = schedule.take();
        schedule.fired(due, due.due_ns);
        const std::uint32_t tokens = trace.rows[due.row].output_length;
        open.push({later(due.due_ns, token_ns * tokens), due});
        rehearsed.rows.push_back({due.due_ns, due.row, 0});
        rehearsed.burst_rows_max = std::max(rehearsed.burst_rows_max, due.rank + 1);
    }
    rehearsed.last_due_ns = rehearsed.rows.empty() ? 0 : rehearsed.rows.back().due_ns;
    return rehearsed;
}

}  // namespace driftless
