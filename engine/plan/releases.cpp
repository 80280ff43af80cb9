#include "engine/plan/releases.hpp"

#include <algorithm>

#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// Of 50,000 requests a second: as many as were wanted behind one with a gap may be armed before it.
static constexpr std::int64_t wanted_apart_ns = 20'000;

static bool goes_later(const DueHeap::Entry& a, const DueHeap::Entry& b) {
    return a.due_ns != b.due_ns ? a.due_ns > b.due_ns : a.request > b.request;
}

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

void PendingTurn::move_due(std::int64_t at_ns, std::int64_t delay_ns) {
    due_ns = std::max(due_ns, later(at_ns, delay_ns));
    parent_end_ns = std::max(parent_end_ns, at_ns);
}

Releases::Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier,
                   const LiveTurns* live)
    : graph_(trace, plan, speed, 1, live), turns_(plan.rows.size()) {
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
                   const UserRules& rules, const LiveTurns* live)
    : graph_(trace, plan, speed, copies, live),
      is_used_again_(true),
      one_token_primers_(rules.start.prime_one_token) {
    for (const Planned& planned : plan.rows) {
        recorded_ns_.push_back(planned.due_ns);
    }
    PendingTurn asleep;
    asleep.state = TurnState::asleep;
    turns_.assign(std::size_t{copies} * plan.rows.size(), asleep);
    reserve(3);  // those of the pass before, and dues that have moved, may still be in the heaps
    if (rules.start.warms_up()) {
        warm_up_ = WarmUp(rules.users, rules.start.warmup_requests, turns_.size());
    }
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
    known_.reserve(count_ * uses);
    for (DueHeap& heap : ahead_) {
        heap.reserve(count_ * uses);
    }
    dropped_.reserve(count_);
    cut_.reserve(is_used_again_ ? count_ : 0);
}

void Releases::renew(std::span<const std::uint32_t> positions, std::uint32_t copy,
                     std::uint32_t pass, std::uint32_t user) {
    CHECK(is_used_again_ && copy < graph_.copies());
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * graph_.rows() + position;
        CHECK(turns_[request].state != TurnState::waiting &&
              turns_[request].state != TurnState::known);
        forget_words(request);
        PendingTurn turn;
        turn.parents = graph_.parents_of(position);
        turn.unfired = graph_.parents_of(position);
        turn.pass = pass;
        turn.user = user;
        turn.state = TurnState::waiting;
        turns_[request] = turn;
        if (turn.unfired == 0) {
            want_armed(request, recorded_ns_[position] - recorded_ns_[positions.front()]);
        }
    }
}

void Releases::begin(std::span<const std::uint32_t> positions, std::uint32_t copy,
                     std::int64_t at_ns, bool pauses) {
    const std::int64_t first_ns = recorded_ns_[positions.front()];
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * graph_.rows() + position;
        if (graph_.begins_with_tree(position)) {
            PendingTurn& turn = turns_[request];
            CHECK(turn.state == TurnState::waiting);
            const std::int64_t behind_ns = turn.warms_up ? 0 : recorded_ns_[position] - first_ns;
            const bool is_held = !warm_up_.is_over() && !turn.warms_up && turn.parents == 0;
            turn.due_ns = is_held ? behind_ns : later(at_ns, behind_ns);
            turn.pauses = pauses;
            if (turn.parents == 0) {
                make_known(request);
            }
        }
    }
    spread(at_ns);
}

void Releases::take(std::uint32_t request) {
    CHECK(!known_.empty() && known_.top().request == request);
    CHECK(turns_[request].state == TurnState::known && turns_[request].parents == 0);
    known_.pop();
    turns_[request].state = TurnState::taken;
}

/// That is its due, and it waits for nothing else.
bool Releases::is_known(const DueHeap::Entry& entry) const {
    const PendingTurn& turn = turns_[entry.request];
    return turn.state == TurnState::known && turn.pass == entry.pass && turn.due_ns == entry.due_ns;
}

