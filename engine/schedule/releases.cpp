#include "engine/schedule/releases.hpp"

#include <algorithm>

#include "engine/plan/planned_rows.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

void PendingTurn::move_due(std::int64_t at_ns, std::int64_t delay_ns) {
    due_ns = std::max(due_ns, later(at_ns, delay_ns));
    parent_end_ns = std::max(parent_end_ns, at_ns);
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier)
    : graph_(trace, plan, speed, 1), turns_(plan.rows.size()) {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        PendingTurn& turn = turns_[request];
        turn.parents = turn.unfired = graph_.parents_of(request);
        turn.state = turn.parents > 0 ? TurnState::waiting : TurnState::root;
    }
    if (!earlier.empty()) {
        take_past(trace, plan, speed, earlier);
    }
    reserve(1);
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        if (turns_[request].state == TurnState::waiting && turns_[request].parents == 0) {
            want_armed(request);  // all that it waits for is in earlier segments
            make_known(request);
        }
    }
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
                   std::optional<std::int64_t> end_ns)
    : graph_(trace, plan, speed, copies), end_ns_(end_ns.value_or(INT64_MAX)) {
    for (const Planned& planned : plan.rows) {
        recorded_ns_.push_back(planned.due_ns);
    }
    PendingTurn asleep;
    asleep.state = TurnState::asleep;
    turns_.assign(std::size_t{copies} * plan.rows.size(), asleep);
    reserve(2);  // those of the pass before may still be in the heaps
}

/// Rows of earlier segments have let these go as far as they were to.
void Releases::take_past(const Trace& trace, const Plan& plan, Speed speed,
                         const EarlierRows& earlier) {
    const PlannedRows planned(trace, plan);
    for (const Dependency& one : trace.dependencies) {
        const std::optional<std::uint32_t> child = planned.find(one.row);
        const auto past = earlier.find(one.on);
        if (!child || planned.contains(one.on) || past == earlier.end()) {
            continue;
        }
        const std::optional<std::int64_t> at_ns =
            one.trigger == Trigger::completion ? past->second.answered_ns : past->second.fired_ns;
        CHECK(at_ns);
        turns_[*child].state = TurnState::waiting;
        turns_[*child].move_due(*at_ns, due_of(one.delay_ns, speed));
    }
}

void Releases::reserve(std::size_t uses) {
    for (const PendingTurn& turn : turns_) {
        count_ += turn.state != TurnState::root ? 1 : 0;
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
    CHECK(is_used_again() && copy < graph_.copies());
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * graph_.rows() + position;
        CHECK(turns_[request].state != TurnState::waiting &&
              turns_[request].state != TurnState::known);
        PendingTurn turn;
        turn.parents = graph_.parents_of(position);
        turn.unfired = graph_.parents_of(position);
        turn.pass = pass;
        turn.state = TurnState::waiting;
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
        const std::uint32_t request = copy * graph_.rows() + position;
        if (graph_.parents_of(position) == 0) {
            CHECK(turns_[request].state == TurnState::waiting);
            turns_[request].due_ns = later(at_ns, recorded_ns_[position] - first_ns);
            make_known(request);
        }
    }
    spread();
}

void Releases::take(std::uint32_t request) {
    CHECK(!known_.empty() && known_.top().request == request);
    CHECK(turns_[request].state == TurnState::known && turns_[request].parents == 0);
    known_.pop();
    turns_[request].state = TurnState::taken;
}

/// Nothing is to be prepared for it any more.
bool Releases::is_stale(Lookahead reader, const DueHeap::Entry& entry) const {
    const PendingTurn& turn = turns_[entry.request];
    const bool waits = turn.state == TurnState::waiting && reader == Lookahead::arming;
    return (turn.state != TurnState::known && !waits) || turn.pass != entry.pass ||
           turn.has_passed(reader);
}

/// Bounded: of those that are not stale there is one of each request.
void Releases::push(Lookahead reader, std::int64_t order, std::uint32_t request) {
    DueHeap& heap = ahead_[static_cast<std::size_t>(reader)];
    if (heap.full()) {
        heap.remove_if([&](const DueHeap::Entry& entry) { return is_stale(reader, entry); });
    }
    heap.push({order, request, turns_[request].pass});
}

