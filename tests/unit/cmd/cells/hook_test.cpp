// Hooks: done, failed, killed at their limit with all that they started, and tried until ready.
#include "cmd/cells/hook.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "cmd/stop.hpp"
#include "engine/host/child.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

constexpr std::int64_t ms = 1'000'000;

HookEnd run(const ScratchFolder& folder, const std::string& command, std::int64_t limit_ns) {
    return run_hook({"before", command, limit_ns}, own_environment(), folder / "before.txt",
                    stop_requests().load());
}

TEST(Hook, EndsWell) {
    const ScratchFolder folder;
    const HookEnd end = run(folder, "echo hello; echo well >&2", 60'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::done);
    EXPECT_EQ(end.why, "");
    EXPECT_EQ(read_bytes(folder / "before.txt"), "hello\nwell\n");
    EXPECT_EQ(run(folder, "", ms).outcome, HookOutcome::done);
}

TEST(Hook, FailsWithItsExitCode) {
    const ScratchFolder folder;
    const HookEnd end = run(folder, "exit 3", 60'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::failed);
    EXPECT_EQ(end.why, "before: exit code 3 (its output: before.txt)");
}

// One that does not listen to SIGTERM, with a child of its own.
TEST(Hook, IsKilledAtItsLimit) {
    const ScratchFolder folder;
    const HookEnd end =
        run(folder, "trap '' TERM; sleep 600 & echo $! > " + (folder / "pid") + "; wait; sleep 600",
            2'000 * ms);
    EXPECT_EQ(end.outcome, HookOutcome::timed_out);
    EXPECT_EQ(end.why, "before: killed at its time limit of 2s (its output: before.txt)");
    const std::string left = read_bytes(folder / "pid");
    const std::string pid = left.substr(0, left.find('\n'));
    ASSERT_FALSE(pid.empty());
    bool lives = true;
    for (int look = 0; lives && look < 1000; ++look) {  // a kill takes a moment
        std::ifstream stat("/proc/" + pid + "/stat");
        const std::string line(std::istreambuf_iterator<char>(stat), {});
        lives = !line.empty() && line.find(") Z") == line.npos;
        std::this_thread::sleep_for(std::chrono::milliseconds(lives ? 10 : 0));
    }
    EXPECT_FALSE(lives);
}

TEST(Hook, IsTriedUntilReady) {
    const ScratchFolder folder;
    const std::string count = folder / "count";
    const std::string twice = "echo x >> " + count + "; test $(wc -l < " + count + ") -ge 2";
    EXPECT_EQ(run_until_ready({"ready", twice, 60'000 * ms}, own_environment(),
                              folder / "ready.txt", stop_requests().load())
                  .outcome,
              HookOutcome::done);
    EXPECT_EQ(read_bytes(count), "x\nx\n");
    const HookEnd never = run_until_ready({"ready", "exit 1", 700 * ms}, own_environment(),
                                          folder / "ready.txt", stop_requests().load());
    EXPECT_EQ(never.outcome, HookOutcome::timed_out);
    EXPECT_EQ(never.why,
              "not ready within 700ms; last try: ready: exit code 1 (its output: ready.txt)");
}

TEST(Hook, EndsWhereTheUserAsksToStop) {
    const ScratchFolder folder;
    const HookEnd end = run_hook({"before", "sleep 600", 600'000 * ms}, own_environment(),
                                 folder / "before.txt", stop_requests().load() - 1);
    EXPECT_EQ(end.outcome, HookOutcome::stopped);
    EXPECT_FALSE(pause_ns(600'000 * ms, stop_requests().load() - 1));
    EXPECT_TRUE(pause_ns(ms, stop_requests().load()));
}

}  // namespace
}  // namespace driftless