/// Nothing is to be prepared for it any more, or not for that due.
bool Releases::is_stale(Lookahead reader, const DueHeap::Entry& entry) const {
    const PendingTurn& turn = turns_[entry.request];
    const bool is_wanted =
        reader == Lookahead::arming
            ? turn.pass == entry.pass && !is_hidden(turn) &&
                  (turn.state == TurnState::waiting || turn.state == TurnState::known)
            : is_known(entry) && !is_hidden(turn);
    return !is_wanted || turn.has_passed(reader);
}

const DueHeap::Entry* Releases::peek() {
    while (!known_.empty() && !is_known(known_.top())) {
        known_.pop();
    }
    return known_.empty() || known_.top().due_ns >= end_ns_ ? nullptr : &known_.top();
}

/// Bounded: of those that are not stale there is one of each request.
void Releases::push(Lookahead reader, std::int64_t order, std::uint32_t request) {
    DueHeap& heap = ahead_[static_cast<std::size_t>(reader)];
    if (heap.full()) {
        heap.remove_if([&](const DueHeap::Entry& entry) {
            const bool stale = is_stale(reader, entry);
            if (stale) {
                forget(reader, entry);
            }
            return stale;
        });
    }
    heap.push({order, request, turns_[request].pass});
}

/// An entry leaves the heap.
void Releases::forget(Lookahead reader, const DueHeap::Entry& entry) {
    PendingTurn& turn = turns_[entry.request];
    if (reader == Lookahead::arming && turn.pass == entry.pass) {
        turn.is_to_arm = false;
    }
}

std::optional<DueHeap::Entry> Releases::within(Lookahead reader, std::int64_t horizon_ns) {
    DueHeap& heap = ahead_[static_cast<std::size_t>(reader)];
    while (!heap.empty() && is_stale(reader, heap.top())) {
        forget(reader, heap.top());
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
        forget(reader, heap.top());
        heap.pop();
    }
    turns_[request].passed |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(reader));
}

void Releases::go_back(Lookahead reader, std::uint32_t request) {
    CHECK(turns_[request].state == TurnState::known && turns_[request].has_passed(reader));
    turns_[request].passed &= static_cast<std::uint8_t>(~(1U << static_cast<unsigned>(reader)));
    push(reader, turns_[request].due_ns, request);
}

/// A parent has done what the child waits for. Behind a primer only the measurement says when.
void Releases::meet(std::uint32_t child, const TurnGraph::Edge& edge, bool by_primer,
                    std::int64_t at_ns) {
    PendingTurn& turn = turns_[child];
    if (turn.state == TurnState::dropped) {
        return;
    }
    CHECK(turn.state == TurnState::waiting);
    if (by_primer) {
        turn.parent_end_ns = std::max(turn.parent_end_ns, at_ns);
    } else {
        turn.move_due(at_ns, turn.warms_up ? 0 : edge.delay_ns);
    }
    lose_parent(child);
}

/// One less that it waits for.
void Releases::lose_parent(std::uint32_t request) {
    PendingTurn& turn = turns_[request];
    CHECK(turn.parents > 0);
    if (--turn.parents == 0) {
        make_known(request);
    }
}

/// One less that has not left.
void Releases::lose_unfired(std::uint32_t request, std::int64_t gap_ns) {
    PendingTurn& turn = turns_[request];
    CHECK(turn.unfired > 0);
    if (--turn.unfired == 0 && turn.state == TurnState::waiting) {
        want_armed(request, gap_ns);
    }
}

