// The clocks of this host: what is read now lies between two looks, also by way of the other clock.

#include "engine/io/io_ring.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <cerrno>

namespace driftless {

namespace {

std::int64_t realtime_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(HostClocks, TellStampsOfTheKernelByTheirOwnClock) {
    HostClocks clocks;
    EXPECT_EQ(clocks.to_monotonic_ns(0), 0) << "no stamp";
    // Somebody may take the CPU, or set the clock, between the looks: once it does not.
    bool between = false;
    for (int tries = 0; tries < 100 && !between; ++tries) {
        const std::int64_t error_ns = clocks.sample().error_ns;
        const std::int64_t before_ns = HostClocks::now().ns;
        const std::int64_t told_ns = clocks.to_monotonic_ns(realtime_ns());
        const std::int64_t after_ns = HostClocks::now().ns;
        between = told_ns >= before_ns - error_ns && told_ns <= after_ns + error_ns;
    }
    EXPECT_TRUE(between);
}

TEST(HostClocks, NeverGoBack) {
    HostClocks clocks;
    Instant now = HostClocks::now();
    std::int64_t suspended_ns = clocks.suspended_ns();
    EXPECT_GE(suspended_ns, 0);
    for (int i = 0; i < 10'000; ++i) {
        const Instant later = HostClocks::now();
        ASSERT_GE(later.ns, now.ns);
        now = later;
        const std::int64_t more_ns = clocks.suspended_ns();
        ASSERT_GE(more_ns, suspended_ns);
        suspended_ns = more_ns;
    }
}

// A ring by itself: entries go in when they are asked to, completions become visible only when the
// ring is entered for them, and a wait ends at its instant.

class AnIoRing : public testing::Test {
  protected:
    void SetUp() override {
        const Result<void> opened = ring_.open(4, 16);
        if (!opened) {
            GTEST_SKIP() << "io_uring is not available: errno " << opened.error().sys_errno;
        }
    }
    void prepare_nop(std::uint64_t user_data) {
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_nop(&entry);
        entry.user_data = user_data;
    }

    IoRing ring_;
};

TEST_F(AnIoRing, GivesCompletionsInOrder) {
    const std::uint32_t begin = ring_.head();
    prepare_nop(5);
    prepare_nop(6);
    EXPECT_TRUE(ring_.has_entries());
    EXPECT_EQ(ring_.publish(), 2U) << "published, not taken";
    EXPECT_EQ(ring_.enters(), 0U);
    EXPECT_TRUE(ring_.flush());
    EXPECT_EQ(ring_.enters(), 1U);
    EXPECT_FALSE(ring_.has_entries());
    ASSERT_GE(ring_.enter(2, IORING_ENTER_GETEVENTS), 0);
    ASSERT_TRUE(ring_.has_completions());
    EXPECT_EQ(ring_.tail() - begin, 2U);
    EXPECT_EQ(ring_.take().user_data, 5U);
    EXPECT_EQ(ring_.head() - begin, 1U);
    EXPECT_EQ(ring_.take().user_data, 6U);
    EXPECT_FALSE(ring_.has_completions());
    EXPECT_FALSE(ring_.kernel_has_work());
    EXPECT_FALSE(ring_.overflowed());
}

// With nothing to hand over there is no system call.
TEST_F(AnIoRing, FlushesNothingWithoutEntering) {
    EXPECT_TRUE(ring_.flush());
    EXPECT_EQ(ring_.enters(), 0U);
}

// More entries than the ring has places: those before are handed over first.
TEST_F(AnIoRing, MakesRoomForEntries) {
    for (std::uint64_t i = 0; i < 10; ++i) {
        prepare_nop(i);
    }
    EXPECT_EQ(ring_.enters(), 2U);
    ASSERT_GE(ring_.enter(10, IORING_ENTER_GETEVENTS), 0);
    for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(ring_.has_completions());
        EXPECT_EQ(ring_.take().user_data, i);
    }
}

// Also one that has passed already: it ends at once.
TEST_F(AnIoRing, WaitsUntilAnInstant) {
    const Instant begun = HostClocks::now();
    const Instant until = begun + milliseconds(3);
    EXPECT_EQ(ring_.enter(1, IORING_ENTER_GETEVENTS, &until), -ETIME);
    EXPECT_GE(HostClocks::now().ns, until.ns);
    EXPECT_EQ(ring_.enter(1, IORING_ENTER_GETEVENTS, &begun), -ETIME);
}

TEST(IoRing, ClosesOnce) {
    IoRing ring;
    EXPECT_FALSE(ring.is_open());
    const Result<void> opened = ring.open(4, 16);
    if (!opened) {
        GTEST_SKIP() << "io_uring is not available: errno " << opened.error().sys_errno;
    }
    EXPECT_TRUE(ring.is_open());
    ring.close();
    EXPECT_FALSE(ring.is_open());
    ring.close();
}

}  // namespace

}  // namespace driftless
