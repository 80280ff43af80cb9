#include "engine/schedule/releases.hpp"

#include <algorithm>

#include "engine/plan/planned_rows.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

namespace {

bool goes_later(const DueHeap::Entry& a, const DueHeap::Entry& b) {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.request > b.request;
}

}  // namespace

void DueHeap::push(const Entry& entry) {
    CHECK(entries_.size() < entries_.capacity());
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), goes_later);
}

void DueHeap::pop() {
    CHECK(!entries_.empty());
    std::pop_heap(entries_.begin(), entries_.end(), goes_later);
    entries_.pop_back();
}

void DueHeap::restore() {
    std::make_heap(entries_.begin(), entries_.end(), goes_later);
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier)
    : rows_(static_cast<std::uint32_t>(plan.rows.size())),
      turns_(plan.rows.size()),
      edges_begin_(plan.rows.size() + 1) {
    link(trace, plan, speed, earlier);
    reserve(1);
    release_waiting();
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
                   std::optional<std::int64_t> end_ns)
    : rows_(static_cast<std::uint32_t>(plan.rows.size())),
      copies_(copies),
      end_ns_(end_ns.value_or(INT64_MAX)),
      turns_(plan.rows.size()),
      edges_begin_(plan.rows.size() + 1) {
    CHECK(copies > 0);
    link(trace, plan, speed, {});
    for (std::uint32_t position = 0; position < rows_; ++position) {
        parents_.push_back(turns_[position].parents);
        recorded_ns_.push_back(plan.rows[position].due_ns);
    }
    Turn asleep;
    asleep.state = State::asleep;
    turns_.assign(std::size_t{copies} * rows_, asleep);
    reserve(2);  // those of the pass before may still be in the heaps
}

/// Counts the children of each request, then files them behind each other.
void Releases::link(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier) {
    const PlannedRows planned(trace, plan);
    const auto each = [&](auto use) {
        for (const Dependency& one : trace.dependencies) {
            CHECK(one.on < one.row);  // or none of them would end
            const std::optional<std::uint32_t> child = planned.find(one.row);
            if (child) {
                use(planned.find(one.on), *child, one);
            }
        }
    };
    each([&](std::optional<std::uint32_t> parent, std::uint32_t child, const Dependency& one) {
        Turn& turn = turns_[child];
        if (parent) {
            ++edges_begin_[*parent + 1];
            ++turn.parents;
            ++turn.unfired;
            turn.state = State::waiting;
        } else if (const auto past = earlier.find(one.on); past != earlier.end()) {
            const std::optional<std::int64_t> at_ns = one.trigger == Trigger::completion
                                                          ? past->second.answered_ns
                                                          : past->second.fired_ns;
            CHECK(at_ns);
            turn.state = State::waiting;
            move_due(turn, *at_ns, due_of(one.delay_ns, speed));
        }
    });
    for (std::size_t i = 1; i < edges_begin_.size(); ++i) {
        widest_ = std::max(widest_, edges_begin_[i]);  // still a count
        edges_begin_[i] += edges_begin_[i - 1];
    }
    edges_.resize(edges_begin_.back());
    std::vector<std::uint32_t> next(edges_begin_.begin(), edges_begin_.end() - 1);
    each([&](std::optional<std::uint32_t> parent, std::uint32_t child, const Dependency& one) {
        if (parent) {
            edges_[next[*parent]++] = {due_of(one.delay_ns, speed), child, one.trigger};
        }
    });
}

/// All that these wait for is in earlier segments.
void Releases::release_waiting() {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        const Turn& turn = turns_[request];
        if (turn.state == State::waiting && turn.parents == 0) {
            want_armed(request);
            make_known(request);
        }
    }
}

void Releases::reserve(std::size_t uses) {
    for (const Turn& turn : turns_) {
        count_ += turn.state != State::root ? 1 : 0;
    }
    known_.reserve(count_);
    for (DueHeap& heap : ahead_) {
        heap.reserve(count_ * uses);
    }
    dropped_.reserve(count_);
    cut_.reserve(is_used_again() ? count_ : 0);
}

