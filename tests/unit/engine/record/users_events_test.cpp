// What users add to a request comes through the ring and into its record: phase, attempt, one
// token, and whether it was cut off because the time was over.
#include <gtest/gtest.h>

#include <string>

#include "engine/record/ring.hpp"
#include "tests/unit/engine/record/script.hpp"

namespace driftless {
namespace {

Due due_of_user(Phase phase, unsigned attempt, bool one_token) {
    Due due;
    due.due_ns = 700;
    due.request = 5;
    due.row = 1;
    due.rank = 2;
    due.parent_end_ns = 600;
    due.pass = 3;
    due.user = 9;
    due.phase = phase;
    due.attempt = static_cast<std::uint8_t>(attempt);
    due.one_token = one_token;
    due.side = attempt % 2 == 0 ? Side::b : Side::none;  // no run has both users and sides
    return due;
}

void expect_same(const Due& got, const Due& wanted) {
    EXPECT_EQ(got.due_ns, wanted.due_ns);
    EXPECT_EQ(got.request, wanted.request);
    EXPECT_EQ(got.row, wanted.row);
    EXPECT_EQ(got.rank, wanted.rank);
    EXPECT_EQ(got.failed_row, wanted.failed_row);
    EXPECT_EQ(got.parent_end_ns, wanted.parent_end_ns);
    EXPECT_EQ(got.pass, wanted.pass);
    EXPECT_EQ(got.user, wanted.user);
    EXPECT_EQ(got.phase, wanted.phase);
    EXPECT_EQ(got.attempt, wanted.attempt);
    EXPECT_EQ(got.one_token, wanted.one_token);
    EXPECT_EQ(got.side, wanted.side);
}

// Every phase, with every attempt that there may be, with and without one token alone.
template <class Use>
void for_each_due(Use use) {
    for (unsigned phase = 0; phase < phase_count; ++phase) {
        for (unsigned attempt = 0; attempt <= Due::attempts_max; ++attempt) {
            use(due_of_user(static_cast<Phase>(phase), attempt, false));
            use(due_of_user(static_cast<Phase>(phase), attempt, true));
        }
    }
}

TEST(UsersEvents, ComeThroughTheRing) {
    EventRing ring(1, 4);
    for_each_due([&ring](const Due& due) {
        ASSERT_EQ(ring.push(Event::of_armed(due, 650)), EventRing::Push::whole);
        ASSERT_NE(ring.front(), nullptr);
        EXPECT_EQ(ring.front()->kind, EventKind::armed);
        EXPECT_EQ(ring.front()->stamp_ns, 650);
        expect_same(ring.front()->armed_due(), due);
        ring.pop();
    });
}

Event cut_off(std::uint32_t request) {
    Event end;
    end.kind = EventKind::end;
    end.request = request;
    end.end = {};
    end.end.outcome = Outcome::cancelled;
    end.flags = event_censored;
    return end;
}

// A ring that drops payloads and entries marks others with flags: these keep theirs, and no more.
TEST(UsersEvents, ComeThroughAFullRing) {
    constexpr std::uint32_t rows = 16;
    EventRing ring(1, rows);
    Event chunk;
    chunk.kind = EventKind::chunk;
    while (ring.push(chunk, "abc") != EventRing::Push::entry_dropped) {
    }
    const auto due_of_row = [](std::uint32_t row) {
        Due due = due_of_user(static_cast<Phase>(row % phase_count), row % 32, row % 2 == 0);
        due.request = row;
        return due;
    };
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(Event::of_armed(due_of_row(row), 1)), EventRing::Push::whole);
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = row;
        ASSERT_EQ(ring.push(fired), EventRing::Push::whole);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(cut_off(row)), EventRing::Push::whole);
    }
    std::uint32_t armed = 0;
    std::uint32_t ends = 0;
    for (; ring.front() != nullptr; ring.pop()) {
        const Event& event = *ring.front();
        if (event.kind == EventKind::armed) {
            expect_same(event.armed_due(), due_of_row(armed++));
        } else if (event.kind == EventKind::end) {
            EXPECT_EQ(event.flags, event_censored);
            ++ends;
        }
    }
    EXPECT_EQ(armed, rows);
    EXPECT_EQ(ends, rows);
}

