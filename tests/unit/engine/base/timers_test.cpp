// Timers fire in order of their deadlines, whatever the order of setting, moving and clearing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/base/time.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

struct Log {
    std::vector<std::int64_t> fired;
};

void note(Timer& timer, Instant) {
    static_cast<Log*>(timer.owner)->fired.push_back(timer.at().ns);
}

// A thousand timers set, moved and cleared at random fire exactly once each, earliest first.
TEST(Timers, FireInOrderUnderRandomChanges) {
    Random random(7);
    Log log;
    Timers timers(1000);
    std::vector<std::unique_ptr<Timer>> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(std::make_unique<Timer>());
        all.back()->handler = note;
        all.back()->owner = &log;
        timers.set(*all.back(), Instant{static_cast<std::int64_t>(random.below(5000))});
    }
    std::vector<std::int64_t> expected;
    for (auto& timer : all) {
        const auto choice = random.below(3);
        if (choice == 0) {
            timers.clear(*timer);
        } else if (choice == 1) {
            timers.set(*timer, Instant{static_cast<std::int64_t>(random.below(5000))});
        }
        if (timer->set()) {
            expected.push_back(timer->at().ns);
        }
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(timers.next().ns, expected.front());
    while (timers.expire(Instant{5000}, 7) > 0) {
    }
    EXPECT_EQ(log.fired, expected);
    EXPECT_EQ(timers.next(), never);
}

// A timer that is due one nanosecond later does not fire.
TEST(Timers, WaitForTheirInstant) {
    Log log;
    Timers timers(1);
    Timer timer;
    timer.handler = note;
    timer.owner = &log;
    timers.set(timer, Instant{100});
    EXPECT_EQ(timers.expire(Instant{99}, 1), 0u);
    EXPECT_EQ(timers.expire(Instant{100}, 1), 1u);
    EXPECT_FALSE(timer.set());
}

}  // namespace
}  // namespace driftless