void Releases::want_armed(std::uint32_t request, std::int64_t gap_ns) {
    PendingTurn& turn = turns_[request];
    // What starts with a stage that has begun waits for the next one, but for what others of that
    // stage have held so long.
    const bool is_late = turn.starts && warm_up_.stage() != WarmUp::Stage::priming;
    const bool may_warm_up = !is_late || graph_.is_barred(request);
    if (!turn.warms_up && may_warm_up && warm_up_.take(turn.user)) {
        turn.warms_up = turn.one_token = true;
        turn.starts = turn.starts && !is_late;
        turn.parents -= is_late ? 1 : 0;
        // By the ends so far alone: there are no gaps.
        turn.due_ns = turn.parent_end_ns == Due::no_parent ? 0 : turn.parent_end_ns;
    }
    if (!turn.is_to_arm) {  // one that is sent again, or was hidden, may still be there
        turn.is_to_arm = true;
        const std::int64_t behind = turn.warms_up ? 0 : gap_ns / wanted_apart_ns;
        push(Lookahead::arming, wanted_++ + behind, request);
    }
}

void Releases::make_known(std::uint32_t request) {
    PendingTurn& turn = turns_[request];
    CHECK(turn.state == TurnState::waiting && turn.parents == 0 && turn.unfired == 0);
    if (!warm_up_.is_over() && !turn.warms_up) {
        turn.due_ns -= turn.parent_end_ns == Due::no_parent ? 0 : turn.parent_end_ns;
        warm_up_.hold({request, turn.pass});
        return;
    }
    turn.state = TurnState::known;
    tell_due(request);
}

void Releases::tell_due(std::uint32_t request) {
    const PendingTurn& turn = turns_[request];
    if (known_.full()) {
        known_.remove_if([this](const DueHeap::Entry& entry) { return !is_known(entry); });
    }
    known_.push({turn.due_ns, request, turn.pass});
    tell_readers(request);
}

void Releases::tell_readers(std::uint32_t request) {
    const PendingTurn& turn = turns_[request];
    for (const Lookahead reader :
         {Lookahead::binding, Lookahead::connecting, Lookahead::guarding}) {
        if (!turn.has_passed(reader)) {
            push(reader, turn.due_ns, request);
        }
    }
}

void Releases::cut(std::uint32_t request) {
    CHECK(is_used_again_);
    CHECK(turns_[request].state == TurnState::waiting || is_hidden(turns_[request]));
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
    PendingTurn& turn = turns_[request];
    CHECK(!turn.left);
    turn.left = true;
    if (turn.ever_left) {
        return;  // those that wait for that know it
    }
    turn.ever_left = true;
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t number = graph_.beside(request, edge.child);
        if (is_out(turns_[number]) || edge.words) {
            continue;
        }
        lose_unfired(number, edge.delay_ns);
        if (edge.trigger == Trigger::dispatch) {
            meet(number, edge, turn.primes, at_ns);
        }
    }
    spread(at_ns);
}

void Releases::ended(std::uint32_t request, std::int64_t at_ns, bool goes_on) {
    PendingTurn& turn = turns_[request];
    if (turn.warms_up) {
        warm_up_.note_end(turn.primes);
    }
    if (goes_on && !turn.ever_left) {
        fired(request, at_ns);  // those behind it wait for that, too
    }
    if (turn.state != TurnState::dropped) {  // else it was over when it was dropped
        let_go(request, at_ns);
    }
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t child = graph_.beside(request, edge.child);
        const bool by_end = edge.trigger == Trigger::completion;
        if (is_out(turns_[child]) || edge.trigger == Trigger::over) {
            continue;
        }
        if (by_end ? !goes_on : !turn.ever_left) {
            drop(child, request);
        } else if (edge.words) {
            awaited_ += turn.awaits ? 0 : 1;
            turn.awaits = true;
        } else if (by_end) {
            meet(child, edge, turn.primes, at_ns);
        }
    }
    spread(at_ns);
}

void Releases::drop(std::uint32_t request, std::uint32_t failed) {
    PendingTurn& turn = turns_[request];
    if (turn.state != TurnState::dropped && !is_out(turn)) {
        CHECK(turn.state == TurnState::waiting);
        turn.state = TurnState::dropped;
        dropped_.add({request, failed});
    }
}

