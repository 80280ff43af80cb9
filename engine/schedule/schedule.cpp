#include "engine/schedule/schedule.hpp"

namespace driftless {

namespace {

bool goes_before(const Due& a, const Due& b) {
    return a.due_ns != b.due_ns ? a.due_ns < b.due_ns : a.request < b.request;
}

}  // namespace

Schedule::Schedule(std::span<const Planned> rows) : rows_(rows) {
    load_next();
    first_due_ns_ = has_next_ ? next_.due_ns : 0;
}

Schedule::Schedule(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier)
    : rows_(plan.rows), releases_(std::make_unique<Releases>(trace, plan, speed, earlier)) {
    cursor_ = root_from(0);
    ahead_.fill(cursor_);
    load_next();
    CHECK(rows_.empty() || has_next_);  // or nothing would ever be sent
    first_due_ns_ = has_next_ ? next_.due_ns : 0;
}

Schedule::Schedule(const Trace& trace, const Plan& plan, Speed speed, const UserRules& rules)
    : rows_(plan.rows),
      cursor_(static_cast<std::uint32_t>(plan.rows.size())),
      users_(std::make_unique<Users>(trace, plan, speed, rules)) {
    ahead_.fill(cursor_);
    load_next();
    CHECK(has_next_);  // the first user begins at once
    first_due_ns_ = next_.due_ns;
}

/// As recorded, in the tree of its user where it has one.
Due Schedule::of_request(std::uint32_t request) const {
    Due due = root_at(position_of(request));
    due.request = request;
    if (users_ != nullptr) {
        due.due_ns = users_->recorded_due_ns(request);
        due.pass = users_->releases().pass_of(request);
        due.user = users_->user_of(request);
    }
    return due;
}

Due Schedule::due_of_entry(const DueHeap::Entry& entry) const {
    Due due = of_request(entry.request);
    due.due_ns = entry.due_ns;
    due.parent_end_ns = releases()->parent_end_ns(entry.request);
    return due;
}

std::uint32_t Schedule::root_from(std::uint32_t position) const {
    while (position < rows_.size() && waits(position)) {
        ++position;
    }
    return position;
}

/// The earlier of the next recorded instant and the next one that was released.
void Schedule::load_next() {
    const DueHeap::Entry* released = releases() == nullptr ? nullptr : releases()->peek();
    has_next_ = cursor_ < rows_.size() || released != nullptr;
    if (!has_next_) {
        return;
    }
    if (cursor_ < rows_.size()) {
        next_ = root_at(cursor_);
    }
    if (released != nullptr) {
        const Due known = due_of_entry(*released);
        next_ = cursor_ < rows_.size() && goes_before(next_, known) ? next_ : known;
    }
    next_.rank = taken_ > 0 && next_.due_ns == last_.due_ns ? last_.rank + 1 : 0;
}

Due Schedule::take() {
    CHECK(has_next_);
    last_ = next_;
    ++taken_;
    if (waits(last_.request)) {
        releases()->take(last_.request);
    } else {
        cursor_ = root_from(last_.request + 1);
        CHECK(cursor_ >= rows_.size() || rows_[cursor_].due_ns >= last_.due_ns);
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
    const std::optional<DueHeap::Entry> released = releases()->within(reader, horizon_ns);
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
        releases()->pass(reader, due.request);
        return;
    }
    CHECK(due.request == place_of(reader));
    ahead_[static_cast<std::size_t>(reader)] = root_from(due.request + 1);
}

bool Schedule::has_passed(Lookahead reader, const Due& due) const {
    return waits(due.request) ? releases()->has_passed(reader, due.request)
                              : due.request < ahead_[static_cast<std::size_t>(reader)];
}

void Schedule::go_back(Lookahead reader, const Due& due) {
    CHECK(!has_taken(due));
    if (waits(due.request)) {
        releases()->go_back(reader, due.request);
        return;
    }
    std::uint32_t& at = ahead_[static_cast<std::size_t>(reader)];
    at = std::min(at, due.request);
}

void Schedule::fired(const Due& due, std::int64_t at_ns) {
    CHECK(has_taken(due) && at_ns >= due.due_ns);
    ++fired_;
    CHECK(fired_ <= taken_);
    if (users_ != nullptr) {
        users_->fired(due.request, at_ns);
        load_next();
    } else if (releases_ != nullptr) {
        releases_->fired(due.request, at_ns);
        load_next();
    }
}

void Schedule::ended(const Due& due, std::int64_t at_ns, bool answered) {
    CHECK(has_taken(due));
    ++ended_;
    CHECK(ended_ <= taken_);
    if (users_ != nullptr) {
        users_->ended(due.request, at_ns, answered);
        load_next();
    } else if (releases_ != nullptr) {
        releases_->ended(due.request, at_ns, answered);
        load_next();
    }
    // Somebody releases what is left, or drops it.
    CHECK(left() == 0 || has_next_ || ended_ < taken_ || dropped());
}

std::optional<Due> Schedule::dropped() const {
    const std::optional<Releases::Dropped> one =
        releases() == nullptr ? std::nullopt : releases()->dropped();
    if (!one) {
        return std::nullopt;
    }
    Due due = of_request(one->request);
    due.failed_row = one->failed == Releases::Dropped::none ? Due::none_failed
                                                            : rows_[position_of(one->failed)].row;
    return due;
}

void Schedule::take_dropped() {
    CHECK(releases() != nullptr);
    releases()->take_dropped();
    ++taken_;
}

void Schedule::stop() {
    if (users_ != nullptr) {
        users_->stop();
    } else if (releases_ != nullptr) {
        releases_->stop();
    }
}

std::int64_t Schedule::first_due_ns() const {
    CHECK(!rows_.empty());
    return first_due_ns_;
}

}  // namespace driftless
