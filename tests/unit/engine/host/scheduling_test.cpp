#include "engine/host/scheduling.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "engine/host/host.hpp"
#include "engine/time/monotonic.hpp"

namespace driftless {
namespace {

/// The keeper's thread, among those of this process; 0: there is none.
int keeper() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        const std::string name(std::istreambuf_iterator<char>(file), {});
        if (name == "keeper\n") {
            return std::stoi(task.path().filename());
        }
    }
    return 0;
}

TEST(Scheduling, AShortSliceIsGrantedOrNot) {
    std::thread([] {
        const std::int64_t slice_ns = ask_for_slice(engine_slice_ns);
        EXPECT_TRUE(slice_ns == engine_slice_ns || slice_ns == 0) << slice_ns;
        const Result<Granted> granted = schedule_engine(Scheduling::slice);
        ASSERT_TRUE(granted);
        EXPECT_EQ(granted.value().slice_ns, slice_ns) << "what is granted is read back";
        EXPECT_EQ(granted.value().scheduling,
                  slice_ns == 0 ? Scheduling::ordinary : Scheduling::slice);
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    }).join();
}

TEST(Scheduling, AKeeperRunsOnItsCpuAndEnds) {
    CpuKeeper kept;
    ASSERT_TRUE(kept.start(allowed_cpus().front()));
    int thread = 0;
    for (int tries = 0; thread == 0 && tries < 100'000; ++tries) {
        thread = keeper();
        ::sched_yield();
    }
    ASSERT_NE(thread, 0);
    cpu_set_t cpus;
    ASSERT_EQ(::sched_getaffinity(thread, sizeof cpus, &cpus), 0);
    EXPECT_EQ(CPU_COUNT(&cpus), 1);
    EXPECT_NE(CPU_ISSET(allowed_cpus().front(), &cpus), 0);
    EXPECT_GT(kept.stop(), 0);
    EXPECT_EQ(keeper(), 0);
}

// Where it is not free no CPU is kept awake.
TEST(Scheduling, AThreadThatYieldsTakesNothingWhereThatIsFree) {
    std::thread([] {
        const std::uint32_t cpu = allowed_cpus().front();
        const cpu_set_t cpus = cpu_set_of({cpu});
        ASSERT_EQ(::sched_setaffinity(0, sizeof cpus, &cpus), 0);
        if (!yielding_is_free(cpu)) {
            GTEST_SKIP() << "it takes its part here";
        }
        CpuKeeper kept;
        ASSERT_TRUE(kept.start(cpu));
        const std::int64_t begin_ns = monotonic_ns();
        while (monotonic_ns() - begin_ns < 50'000'000) {
        }
        EXPECT_LT(kept.stop(), 50'000'000 / 4);
    }).join();
}

// Of an ordinary thread: it asks for what it has, or is refused, which is all the same.
TEST(Scheduling, WhoNeverSleepsStepsAsideForASecond) {
    std::thread([] {
        StepsAside aside;
        Instant now{0};
        const auto after = [&aside, &now](Duration passed, Duration slept) {
            now = now + passed;
            aside.note_sleep(slept);
            EXPECT_TRUE(aside.is_due(now));
            aside.look(now);
        };
        after(milliseconds(1), Duration{0});  // the first look only begins
        EXPECT_FALSE(aside.is_aside());
        EXPECT_FALSE(aside.is_due(now + milliseconds(99)));
        after(milliseconds(100), milliseconds(10));
        EXPECT_FALSE(aside.is_aside());
        after(milliseconds(100), milliseconds(9));
        EXPECT_TRUE(aside.is_aside());
        EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
        after(milliseconds(100), milliseconds(50));
        EXPECT_TRUE(aside.is_aside()) << "for a second";
        after(seconds(1), milliseconds(19));
        EXPECT_TRUE(aside.is_aside()) << "it does not sleep enough yet";
        after(milliseconds(100), milliseconds(20));
        EXPECT_EQ(aside.times(), 1U);
        const bool is_back = (::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
        EXPECT_EQ(aside.is_aside(), !is_back) << "where it may";
    }).join();
}

}  // namespace
}  // namespace driftless