/// What waits for those that have fallen falls, too. Ends: none falls twice. All that are dropped
/// name the one that has failed, at whose end they are over.
void Releases::spread(std::int64_t at_ns) {
    while (const std::optional<Fallen::One> one = dropped_.take_unspread()) {
        for (const TurnGraph::Edge& edge : graph_.behind(one->request)) {
            if (edge.trigger != Trigger::over) {
                drop(graph_.beside(one->request, edge.child), one->failed);
            }
        }
        let_go(one->request, at_ns);
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
        if (turns_[request].state != TurnState::waiting && !is_hidden(turns_[request])) {
            continue;
        }
        if (is_used_again_) {
            cut(request);
        } else {
            drop(request, Fallen::none);
        }
    }
    spread(0);  // all that waited has fallen
}

// What only users do with their requests: trees that are entered inside their recordings, the
// stages of the warm-up, dues that move, barriers, and turns that are sent again.

void Releases::enter(const StartPoint& point, const DrawnTree& tree, std::uint32_t user,
                     std::int64_t place_ns) {
    CHECK(is_used_again_ && warm_up_.stage() == WarmUp::Stage::priming);
    for (const EnteredRow& row : point.rows) {
        const std::uint32_t request = tree.copy * graph_.rows() + row.position;
        CHECK(turns_[request].state == TurnState::asleep);
        PendingTurn turn;
        turn.pass = tree.pass;
        turn.user = user;
        turn.state = TurnState::waiting;
        turn.parents = row.parents + (row.starts ? 1 : 0);
        turn.unfired = row.parents;
        turn.starts = row.starts;
        turn.primes = turn.warms_up = row.primes;
        turn.one_token = row.primes && one_token_primers_;
        turns_[request] = turn;
        if (row.starts) {
            starting_.emplace_back(request, row.distance_ns);
        }
        if (row.primes) {
            CHECK(row.parents == 0 && !row.starts && place_ns >= row.distance_ns);
            warm_up_.add_primer();
            turns_[request].due_ns = place_ns - row.distance_ns;
        }
        if (row.parents == 0) {
            want_armed(request);
        }
        if (row.primes) {
            make_known(request);
        }
    }
}

void Releases::give(std::span<const std::uint32_t> positions, std::uint32_t copy,
                    std::uint32_t user) {
    for (const std::uint32_t position : positions) {
        turns_[copy * graph_.rows() + position].user = user;
    }
}

void Releases::end_stage(std::int64_t at_ns) {
    warm_up_.go_on();
    start(at_ns);
    if (warm_up_.is_over()) {
        release_held(at_ns);
    }
}

/// Of rows behind the places at which trees were entered: what warms up, at once; then the others.
void Releases::start(std::int64_t at_ns) {
    std::erase_if(starting_, [this, at_ns](const auto& one) {
        const auto [request, behind_ns] = one;
        PendingTurn& turn = turns_[request];
        if (turn.state != TurnState::waiting || !turn.starts) {
            return true;  // its primer has failed
        }
        if (!turn.warms_up && !warm_up_.is_over()) {
            return false;
        }
        turn.starts = false;
        turn.due_ns = std::max(turn.due_ns, later(at_ns, turn.warms_up ? 0 : behind_ns));
        lose_parent(request);
        return true;
    });
}

void Releases::release_held(std::int64_t at_ns) {
    for (const WarmUp::Held& held : warm_up_.take_held()) {
        PendingTurn& turn = turns_[held.request];
        if (turn.state == TurnState::waiting && turn.pass == held.pass) {
            turn.due_ns = later(at_ns, turn.due_ns);
            make_known(held.request);
        }
    }
}