void Releases::renew(std::span<const std::uint32_t> positions, std::uint32_t copy,
                     std::uint32_t pass) {
    CHECK(is_used_again() && copy < copies_);
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * rows_ + position;
        CHECK(turns_[request].state != State::waiting && turns_[request].state != State::known);
        Turn turn;
        turn.parents = parents_[position];
        turn.unfired = parents_[position];
        turn.pass = pass;
        turn.state = State::waiting;
        turns_[request] = turn;
        if (turn.unfired == 0) {
            want_armed(request);
        }
    }
}

void Releases::begin(std::span<const std::uint32_t> positions, std::uint32_t copy,
                     std::int64_t at_ns) {
    const std::int64_t first_ns = recorded_ns_[positions.front()];
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * rows_ + position;
        if (parents_[position] == 0) {
            CHECK(turns_[request].state == State::waiting);
            turns_[request].due_ns = later(at_ns, recorded_ns_[position] - first_ns);
            make_known(request);
        }
    }
    cut_descendants();
}

void Releases::take(std::uint32_t request) {
    CHECK(!known_.empty() && known_.top().request == request);
    CHECK(turns_[request].state == State::known && turns_[request].parents == 0);
    known_.pop();
    turns_[request].state = State::taken;
}

/// Nothing is to be prepared for it any more.
bool Releases::is_stale(Lookahead reader, const DueHeap::Entry& entry) const {
    const Turn& turn = turns_[entry.request];
    const bool waits = turn.state == State::waiting && reader == Lookahead::arming;
    return (turn.state != State::known && !waits) || turn.pass != entry.pass ||
           has_passed(reader, entry.request);
}

/// Bounded: of those that are not stale there is one of each request.
void Releases::push(Lookahead reader, std::int64_t order, std::uint32_t request) {
    DueHeap& heap = heap_of(reader);
    if (heap.full()) {
        heap.remove_if([&](const DueHeap::Entry& entry) { return is_stale(reader, entry); });
    }
    heap.push({order, request, turns_[request].pass});
}

std::optional<DueHeap::Entry> Releases::within(Lookahead reader, std::int64_t horizon_ns) {
    DueHeap& heap = heap_of(reader);
    while (!heap.empty() && is_stale(reader, heap.top())) {
        heap.pop();
    }
    const bool any_time = reader == Lookahead::arming;
    if (heap.empty() || (!any_time && heap.top().due_ns > horizon_ns)) {
        return std::nullopt;
    }
    return heap.top();
}

void Releases::pass(Lookahead reader, std::uint32_t request) {
    DueHeap& heap = heap_of(reader);
    const bool first = !heap.empty() && heap.top().request == request;
    CHECK(!has_passed(reader, request) && (first || reader == Lookahead::arming));
    if (first) {  // else `within` finds it stale
        heap.pop();
    }
    turns_[request].passed |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(reader));
}

bool Releases::has_passed(Lookahead reader, std::uint32_t request) const {
    return (turns_[request].passed >> static_cast<unsigned>(reader) & 1U) != 0;
}

void Releases::go_back(Lookahead reader, std::uint32_t request) {
    CHECK(turns_[request].state == State::known && has_passed(reader, request));
    turns_[request].passed &= static_cast<std::uint8_t>(~(1U << static_cast<unsigned>(reader)));
    push(reader, turns_[request].due_ns, request);
}

void Releases::move_due(Turn& turn, std::int64_t at_ns, std::int64_t delay_ns) {
    turn.due_ns = std::max(turn.due_ns, later(at_ns, delay_ns));
    turn.parent_end_ns = std::max(turn.parent_end_ns, at_ns);
}

/// A parent has done what the child waits for.
void Releases::meet(std::uint32_t child, const Edge& edge, std::int64_t at_ns) {
    Turn& turn = turns_[child];
    if (turn.state == State::dropped || turn.state == State::asleep) {
        return;
    }
    CHECK(turn.state == State::waiting && turn.parents > 0);
    move_due(turn, at_ns, edge.delay_ns);
    if (--turn.parents == 0) {
        make_known(child);
    }
}

