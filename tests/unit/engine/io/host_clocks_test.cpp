// The clocks of this host: what is read now lies between two looks, also by way of the other clock.
#include "engine/io/host_clocks.hpp"

#include <gtest/gtest.h>
#include <time.h>

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

}  // namespace
}  // namespace driftless
