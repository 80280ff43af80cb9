// The event ring loses nothing it promised to keep, keeps order and bytes, and says what it drops.
#include "engine/record/ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

using Push = EventRing::Push;

Event make_event(EventKind kind, std::uint32_t row) {
    Event event;
    event.kind = kind;
    event.request = row;
    return event;
}

Event make_end(std::uint32_t row, Outcome outcome) {
    Event event = make_event(EventKind::end, row);
    event.end = {};
    event.end.outcome = outcome;
    return event;
}

std::string pattern(std::uint64_t seed, std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        text[i] = static_cast<char>(seed + i * 7);
    }
    return text;
}

// What goes in comes out: order, fields and payload bytes, through many wraps of the memory.
TEST(EventRing, KeepsOrderAndBytesThroughWraps) {
    EventRing ring(1 << 18, 4);
    Random random(1);
    std::deque<std::string> expected;
    std::uint32_t pushed = 0;
    std::uint32_t popped = 0;
    const auto drain = [&](std::uint64_t count) {
        for (; count > 0 && ring.front() != nullptr; --count) {
            ASSERT_EQ(ring.front()->request, popped++);
            ASSERT_EQ(EventRing::payload_of(*ring.front()), expected.front());
            expected.pop_front();
            ring.pop();
        }
    };
    for (std::size_t bytes = 0; bytes < 8 * ring.capacity_bytes();) {
        const std::size_t size =
            random.below(10) == 0 ? random.below(EventRing::payload_bytes_max) : random.below(400);
        expected.push_back(pattern(pushed, size));
        ASSERT_EQ(ring.push(make_event(EventKind::chunk, pushed), expected.back()), Push::whole);
        bytes += 64 + size;
        ++pushed;
        // Two events of the largest size at most stay behind, so that nothing is ever refused.
        drain(expected.size() > 2 ? expected.size() : random.below(3));
    }
    drain(expected.size());
    EXPECT_EQ(popped, pushed);
}

// The largest payload fits a ring of the smallest size, at every position of the memory.
TEST(EventRing, LargestPayloadFitsAtEveryPosition) {
    EventRing ring(1, 1);
    const std::string payload = pattern(3, EventRing::payload_bytes_max);
    for (std::uint32_t i = 0; i < 3 * ring.capacity_bytes() / EventRing::payload_bytes_max; ++i) {
        ASSERT_EQ(ring.push(make_event(EventKind::part, i), payload), Push::whole);
        const Event* event = ring.front();
        ASSERT_NE(event, nullptr);
        ASSERT_EQ(event->request, i);
        ASSERT_EQ(EventRing::payload_of(*event), payload);
        ring.pop();
        ASSERT_EQ(ring.push(make_event(EventKind::chunk, i), {}), Push::whole);
        ASSERT_EQ(ring.front()->length, 0u);
        ring.pop();
        ASSERT_EQ(ring.front(), nullptr);
    }
}

// Without a consumer: payloads are dropped first, then chunk entries, then the rest of a row, and
// the ends of as many rows as may be open always find room.
TEST(EventRing, FillsInSteps) {
    constexpr std::size_t rows = 64;
    EventRing ring(1, rows);
    std::size_t whole = 0;
    std::size_t bare = 0;
    Push result = Push::whole;
    while ((result = ring.push(make_event(EventKind::chunk, 0), "abc")) == Push::whole) {
        ++whole;
    }
    EXPECT_EQ(result, Push::payload_dropped);
    const std::size_t cells = ring.capacity_bytes() / 64;
    EXPECT_EQ(whole, (cells - 6 * rows - cells / 8) / 2);
    while (ring.push(make_event(EventKind::chunk, 0), "abc") == Push::payload_dropped) {
        ++bare;
    }
    EXPECT_GE(bare + 2, cells / 8);
    EXPECT_EQ(ring.push(make_event(EventKind::part, 0), ""), Push::entry_dropped);

    std::size_t others = 0;
    const EventKind kinds[] = {EventKind::wire, EventKind::sent, EventKind::head};
    while (ring.push(make_event(kinds[others % 3], 0)) == Push::whole) {
        ++others;
    }
    EXPECT_EQ(others, 3 * rows);
    EXPECT_EQ(ring.push(make_event(EventKind::sample, 0), pattern(0, 300)), Push::entry_dropped);

    std::uint32_t fired = 0;
    while (ring.has_room_for_row()) {
        ASSERT_EQ(ring.push(make_event(EventKind::armed, fired)), Push::whole);
        ASSERT_EQ(ring.push(make_event(EventKind::fired, fired)), Push::whole);
        ++fired;
    }
    EXPECT_EQ(fired, rows);
    EXPECT_EQ(ring.push(make_event(EventKind::armed, fired)), Push::entry_dropped);
    EXPECT_EQ(ring.push(make_event(EventKind::fired, fired)), Push::entry_dropped);
    EXPECT_EQ(ring.push(make_end(fired, Outcome::not_sent)), Push::entry_dropped);
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(make_end(row, Outcome::ok)), Push::whole);
    }
    EXPECT_EQ(ring.push(make_end(0, Outcome::ok)), Push::entry_dropped);
    EXPECT_EQ(ring.high_bytes(), ring.capacity_bytes());
    EXPECT_EQ(ring.spare_times(), 1U) << "what waits fills it";

    // All of it is there, flagged, in order, and afterwards the ring is as good as new.
    std::size_t seen_bare = 0;
    std::size_t ends = 0;
    for (; ring.front() != nullptr; ring.pop()) {
        const Event& event = *ring.front();
        seen_bare += (event.flags & event_payload_dropped) != 0 ? 1 : 0;
        ends += event.kind == EventKind::end ? 1 : 0;
        ASSERT_EQ(event.length, event.kind == EventKind::chunk && event.flags == 0 ? 3u : 0u);
    }
    EXPECT_EQ(ring.spare_times(), UINT64_MAX) << "nothing waits";
    EXPECT_EQ(seen_bare, bare + 1);
    EXPECT_EQ(ends, rows);
    EXPECT_EQ(ring.push(make_event(EventKind::chunk, 0), "abc"), Push::whole);
}