/// It is over, whatever became of it: so much those waited for that did not need more.
void Releases::let_go(std::uint32_t request, std::int64_t at_ns) {
    const PendingTurn& turn = turns_[request];
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t number = graph_.beside(request, edge.child);
        if (edge.trigger != Trigger::over || is_out(turns_[number])) {
            continue;
        }
        if (!turn.ever_left) {
            lose_unfired(number);
        }
        meet(number, edge, turn.primes, at_ns);
    }
}

void Releases::send_again(std::uint32_t request, std::int64_t due_ns) {
    PendingTurn& turn = turns_[request];
    CHECK(turn.state == TurnState::taken && turn.parents == 0);
    ++turn.attempt;
    turn.left = false;
    turn.passed = 0;
    turn.due_ns = due_ns;
    turn.pauses = true;
    turn.state = TurnState::waiting;
    want_armed(request);
    make_known(request);
}

std::optional<std::int64_t> Releases::first_known(std::span<const std::uint32_t> positions,
                                                  std::uint32_t copy,
                                                  std::int64_t latest_ns) const {
    std::optional<std::int64_t> first_ns;
    for (const std::uint32_t position : positions) {
        const PendingTurn& turn = turns_[copy * graph_.rows() + position];
        if (ends_pause(turn, latest_ns)) {
            return std::nullopt;
        }
        if (may_move(turn)) {
            first_ns = std::min(first_ns.value_or(turn.due_ns), turn.due_ns);
        }
    }
    return first_ns;
}

/// Those who look ahead see it once more with its new due. Whoever has passed it keeps it.
void Releases::move_left(std::uint32_t request, std::int64_t by_ns) {
    PendingTurn& turn = turns_[request];
    CHECK(may_move(turn));
    const bool was_hidden = is_hidden(turn);
    turn.due_ns -= by_ns;
    if (was_hidden && !is_hidden(turn) && !turn.has_passed(Lookahead::arming)) {
        want_armed(request);
    }
}

void Releases::move_left(std::span<const std::uint32_t> positions, std::uint32_t copy,
                         std::int64_t by_ns) {
    for (const std::uint32_t position : positions) {
        const std::uint32_t request = copy * graph_.rows() + position;
        if (may_move(turns_[request])) {
            move_left(request, by_ns);
            tell_due(request);
        }
    }
}

std::int64_t Releases::move_all_left(std::int64_t latest_ns) {
    known_.remove_if([this](const DueHeap::Entry& entry) { return !is_known(entry); });
    std::int64_t first_ns = INT64_MAX;
    for (const DueHeap::Entry& entry : known_.entries()) {
        if (ends_pause(turns_[entry.request], latest_ns)) {
            return 0;
        }
        first_ns = may_move(turns_[entry.request]) ? std::min(first_ns, entry.due_ns) : first_ns;
    }
    if (first_ns == INT64_MAX || first_ns <= latest_ns) {
        return 0;
    }
    const std::int64_t by_ns = first_ns - latest_ns;
    known_.change([this, by_ns](DueHeap::Entry& entry) {
        if (may_move(turns_[entry.request])) {
            entry.due_ns -= by_ns;
            move_left(entry.request, by_ns);
            tell_readers(entry.request);
        }
    });
    return by_ns;
}

// Turns that wait for the words of an answer, which come later than its end (`--assistant live`).

bool Releases::replied(std::uint32_t request, std::int64_t at_ns, bool goes_on) {
    if (!turns_[request].awaits) {
        return false;
    }
    forget_words(request);
    for (const TurnGraph::Edge& edge : graph_.behind(request)) {
        const std::uint32_t number = graph_.beside(request, edge.child);
        if (!edge.words || turns_[number].state != TurnState::waiting) {  // it has fallen meanwhile
            continue;
        }
        if (!goes_on) {
            drop(number, request);
            continue;
        }
        lose_unfired(number);
        lose_parent(number);
    }
    spread(at_ns);
    return true;
}

void Releases::forget_words(std::uint32_t request) {
    awaited_ -= turns_[request].awaits ? 1 : 0;
    turns_[request].awaits = false;
}

}  // namespace driftless
