// What our host has no room for and what the network loses, in virtual time: who is reported to be
// late by it, and who is not.

#include "engine/replay/between_fires.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/pacing.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

std::size_t count_of(const SimResult& result, LateCause cause) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [cause](const Record& record) { return record.late_cause == cause; }));
}

std::size_t tainted_by(const SimResult& result, std::string_view reason) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(), [reason](const Record& record) {
            return std::find(record.tainted.begin(), record.tainted.end(), reason) !=
                   record.tainted.end();
        }));
}

// The same rows are held back, by a cap that somebody asked for or by one that nobody did.
TEST(Limits, ACapNoRoomAndWhatWasLost) {
    SimOptions options{.seed = 5, .inflight_max = 3};
    const SimResult asked = run(make_trace(5, 100), options);
    options.capped_by_host = true;
    const SimResult lacking = run(make_trace(5, 100), options);
    EXPECT_EQ(broken_laws(asked), "");
    EXPECT_EQ(broken_laws(lacking), "");
    EXPECT_GT(count_of(asked, LateCause::inflight), 10u);
    EXPECT_EQ(count_of(asked, LateCause::limit), 0u);
    EXPECT_EQ(tainted_by(asked, taint_limit), 0u);
    EXPECT_EQ(count_of(lacking, LateCause::limit), count_of(asked, LateCause::inflight));
    EXPECT_EQ(count_of(lacking, LateCause::inflight), 0u);
    for (const Record& record : lacking.records) {
        EXPECT_EQ(record.late_cause == LateCause::limit, record.held_ns > 0);
        EXPECT_LE(record.held_ns, record.drift_ns.value_or(0));
    }
    // Bodies that the kernel does not take leave no room for those behind them.
    options = {.seed = 5, .weather = {.block_send = 0.5}};
    options.body_bytes = 192 << 10;  // more than the longest row needs
    EXPECT_GT(count_of(lawful(run(make_trace(5, 100), options)), LateCause::limit), 0u);
    // A request whose segment is lost comes late, and says so; one that is sent again though it had
    // arrived says so, too, and is as good as any.
    options = {.seed = 7, .weather = {.resend_in_vain = 0.3}};
    options.server.pace.first = milliseconds(300);  // the kernel has sent again before the end
    const SimResult in_vain = lawful(run(make_trace(7, 100), options));
    EXPECT_GT(in_vain.segments_resent, 10u);
    EXPECT_EQ(tainted_by(in_vain, taint_retransmitted), 0u);
    std::uint64_t reported = 0;
    for (const Record& record : in_vain.records) {
        reported += record.retransmits.value();
    }
    EXPECT_EQ(reported, in_vain.segments_resent);

    options.weather.lose_sent = 0.3;
    options.weather.resend_in_vain = 0;
    const SimResult lost = lawful(run(make_trace(7, 100), options));
    EXPECT_GT(tainted_by(lost, taint_retransmitted), 10u);
    EXPECT_LT(tainted_by(lost, taint_retransmitted), 100u);
}

// A pause in which an answer came behind its limit: a client that runs would have cut it off.
TEST(Limits, WhatAPauseOrALossHidesIsTainted) {
    SimOptions options{.seed = 7,
                       .weather = {.pause = 0.05},
                       .timeouts = {.idle = milliseconds(40), .total = milliseconds(60)}};
    const SimResult paused = lawful(run(make_trace(7, 400), options));
    const auto of = [&](Outcome outcome) {
        return std::count_if(
            paused.records.begin(), paused.records.end(), [&](const Record& record) {
                return record.outcome == outcome && has_taint(record, taint_end_unsure);
            });
    };
    EXPECT_GT(of(Outcome::ok), 0);
    EXPECT_EQ(of(Outcome::timeout_total), 0);
    // The kernel has not sent again yet when the row gives up: nobody knows that the server had it.
    options = {.seed = 7, .weather = {.lose_sent = 0.3}};
    options.timeouts.first_byte = milliseconds(100);
    const SimResult lost = lawful(run(make_trace(7, 100), options));
    std::uint64_t uncounted = 0;
    for (const Record& record : lost.records) {
        const bool tainted = !record.tainted.empty();
        uncounted += tainted && record.retransmits == 0u ? 1 : 0;
        EXPECT_TRUE(tainted || record.outcome != Outcome::timeout_first_byte) << record.row;
    }
    EXPECT_GT(uncounted, 10u);
    // Zero is known to be zero.
    const SimResult result = run(make_trace(9, 50), SimOptions{.seed = 9});
    for (const Record& record : result.records) {
        EXPECT_EQ(record.retransmits, 0u);
    }
    EXPECT_EQ(tainted_by(result, taint_retransmitted), 0u);
}