// A payload may leave just the reserve free and not one cell less.
TEST(EventRing, PayloadReserveIsExact) {
    for (const std::size_t missing : {std::size_t{0}, std::size_t{1}}) {
        EventRing ring(1, 8);
        const std::size_t cells = ring.capacity_bytes() / 64;
        const std::size_t reserve = 6 * 8 + cells / 8;
        for (std::size_t used = 0; used < cells - reserve - 3 + missing; ++used) {
            ASSERT_EQ(ring.push(make_event(EventKind::chunk, 0)), Push::whole);
        }
        EXPECT_EQ(ring.push(make_event(EventKind::chunk, 0), pattern(0, 128)),
                  missing == 0 ? Push::whole : Push::payload_dropped);
    }
}

// Two threads: every fired and end arrives, in order, whatever the consumer's pace; what is
// missing of the chunks is exactly what `push` said it dropped, and no payload is damaged.
TEST(EventRing, TwoThreadsLoseNothingPromised) {
    constexpr std::uint32_t rows = 40000;
    constexpr std::uint32_t open_max = 16;
    EventRing ring(1, open_max);
    std::atomic<bool> done{false};
    std::uint64_t dropped_payloads = 0;
    std::uint64_t dropped_entries = 0;
    std::thread producer([&] {
        Random random(2);
        const std::string payload = pattern(0, 4096);
        for (std::uint32_t row = 0; row < rows; ++row) {
            while (!ring.has_room_for_row()) {
                std::this_thread::yield();
            }
            CHECK(ring.push(make_event(EventKind::fired, row)) == Push::whole);
            for (std::uint64_t chunk = random.below(8); chunk > 0; --chunk) {
                Event event = make_event(EventKind::chunk, row);
                const std::size_t size = random.below(payload.size());
                event.stamp_ns = static_cast<std::int64_t>(size);
                const Push push = ring.push(event, std::string_view(payload).substr(0, size));
                dropped_payloads += push == Push::payload_dropped ? 1 : 0;
                dropped_entries += push == Push::entry_dropped ? 1 : 0;
            }
            CHECK(ring.push(make_end(row, Outcome::ok)) == Push::whole);
        }
        done.store(true);
    });
    Random random(3);
    const std::string payload = pattern(0, 4096);
    std::uint32_t fired = 0;
    std::uint32_t ended = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bare = 0;
    bool good = true;
    while (true) {
        const bool last = done.load();
        std::uint64_t budget = random.below(500);
        for (; budget > 0 && ring.front() != nullptr; --budget, ring.pop()) {
            const Event& event = *ring.front();
            if (event.kind == EventKind::fired) {
                good = good && event.request == fired++;
            } else if (event.kind == EventKind::end) {
                good = good && event.request == ended++;
            } else {
                ++chunks;
                const bool dropped = (event.flags & event_payload_dropped) != 0;
                bare += dropped ? 1 : 0;
                const auto size = dropped ? 0 : static_cast<std::size_t>(event.stamp_ns);
                good = good &&
                       EventRing::payload_of(event) == std::string_view(payload).substr(0, size);
            }
        }
        if (last && budget > 0) {
            break;
        }
        if (budget > 0) {
            std::this_thread::yield();
        }
    }
    producer.join();
    EXPECT_TRUE(good);
    EXPECT_EQ(fired, rows);
    EXPECT_EQ(ended, rows);
    EXPECT_EQ(bare, dropped_payloads);
    Random again(2);
    std::uint64_t made = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
        const std::uint64_t count = again.below(8);
        made += count;
        for (std::uint64_t i = 0; i < count; ++i) {
            again.next();
        }
    }
    EXPECT_EQ(chunks + dropped_entries, made);
    EXPECT_LE(ring.high_bytes(), ring.capacity_bytes());
}

}  // namespace
}  // namespace driftless