void Releases::want_armed(std::uint32_t request) {
    push(Lookahead::arming, wanted_++, request);
}

void Releases::make_known(std::uint32_t request) {
    Turn& turn = turns_[request];
    CHECK(turn.state == State::waiting && turn.parents == 0 && turn.unfired == 0);
    if (turn.due_ns >= end_ns_) {
        cut(request);
        return;
    }
    turn.state = State::known;
    known_.push({turn.due_ns, request, turn.pass});
    for (const Lookahead reader :
         {Lookahead::binding, Lookahead::connecting, Lookahead::guarding}) {
        push(reader, turn.due_ns, request);
    }
}

void Releases::cut(std::uint32_t request) {
    CHECK(is_used_again() && turns_[request].state == State::waiting);
    turns_[request].state = State::asleep;
    cut_.push_back(request);
}

/// Ends: none is cut twice.
void Releases::cut_descendants() {
    for (; spread_cuts_ < cut_.size(); ++spread_cuts_) {
        for (const Edge& edge : edges_of(cut_[spread_cuts_])) {
            const std::uint32_t child = beside(cut_[spread_cuts_], edge.child);
            if (turns_[child].state == State::waiting) {
                cut(child);
            }
        }
    }
}

std::optional<std::uint32_t> Releases::take_cut() {
    if (taken_cuts_ == cut_.size()) {
        CHECK(spread_cuts_ == cut_.size());
        cut_.clear();
        spread_cuts_ = taken_cuts_ = 0;
        return std::nullopt;
    }
    return cut_[taken_cuts_++];
}

void Releases::fired(std::uint32_t request, std::int64_t at_ns) {
    CHECK(!turns_[request].left);
    turns_[request].left = true;
    for (const Edge& edge : edges_of(request)) {
        const std::uint32_t number = beside(request, edge.child);
        Turn& child = turns_[number];
        CHECK(child.unfired > 0);
        if (--child.unfired == 0 && child.state == State::waiting) {
            want_armed(number);
        }
        if (edge.trigger == Trigger::dispatch) {
            meet(number, edge, at_ns);
        }
    }
    cut_descendants();
}

void Releases::ended(std::uint32_t request, std::int64_t at_ns, bool answered) {
    for (const Edge& edge : edges_of(request)) {
        const std::uint32_t child = beside(request, edge.child);
        const bool by_end = edge.trigger == Trigger::completion;
        if (by_end ? !answered : !turns_[request].left) {
            drop(child, request);
        } else if (by_end) {
            meet(child, edge, at_ns);
        }
    }
    drop_descendants();
    cut_descendants();
}

void Releases::drop(std::uint32_t request, std::uint32_t failed) {
    Turn& turn = turns_[request];
    if (turn.state != State::dropped && turn.state != State::asleep) {
        CHECK(turn.state == State::waiting);
        turn.state = State::dropped;
        dropped_.push_back({request, failed});
    }
}

/// Ends: no request is dropped twice. All of them name the one that has failed.
void Releases::drop_descendants() {
    for (; spread_ < dropped_.size(); ++spread_) {
        const Dropped one = dropped_[spread_];
        for (const Edge& edge : edges_of(one.request)) {
            drop(beside(one.request, edge.child), one.failed);
        }
    }
}

std::optional<Releases::Dropped> Releases::dropped() const {
    return ended_ < dropped_.size() ? std::optional(dropped_[ended_]) : std::nullopt;
}

void Releases::take_dropped() {
    CHECK(ended_ < dropped_.size());
    if (++ended_ == dropped_.size() && spread_ == ended_) {
        dropped_.clear();
        spread_ = ended_ = 0;
    }
}

void Releases::stop() {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        if (turns_[request].state != State::waiting) {
            continue;
        }
        if (is_used_again()) {
            cut(request);
        } else {
            drop(request, Dropped::none);
        }
    }
    drop_descendants();
    cut_descendants();
}

}  // namespace driftless
