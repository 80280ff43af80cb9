#include "engine/replay/firing.hpp"

#include <algorithm>

#include "engine/host/probes.hpp"
#include "engine/plan/answer_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// What the entry of a fire can hold.
constexpr std::int64_t submit_ns_max = FiredInfo::not_taken - 1;

}  // namespace

FiredInfo Firing::prepare(Lane& lane, RowUnderway& row) {
    CHECK(row.taken && lane.state == LaneState::busy);
    FiredInfo info{};
    info.connect_ns = lane.connected.ns;
    info.held_ns = row.held_ns;
    info.inflight = lanes_.in_flight.count();
    info.target = lane.target;
    info.reused = lane.used;
    info.connection = lane.taken_as;
    if (marks_ != nullptr) {
        marks_->mark(mark_of(row.due.row, row.due.side));
        if (row.tries == 0) {
            marks_->count_request();
        }
    }
    const TraceRow& recorded = trace_.rows[row.due.row];
    lanes_.exchanges.prepare(
        lane, row,
        answer_limits(prompt_tokens_of(trace_, recorded), asked_tokens(row.due, recorded),
                      settings_.output, settings_.repeats_text),
        patience_of(row.due));
    return info;
}

// What is sent before the measurement makes it ready, and nobody gives it up.
std::optional<Duration> Firing::patience_of(const Due& due) const {
    if (due.phase == Phase::warmup) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> after_ns =
        abandoned_after_ns(settings_.abandon, {trace_.rows[due.row].index, due.pass, due.attempt});
    return after_ns ? std::optional(Duration{*after_ns}) : std::nullopt;
}

void Firing::let_go(Lane& lane, RowUnderway& row, Instant due, FiredInfo info) {
    const Instant at = loop_.driver().now();
    CHECK(at >= due);  // nothing leaves early
    const bool taken = loop_.driver().flush();
    const Instant after = loop_.driver().now();

    const bool first = row.tries == 0;
    lanes_.exchanges.fired(lane, first ? at : row.fired);
    if (first) {
        const TraceRow& said = trace_.rows[row.due.row];
        if (lanes_.parts.budgets.any()) {
            late_.note_take(at);
            lanes_.parts.budgets.take(said.input_length,
                                      schedule_.planned(row.due).expected_cached_tokens,
                                      asked_tokens(row.due, said), at);
        }
        schedule_.fired(row.due, row.due.due_ns + (at - due).ns);
        info.late_cause = late_.of(row, due, at - due);
        info.submit_ns = taken
                             ? static_cast<std::uint32_t>(std::min((after - at).ns, submit_ns_max))
                             : FiredInfo::not_taken;
        push_fired(lane, row, info);
        probe_fire(row.due.request, due.ns, at.ns);
        health_.note_fire((at - due).ns, (after - at).ns);
        ++rows_;
    }
    late_.note_fire(at, after);
}

void Firing::push_fired(const Lane& lane, const RowUnderway& row, const FiredInfo& info) {
    const EventRing::Push armed = ring_.push(Event::of_armed(row.due, row.armed.ns));
    Event event;
    event.request = row.due.request;
    event.lane = lane.number;
    event.kind = EventKind::fired;
    event.stamp_ns = row.fired.ns;
    event.fired = info;
    const EventRing::Push fired = ring_.push(event);
    CHECK(armed == EventRing::Push::whole);  // `has_room` was asked
    CHECK(fired == EventRing::Push::whole);
}

}  // namespace driftless