// Token budgets in virtual time: how long rows wait for them, in order, and what their records say.

std::vector<Record> by_fire(const SimResult& result) {
    std::vector<Record> records = result.records;
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
        return a.fired_ns != b.fired_ns ? a.fired_ns < b.fired_ns : a.row < b.row;
    });
    return records;
}

// All are due at once. The bucket lets the first ones go, each behind them waits for the tokens of
// those before it, and none overtakes another.
TEST(Budgets, LetRowsGoAsTheyRefill) {
    SimOptions options{.budgets = {.output = {40, milliseconds(100)}}};
    Trace trace = make_trace(5, 60);
    std::uint64_t tokens = 0;
    for (TraceRow& row : trace.rows) {
        row.at_ns = 0;
        tokens += row.output_length;
    }
    const SimResult result = lawful(run(trace, options));
    const std::vector<Record> records = by_fire(result);
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].row, i) << "none overtakes";
        const bool held = left > 40;
        EXPECT_EQ(records[i].late_cause == LateCause::budget, held) << i;
        if (held) {  // it is refilled from the first fire on
            const auto refilled_ns = static_cast<std::int64_t>((left - 40) * 2'500'000);
            EXPECT_EQ(records[i].held_ns, *records[0].fired_ns + refilled_ns + 1);
            EXPECT_LT(*records[i].drift_ns - records[i].held_ns, milliseconds(1).ns);
        }
        left += static_cast<std::uint64_t>(*records[i].output_length);
    }
    EXPECT_EQ(left, tokens);
    // Longer than the budget of any time: each leaves on what is there, and pays afterwards.
    options = {.budgets = {.input = {10, milliseconds(1)}}};
    const SimResult other_result = lawful(run(make_trace(5, 20), options));
    EXPECT_EQ(other_result.outcomes[static_cast<std::size_t>(Outcome::ok)], 20u);
}

// Rows that were due, and that a budget or the cap held until nothing more was sent, say so, and
// for how long; what was not due then was not held.
TEST(Budgets, SayWhatTheyNeverLetGo) {
    Trace trace = make_trace(5, 40);
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = i < 30 ? 0 : seconds(30).ns;
    }
    for (const LateCause cause : {LateCause::budget, LateCause::inflight}) {
        SimOptions options{
            .inflight_max = cause == LateCause::inflight ? 1U : 64U,
            .budgets = {.input = {cause == LateCause::budget ? 1U : 0U, seconds(3600)}},
            .stop_at_ns = milliseconds(20).ns};
        const SimResult result = lawful(run(trace, options));
        std::size_t held = 0;
        for (const Record& record : result.records) {
            if (record.fired_ns) {
                continue;
            }
            EXPECT_EQ(record.outcome, Outcome::not_sent);
            EXPECT_FALSE(record.error || record.receive_delay_ns);
            const bool was_due = record.due_ns == 0;
            EXPECT_EQ(record.late_cause, was_due ? cause : LateCause::none) << record.row;
            EXPECT_EQ(record.held_ns > 0, was_due);
            EXPECT_LE(record.held_ns, options.stop_at_ns + milliseconds(50).ns);
            held += was_due ? 1 : 0;
        }
        EXPECT_GT(held, 10U);
    }
}