// Users play the two rows of the trace, in so many copies.
AssemblerConfig config_of_users(const ScriptTrace& input) {
    AssemblerConfig config = input.config();
    config.requests_end = 8;
    return config;
}

// One request through the assembler; its copy of the record.
Record record_of(const Due& due, const Event& end) {
    ScriptTrace input(2);
    Assembler assembler(config_of_users(input));
    assembler.begin({script_zero_ns});
    EXPECT_EQ(assembler.consume(Event::of_armed(due, script_zero_ns + 650), {}), nullptr);
    if (end.end.outcome != Outcome::not_sent) {
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = due.request;
        fired.stamp_ns = script_zero_ns + 700;
        EXPECT_EQ(assembler.consume(fired, {}), nullptr);
    }
    const Record* const record = assembler.consume(end, {});
    EXPECT_NE(record, nullptr);
    return record == nullptr ? Record{} : *record;
}

Event end_of(std::uint32_t request, Outcome outcome, std::uint8_t flags) {
    Event end = cut_off(request);
    end.stamp_ns = script_zero_ns + 900;
    end.end.outcome = outcome;
    end.flags = flags;
    return end;
}

TEST(UsersEvents, AreInTheRecord) {
    for_each_due([](const Due& due) {
        const Record record = record_of(due, end_of(due.request, Outcome::timeout_first_byte, 0));
        EXPECT_EQ(record.row, 1u);
        EXPECT_EQ(record.phase, due.phase);
        EXPECT_EQ(record.attempt, due.attempt);
        EXPECT_EQ(record.pass, 3u);
        EXPECT_EQ(record.user, 9u);
        EXPECT_EQ(record.parent_end_ns, 600);
        EXPECT_EQ(record.output_length, due.one_token ? 1u : 4u);
        EXPECT_FALSE(record.censored);
    });
}

// It had left, and the time was over; what was not sent had nothing to be cut off.
TEST(UsersEvents, TellWhatWasCutOff) {
    const Due due = due_of_user(Phase::profile, 0, false);
    const Record cut = record_of(due, end_of(due.request, Outcome::cancelled, event_censored));
    EXPECT_TRUE(cut.censored);
    EXPECT_EQ(cut.outcome, Outcome::cancelled);
    EXPECT_EQ(cut.ended_ns, 900);
    EXPECT_FALSE(record_of(due, end_of(due.request, Outcome::cancelled, 0)).censored);
    EXPECT_FALSE(
        record_of(due, end_of(due.request, Outcome::cancelled,
                              event_payload_dropped | event_coalesced | event_entries_dropped |
                                  event_keep_alive | event_unfinished))
            .censored);
    const Record unsent = record_of(due, end_of(due.request, Outcome::not_sent, event_censored));
    EXPECT_FALSE(unsent.censored);
    EXPECT_EQ(unsent.ended_ns, std::nullopt);
}

// The next attempt of a request is a request of its own, by the same number.
TEST(UsersEvents, OfOneRequestSentTwice) {
    ScriptTrace input(2);
    Assembler assembler(config_of_users(input));
    assembler.begin({script_zero_ns});
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
        const Due due = due_of_user(Phase::profile, attempt, false);
        EXPECT_EQ(assembler.consume(Event::of_armed(due, script_zero_ns + 650), {}), nullptr);
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = due.request;
        fired.stamp_ns = script_zero_ns + 700;
        EXPECT_EQ(assembler.consume(fired, {}), nullptr);
        const Record* const record =
            assembler.consume(end_of(due.request, Outcome::truncated, 0), {});
        ASSERT_NE(record, nullptr);
        EXPECT_EQ(record->attempt, attempt);
        EXPECT_EQ(record->request, attempt);
        EXPECT_EQ(record->fired_ns, 700);
    }
}

}  // namespace
}  // namespace driftless
