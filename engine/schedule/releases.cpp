#include "engine/schedule/releases.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t not_planned = 0xFFFF'FFFFu;

bool later(const DueHeap::Entry& a, const DueHeap::Entry& b) {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.request > b.request;
}

/// [row index] position in the plan.
std::vector<std::uint32_t> positions_of(const Trace& trace, const Plan& plan) {
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    std::vector<std::uint32_t> positions(std::size_t{index_max} + 1, not_planned);
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        positions[trace.rows[plan.rows[position].row].index] = position;
    }
    return positions;
}

}  // namespace

void DueHeap::push(const Entry& entry) {
    CHECK(entries_.size() < entries_.capacity());
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), later);
}

void DueHeap::pop() {
    CHECK(!entries_.empty());
    std::pop_heap(entries_.begin(), entries_.end(), later);
    entries_.pop_back();
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed)
    : turns_(plan.rows.size()), edges_begin_(plan.rows.size() + 1) {
    link(trace, plan, speed);
    reserve();
}

/// Counts the children of each request, then files them behind each other.
void Releases::link(const Trace& trace, const Plan& plan, Speed speed) {
    const std::vector<std::uint32_t> positions = positions_of(trace, plan);
    const auto each = [&](auto use) {
        for (const Dependency& one : trace.dependencies) {
            CHECK(one.on < one.row && one.row < positions.size());  // or none of them would end
            const std::uint32_t child = positions[one.row];
            const std::uint32_t parent = positions[one.on];
            if (child != not_planned && parent != not_planned) {
                use(parent, child, one);
            }
        }
    };
    each([&](std::uint32_t parent, std::uint32_t child, const Dependency&) {
        ++edges_begin_[parent + 1];
        ++turns_[child].parents;
        ++turns_[child].unfired;
        turns_[child].state = State::waiting;
    });
    for (std::size_t i = 1; i < edges_begin_.size(); ++i) {
        edges_begin_[i] += edges_begin_[i - 1];
    }
    edges_.resize(edges_begin_.back());
    std::vector<std::uint32_t> next(edges_begin_.begin(), edges_begin_.end() - 1);
    each([&](std::uint32_t parent, std::uint32_t child, const Dependency& one) {
        edges_[next[parent]++] = {due_of(one.delay_ns, speed), child, one.trigger};
    });
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

/// One of its parents has done what it waits for.
void Releases::meet(std::uint32_t request, std::int64_t at_ns) {
    Turn& turn = turns_[request];
    if (turn.state == State::dropped) {
        return;
    }
    CHECK(turn.state == State::waiting && turn.parents > 0);
    turn.due_ns = std::max(turn.due_ns, at_ns);
    if (--turn.parents > 0) {
        return;
    }
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
        if (edge.trigger == Trigger::dispatch) {
            meet(edge.child, at_ns + edge.delay_ns);
        }
        CHECK(child.unfired > 0);
        if (--child.unfired == 0 && child.state != State::dropped) {
            heap_of(Lookahead::arming).push({wanted_++, edge.child});
        }
    }
}

void Releases::ended(std::uint32_t request, std::int64_t at_ns, bool answered) {
    for (std::uint32_t i = edges_begin_[request]; i < edges_begin_[request + 1]; ++i) {
        const Edge& edge = edges_[i];
        const bool by_end = edge.trigger == Trigger::completion;
        if (by_end ? !answered : !turns_[request].left) {
            drop(edge.child);
        } else if (by_end) {
            meet(edge.child, at_ns + edge.delay_ns);
        }
    }
    drop_descendants();
}

void Releases::drop(std::uint32_t request) {
    Turn& turn = turns_[request];
    if (turn.state != State::dropped) {
        CHECK(turn.state == State::waiting);
        turn.state = State::dropped;
        dropped_.push_back(request);
    }
}

/// Ends: no request is dropped twice.
void Releases::drop_descendants() {
    for (; spread_ < dropped_.size(); ++spread_) {
        const std::uint32_t request = dropped_[spread_];
        for (std::uint32_t i = edges_begin_[request]; i < edges_begin_[request + 1]; ++i) {
            drop(edges_[i].child);
        }
    }
}

std::optional<std::uint32_t> Releases::dropped() const {
    return ended_ < dropped_.size() ? std::optional(dropped_[ended_]) : std::nullopt;
}

void Releases::take_dropped() {
    CHECK(ended_ < dropped_.size());
    ++ended_;
}

void Releases::stop() {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        if (turns_[request].state == State::waiting) {
            drop(request);
        }
    }
    drop_descendants();
}

}  // namespace driftless