// Half of the tokens are in the cache.
TEST(Budgets, MayCountBesideACapAndSayWhenTheyOpen) {
    SimOptions options{.budgets = {.input = {20'000, milliseconds(100)}}};
    const Trace trace = make_trace(8, 100);
    const std::int64_t all_ns = *by_fire(run(trace, options)).back().fired_ns;
    options.budgets.uncached = true;
    const SimResult uncached = lawful(run(trace, options));
    EXPECT_LT(*by_fire(uncached).back().fired_ns, all_ns);
    // Held by a full cap, then by a budget: for as long as either was closed, and named after the
    // last.
    options = {.inflight_max = 2};
    options.server.pace.first = milliseconds(10);
    options.budgets.output = {60, milliseconds(600)};
    const SimResult result = lawful(run(make_trace(6, 100), options));
    for (const LateCause cause : {LateCause::inflight, LateCause::budget}) {
        EXPECT_GT(std::count_if(result.records.begin(), result.records.end(),
                                [cause](const Record& one) { return one.late_cause == cause; }),
                  5)
            << name_of(cause);
    }
    for (const Record& record : result.records) {
        EXPECT_TRUE(record.tainted.empty()) << record.row;
    }
    // The loop sleeps until the tokens are there: nobody else would wake it.
    Pacing::Options other_options;
    other_options.settings.budgets.output = {1, milliseconds(10)};
    Pacing pacing(std::vector<SmallRow>(2), other_options);
    pacing.arm();
    pacing.open();
    pacing.open();
    pacing.begin(Duration{0});
    EXPECT_TRUE(pacing.step());
    EXPECT_FALSE(pacing.step());
    const Instant opens = pacing.pacer.next_due(pacing.driver.now());
    EXPECT_GT(opens, pacing.driver.now());
    EXPECT_LE(opens, pacing.driver.now() + milliseconds(20 * 10));
    pacing.pass(opens - pacing.driver.now());
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].fired.late_cause, LateCause::budget);
    EXPECT_EQ(events[1].fired.held_ns, (opens - pacing.zero).ns);
}

// Rows that have left: how many, when a place among them came free, and how each ended.

constexpr Instant at(std::int64_t ms) {
    return Instant{1'000'000'000} + milliseconds(ms);
}

struct Flying : ByHand {
    explicit Flying(std::uint32_t inflight_max = 2)
        : ByHand(std::vector<SmallRow>(6), options(inflight_max)) {
        arm();
    }
    static Options options(std::uint32_t inflight_max) {
        return Options{.settings = {.inflight_max = inflight_max}};
    }
    InFlight& rows = lanes.in_flight;
};

TEST(InFlight, CountsARowOnceUpToItsLimit) {
    Flying flying;
    RowUnderway& row = flying.leave();
    EXPECT_EQ(flying.rows.count(), 1u);
    row.enter(RowStage::again);
    row.tries = 1;
    row.enter(RowStage::waiting);
    row.enter(RowStage::in_flight);
    flying.rows.add(row);
    EXPECT_EQ(flying.rows.count(), 1u);
    flying.answer(row, at(1));
    EXPECT_EQ(flying.rows.count(), 0u);
    Flying other_flying;
    for (const bool full : {false, true}) {
        EXPECT_TRUE(other_flying.rows.has_room());
        (void)other_flying.leave();
        EXPECT_EQ(other_flying.rows.full(), full);
    }
    EXPECT_FALSE(other_flying.rows.has_room());
    // There is a place, but nowhere to say how the row ended.
    Flying filled;
    filled.fill_ring();
    EXPECT_FALSE(filled.rows.full() || filled.rows.has_room());
    (void)filled.drain();
    EXPECT_TRUE(filled.rows.has_room());
    // Two answers are read together, the later one first: a place was free since the earlier one.
    // When all were taken again, it counts anew.
    Flying third_flying;
    RowUnderway* first = &third_flying.leave();
    RowUnderway* second = &third_flying.leave();
    third_flying.answer(*second, at(8));
    EXPECT_EQ(third_flying.rows.freed(), at(8));
    third_flying.answer(*first, at(5));
    EXPECT_EQ(third_flying.rows.freed(), at(5));
    first = &third_flying.leave();
    second = &third_flying.leave();
    third_flying.answer(*first, at(20));
    EXPECT_EQ(third_flying.rows.freed(), at(20));
    third_flying.answer(*second, at(21));
    EXPECT_EQ(third_flying.rows.freed(), at(20));
}

// The schedule is told what the record is: when it ended, and whether with a whole answer.
TEST(InFlight, TellsTheScheduleHowARowEnded) {
    struct Case {
        Outcome outcome;
        std::uint16_t status;
        bool answered;
    };
    for (const Case& each : {Case{Outcome::ok, 200, true}, Case{Outcome::ok, 500, false},
                             Case{Outcome::truncated, 200, false}}) {
        Flying flying;
        RowUnderway& row = flying.leave();
        Event event;
        event.kind = EventKind::end;
        event.request = row.due.request;
        event.stamp_ns = at(3).ns;
        event.end.outcome = each.outcome;
        event.end.status = each.status;
        if (each.answered) {
            flying.rows.answered(row, at(3));
        }
        EXPECT_EQ(flying.rows.settling(), each.answered ? 1u : 0u);
        EXPECT_EQ(flying.rows.answered().first, each.answered ? &row : nullptr);
        flying.rows.end(row, event, at(2));
        EXPECT_EQ(flying.rows.settling(), 0u);
        EXPECT_TRUE(flying.rows.answered().empty());
        EXPECT_EQ(flying.rows.ended().pop_front(), &row);
        EXPECT_EQ(flying.rows.ended().pop_front(), nullptr);
        EXPECT_EQ(std::tuple(row.stage, row.ended, row.answered),
                  std::tuple(RowStage::ended, at(3), each.answered));
        EXPECT_EQ(flying.ends(), std::vector<Outcome>{each.outcome});
    }
}

// One that never left is introduced first, and takes no place; of one that has left the end is all.
TEST(InFlight, EndsRowsWithoutALaneAndSaysWhatWasSentAgain) {
    Flying flying;
    RowUnderway& unsent = flying.take();
    flying.armer.give_back(unsent);
    flying.rows.end_without_lane(unsent, Outcome::not_sent);
    std::vector<Event> events = flying.drain();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(std::tuple(events[0].kind, events[0].stamp_ns, events[0].request),
              std::tuple(EventKind::armed, Event::never_armed, unsent.due.request));
    EXPECT_EQ(events[1].end.outcome, Outcome::not_sent);
    EXPECT_EQ(events[1].end.stale_retries, 0u);

    RowUnderway& retry = flying.leave();
    retry.tries = 1;
    flying.rows.end_without_lane(retry, Outcome::connect_failed, 111);
    events = flying.drain();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(std::tuple(events[0].request, events[0].end.outcome, events[0].end.sys_errno),
              std::tuple(retry.due.request, Outcome::connect_failed, 111));
    EXPECT_EQ(events[0].end.stale_retries, 1u);
    EXPECT_EQ(events[0].waited_ns, Event::no_wait);
    EXPECT_EQ(std::tuple(flying.rows.count(), flying.rows.ended().count), std::tuple(0u, 2u));
    // At most 65,534 segments fit; the number above says that nobody knows.
    RowUnderway row;
    EXPECT_EQ(end_info(row, Outcome::ok, 0).retransmits, retransmits_unknown);
    row.resends.known = true;
    row.resends.lost = true;
    EXPECT_TRUE(end_info(row, Outcome::ok, 0).request_lost);
    for (const auto& [segments, said] :
         {std::pair{0u, 0u}, {65'533u, 65'533u}, {65'534u, 65'534u}, {65'535u, 65'534u}}) {
        row.resends.segments = segments;
        EXPECT_EQ(end_info(row, Outcome::ok, 0).retransmits, said);
    }
}

// Between two rows: the guard and the margin follow the host, sleeps end in time, and one byte
// warms the path for a row that comes alone.

constexpr Instant start{2'000'000'000};

struct Idle {
    explicit Idle(const ReplaySettings& with = {}) : settings(with) {}

    /// The guard before so many instants, after slices of this length.
    Duration guard(Duration slice, std::int64_t instants) {
        idling.note_slice(slice);
        idling.set_guard(instants);
        return idling.guard();
    }
    /// Wakes have been so late for a long time.
    void wake_late(Duration late, int times = 1024) {
        for (int i = 0; i < times; ++i) {
            woke = woke + milliseconds(10);
            idling.note_wake(woke - late, woke);
        }
    }

    const ReplaySettings settings;
    SimDriver driver{1, Weather{}, mock::CoreOptions{}};
    Idling idling{driver, settings};
    Instant woke = start;
};

ReplaySettings waiting(WaitPolicy wait, bool warm_sends = false) {
    return {.wait = wait, .warm_sends = warm_sends};
}

// A fifth more than the longest of the last 64 slices, between 20 and 150 us.
TEST(Idling, TheGuardIsAsLongAsASliceMayTake) {
    Idle idle;
    EXPECT_EQ(idle.idling.guard(), guard_min);
    EXPECT_EQ(idle.guard(microseconds(10), 1), guard_min);
    EXPECT_EQ(idle.guard(microseconds(100), 1), microseconds(120));
    EXPECT_EQ(idle.guard(microseconds(10), 1), microseconds(120)) << "it happened just now";
    EXPECT_EQ(idle.guard(microseconds(900), 1), microseconds(150));
    for (int i = 0; i < 64; ++i) {
        idle.idling.note_slice(microseconds(10));
    }
    EXPECT_EQ(idle.guard(microseconds(10), 1), guard_min);
    // Rows that follow each other closely leave a fifth of the time to their guards: of 1 ms.
    Idle other_idle;
    EXPECT_EQ(other_idle.guard(microseconds(100), 0), microseconds(120));
    EXPECT_EQ(other_idle.guard(microseconds(100), 2), microseconds(100));
    EXPECT_EQ(other_idle.guard(microseconds(100), 20), microseconds(10));
    EXPECT_EQ(other_idle.guard(microseconds(100), 1000), microseconds(5))
        << "and never less than this";
    ReplaySettings settings{.guard = false};
    Idle unguarded(settings);
    EXPECT_EQ(unguarded.guard(microseconds(100), 1), Duration{0});
}

// A fifth more than wakes are late, between 50 and 300 us: up at once, down after 1,024 wakes.
TEST(Idling, TheMarginIsAsLongAsAWakeMayBeLate) {
    Idle idle;
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(100), 1023);
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(100), 1);
    EXPECT_EQ(idle.idling.margin(), microseconds(120));
    idle.wake_late(microseconds(200), 1);
    EXPECT_EQ(idle.idling.margin(), microseconds(240));
    idle.wake_late(milliseconds(5), 1);
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(1));
    EXPECT_EQ(idle.idling.margin(), microseconds(50));
    // Many short sleeps in a row are one observation.
    Idle other_idle;
    other_idle.wake_late(microseconds(100));
    const Instant soon = other_idle.woke + milliseconds(10) - Duration{1};
    other_idle.idling.note_wake(soon - microseconds(200), soon);
    EXPECT_EQ(other_idle.idling.margin(), microseconds(120));
    other_idle.idling.note_wake(soon - microseconds(200), soon + Duration{1});
    EXPECT_EQ(other_idle.idling.margin().ns, 200'001 * 6 / 5);
}

// The sleep ends the margin before the row, at the next timer or after the nap, whichever is first.
TEST(Idling, SleepsOrSpinsUntilTheFirst) {
    Idle idle;
    const Instant now = idle.driver.now();
    const Instant due = now + milliseconds(10);
    const Idling::Pause to_due = idle.idling.wait(now, due, never, seconds(1));
    EXPECT_TRUE(to_due.slept);
    EXPECT_FALSE(to_due.spun);
    EXPECT_EQ(to_due.until, due - margin_max);
    EXPECT_GE(idle.driver.now(), due - margin_max);
    EXPECT_LT(idle.driver.now(), due);

    const Instant later = idle.driver.now();
    const Instant far = later + seconds(1);
    EXPECT_EQ(idle.idling.wait(later, far, later + milliseconds(2), seconds(1)).until,
              later + milliseconds(2));
    const Instant last = idle.driver.now();
    EXPECT_EQ(idle.idling.wait(last, far, never, milliseconds(3)).until, last + milliseconds(3));
    // A sleep of no more than 20 us is not worth it.
    for (const Duration beyond : {Duration{0}, Duration{1}}) {
        Idle other_idle;
        const Instant other_now = other_idle.driver.now();
        const Instant other_due = other_now + margin_max + guard_min + beyond;
        EXPECT_EQ(other_idle.idling.wait(other_now, other_due, never, seconds(1)).spun,
                  beyond.ns == 0);
    }
    Idle other_idle(waiting(WaitPolicy::spin));
    const Instant other_now = other_idle.driver.now();
    EXPECT_TRUE(other_idle.idling.wait(other_now, other_now + seconds(1), never, seconds(1)).spun);
    EXPECT_LT(other_idle.driver.now(), other_now + microseconds(10));
    Idle sleeps(waiting(WaitPolicy::sleep));
    const Instant other_later = sleeps.driver.now();
    const Instant other_due = other_later + milliseconds(1);
    EXPECT_EQ(sleeps.idling.wait(other_later, other_due, never, seconds(1)).until, other_due);
}

// Between 100 us and what a send may take before the row, and never twice for one.
TEST(Idling, WarmsThePathOnceForARowThatComesAlone) {
    Idle idle(waiting(WaitPolicy::hybrid, true));
    const Instant due = start + seconds(1);
    const Duration latest = guard_min + microseconds(40);
    EXPECT_FALSE(idle.idling.warm_send(due - microseconds(100) - Duration{1}, due, start));
    EXPECT_FALSE(idle.idling.warm_send(due - latest + Duration{1}, due, start));
    EXPECT_EQ(idle.driver.warm_sends(), 0u);
    EXPECT_TRUE(idle.idling.warm_send(due - latest, due, start));
    EXPECT_FALSE(idle.idling.warm_send(due - latest, due, start));
    EXPECT_EQ(idle.driver.warm_sends(), 1u);
    const Instant next = due + seconds(1);
    EXPECT_TRUE(idle.idling.warm_send(next - microseconds(100), next, start));
    EXPECT_EQ(idle.driver.warm_sends(), 2u);
    Idle other_idle(waiting(WaitPolicy::hybrid, true));
    const Instant now = due - microseconds(80);
    EXPECT_FALSE(other_idle.idling.warm_send(now, due, now - milliseconds(1) + Duration{1}));
    EXPECT_FALSE(other_idle.idling.warm_send(now, never, start));
    EXPECT_TRUE(other_idle.idling.warm_send(now, due, now - milliseconds(1)));
    Idle cold;
    EXPECT_FALSE(cold.idling.warm_send(now, due, start)) << "nobody asked for it";
}

}  // namespace
}  // namespace driftless::sim
