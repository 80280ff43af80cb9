#include "engine/schedule/schedule.hpp"

namespace driftless {

Schedule::Schedule(const Plan& plan) : rows_(plan.rows) {
    if (!rows_.empty()) {
        next_ = {rows_[0].due_ns, 0, rows_[0].row, 0};
    }
}

Due Schedule::take() {
    CHECK(taken_ < rows_.size());
    const Due due = next_;
    ++taken_;
    if (taken_ < rows_.size()) {
        const Planned& planned = rows_[taken_];
        CHECK(planned.due_ns >= due.due_ns);
        const bool same_instant = planned.due_ns == due.due_ns;
        next_ = {planned.due_ns, taken_, planned.row, same_instant ? due.rank + 1 : 0};
    }
    return due;
}

void Schedule::pass(Lookahead reader, const Due& due) {
    CHECK(due.request == place_of(reader));
    ahead_[static_cast<std::size_t>(reader)] = due.request + 1;
}

void Schedule::go_back(Lookahead reader, const Due& due) {
    CHECK(!has_taken(due));
    std::uint32_t& at = ahead_[static_cast<std::size_t>(reader)];
    at = std::min(at, due.request);
}

void Schedule::fired(const Due& due, std::int64_t at_ns) {
    CHECK(has_taken(due) && at_ns >= due.due_ns);
    ++fired_;
    CHECK(fired_ <= taken_);
}

void Schedule::ended(const Due& due) {
    CHECK(has_taken(due));
    ++ended_;
    CHECK(ended_ <= taken_);
}

std::int64_t Schedule::first_due_ns() const {
    CHECK(!rows_.empty());
    return rows_.front().due_ns;
}

}  // namespace driftless
