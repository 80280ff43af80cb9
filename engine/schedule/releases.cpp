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

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier)
    : turns_(plan.rows.size()), edges_begin_(plan.rows.size() + 1) {
    link(trace, plan, speed, earlier);
    reserve();
    release_waiting();
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

void Releases::reserve() {
    for (const Turn& turn : turns_) {
        count_ += turn.state == State::waiting ? 1 : 0;
    }
    known_.reserve(count_);
    for (DueHeap& heap : ahead_) {
        heap.reserve(count_);
    }
    dropped_.reserve(count_);
}

void Releases::take(std::uint32_t request) {
    CHECK(!known_.empty() && known_.top().request == request);
    CHECK(turns_[request].state == State::known && turns_[request].parents == 0);
    known_.pop();
    turns_[request].state = State::taken;
}

/// Nothing is to be prepared for it any more.
bool Releases::is_stale(Lookahead reader, std::uint32_t request) const {
    const State state = turns_[request].state;
    const bool waits = state == State::waiting && reader == Lookahead::arming;
    return (state != State::known && !waits) || has_passed(reader, request);
}

std::optional<DueHeap::Entry> Releases::within(Lookahead reader, std::int64_t horizon_ns) {
    DueHeap& heap = heap_of(reader);
    while (!heap.empty() && is_stale(reader, heap.top().request)) {
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
    heap_of(reader).push({turns_[request].due_ns, request});
}

void Releases::move_due(Turn& turn, std::int64_t at_ns, std::int64_t delay_ns) {
    turn.due_ns = std::max(turn.due_ns, later(at_ns, delay_ns));
    turn.parent_end_ns = std::max(turn.parent_end_ns, at_ns);
}

/// A parent has done what the child waits for.
void Releases::meet(const Edge& edge, std::int64_t at_ns) {
    Turn& turn = turns_[edge.child];
    if (turn.state == State::dropped) {
        return;
    }
    CHECK(turn.state == State::waiting && turn.parents > 0);
    move_due(turn, at_ns, edge.delay_ns);
    if (--turn.parents == 0) {
        make_known(edge.child);
    }
}

void Releases::want_armed(std::uint32_t request) {
    heap_of(Lookahead::arming).push({wanted_++, request});
}

void Releases::make_known(std::uint32_t request) {
    Turn& turn = turns_[request];
    CHECK(turn.state == State::waiting && turn.parents == 0 && turn.unfired == 0);
    turn.state = State::known;
    known_.push({turn.due_ns, request});
    for (const Lookahead reader :
         {Lookahead::binding, Lookahead::connecting, Lookahead::guarding}) {
        heap_of(reader).push({turn.due_ns, request});
    }
}

void Releases::fired(std::uint32_t request, std::int64_t at_ns) {
    CHECK(!turns_[request].left);
    turns_[request].left = true;
    for (std::uint32_t i = edges_begin_[request]; i < edges_begin_[request + 1]; ++i) {
        const Edge& edge = edges_[i];
        Turn& child = turns_[edge.child];
        CHECK(child.unfired > 0);
        if (--child.unfired == 0 && child.state != State::dropped) {
            want_armed(edge.child);
        }
        if (edge.trigger == Trigger::dispatch) {
            meet(edge, at_ns);
        }
    }
}

void Releases::ended(std::uint32_t request, std::int64_t at_ns, bool answered) {
    for (std::uint32_t i = edges_begin_[request]; i < edges_begin_[request + 1]; ++i) {
        const Edge& edge = edges_[i];
        const bool by_end = edge.trigger == Trigger::completion;
        if (by_end ? !answered : !turns_[request].left) {
            drop(edge.child, request);
        } else if (by_end) {
            meet(edge, at_ns);
        }
    }
    drop_descendants();
}

void Releases::drop(std::uint32_t request, std::uint32_t failed) {
    Turn& turn = turns_[request];
    if (turn.state != State::dropped) {
        CHECK(turn.state == State::waiting);
        turn.state = State::dropped;
        dropped_.push_back({request, failed});
    }
}

/// Ends: no request is dropped twice. All of them name the one that has failed.
void Releases::drop_descendants() {
    for (; spread_ < dropped_.size(); ++spread_) {
        const Dropped one = dropped_[spread_];
        for (std::uint32_t i = edges_begin_[one.request]; i < edges_begin_[one.request + 1]; ++i) {
            drop(edges_[i].child, one.failed);
        }
    }
}

std::optional<Releases::Dropped> Releases::dropped() const {
    return ended_ < dropped_.size() ? std::optional(dropped_[ended_]) : std::nullopt;
}

void Releases::take_dropped() {
    CHECK(ended_ < dropped_.size());
    ++ended_;
}

void Releases::stop() {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        if (turns_[request].state == State::waiting) {
            drop(request, Dropped::none);
        }
    }
    drop_descendants();
}

}  // namespace driftless
