// What only users do with their requests: trees that are entered inside their recordings, the
// stages of the warm-up, dues that move, barriers, and turns that are sent again.
#include <algorithm>

#include "engine/schedule/releases.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {

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
        CHECK(turn.parents > 0);
        if (--turn.parents == 0) {
            make_known(request);
        }
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
        PendingTurn& child = turns_[number];
        if (edge.trigger != Trigger::over || is_out(child)) {
            continue;
        }
        if (!turn.ever_left) {
            CHECK(child.unfired > 0);
            if (--child.unfired == 0 && child.state == TurnState::waiting) {
                want_armed(number);
            }
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

}  // namespace driftless