std::optional<DueHeap::Entry> Releases::within(Lookahead reader, std::int64_t horizon_ns) {
    DueHeap& heap = ahead_[static_cast<std::size_t>(reader)];
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
    DueHeap& heap = ahead_[static_cast<std::size_t>(reader)];
    const bool first = !heap.empty() && heap.top().request == request;
    CHECK(!turns_[request].has_passed(reader) && (first || reader == Lookahead::arming));
    if (first) {  // else `within` finds it stale
        heap.pop();
    }
    turns_[request].passed |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(reader));
}

void Releases::go_back(Lookahead reader, std::uint32_t request) {
    CHECK(turns_[request].state == TurnState::known && turns_[request].has_passed(reader));
    turns_[request].passed &= static_cast<std::uint8_t>(~(1U << static_cast<unsigned>(reader)));
    push(reader, turns_[request].due_ns, request);
}

/// A parent has done what the child waits for.
void Releases::meet(std::uint32_t child, const TurnGraph::Edge& edge, std::int64_t at_ns) {
    PendingTurn& turn = turns_[child];
    if (turn.state == TurnState::dropped || turn.state == TurnState::asleep) {
        return;
    }
    CHECK(turn.state == TurnState::waiting && turn.parents > 0);
    turn.move_due(at_ns, edge.delay_ns);
    if (--turn.parents == 0) {
        make_known(child);
    }
}

void Releases::want_armed(std::uint32_t request) {
    push(Lookahead::arming, wanted_++, request);
}

void Releases::make_known(std::uint32_t request) {
    PendingTurn& turn = turns_[request];
    CHECK(turn.state == TurnState::waiting && turn.parents == 0 && turn.unfired == 0);
    if (turn.due_ns >= end_ns_) {
        cut(request);
        return;
    }
    turn.state = TurnState::known;
    known_.push({turn.due_ns, request, turn.pass});
    for (const Lookahead reader :
         {Lookahead::binding, Lookahead::connecting, Lookahead::guarding}) {
        push(reader, turn.due_ns, request);
    }
}

void Releases::cut(std::uint32_t request) {
    CHECK(is_used_again() && turns_[request].state == TurnState::waiting);
    turns_[request].state = TurnState::asleep;
    cut_.add({request, Fallen::none});
}

std::optional<std::uint32_t> Releases::take_cut() {
    const std::optional<Fallen::One> one = cut_.first();
    if (!one) {
        return std::nullopt;
    }
    cut_.take_first();
    return one->request;
}

void Releases::fired(std::uint32_t request, std::int64_t at_ns) {
    CHECK(!turns_[request].left);
    turns_[request].left = true;
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t number = graph_.beside(request, edge.child);
        PendingTurn& child = turns_[number];
        CHECK(child.unfired > 0);
        if (--child.unfired == 0 && child.state == TurnState::waiting) {
            want_armed(number);
        }
        if (edge.trigger == Trigger::dispatch) {
            meet(number, edge, at_ns);
        }
    }
    spread();
}

void Releases::ended(std::uint32_t request, std::int64_t at_ns, bool answered) {
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t child = graph_.beside(request, edge.child);
        const bool by_end = edge.trigger == Trigger::completion;
        if (by_end ? !answered : !turns_[request].left) {
            drop(child, request);
        } else if (by_end) {
            meet(child, edge, at_ns);
        }
    }
    spread();
}

void Releases::drop(std::uint32_t request, std::uint32_t failed) {
    PendingTurn& turn = turns_[request];
    if (turn.state != TurnState::dropped && turn.state != TurnState::asleep) {
        CHECK(turn.state == TurnState::waiting);
        turn.state = TurnState::dropped;
        dropped_.add({request, failed});
    }
}

/// What waits for those that have fallen falls, too. Ends: none falls twice. All that are dropped
/// name the one that has failed.
void Releases::spread() {
    while (const std::optional<Fallen::One> one = dropped_.take_unspread()) {
        for (const TurnGraph::Edge& edge : graph_.behind(one->request)) {
            drop(graph_.beside(one->request, edge.child), one->failed);
        }
    }
    while (const std::optional<Fallen::One> one = cut_.take_unspread()) {
        for (const TurnGraph::Edge& edge : graph_.behind(one->request)) {
            const std::uint32_t child = graph_.beside(one->request, edge.child);
            if (turns_[child].state == TurnState::waiting) {
                cut(child);
            }
        }
    }
}

void Releases::stop() {
    for (std::uint32_t request = 0; request < turns_.size(); ++request) {
        if (turns_[request].state != TurnState::waiting) {
            continue;
        }
        if (is_used_again()) {
            cut(request);
        } else {
            drop(request, Fallen::none);
        }
    }
    spread();
}

}  // namespace driftless
