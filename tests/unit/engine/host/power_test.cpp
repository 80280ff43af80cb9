// Power settings, read from folders that hold what the kernel shows.
#include "engine/host/power.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

class CpuPower : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = root() + "/devices/system/cpu/" + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << "\n";
    }
    std::string root() const { return scratch_.path(); }

    ScratchFolder scratch_;
};

TEST_F(CpuPower, IsUnknownInAVirtualMachine) {
    const PowerSettings settings = read_power_settings(1, root());
    EXPECT_EQ(settings.governor, "");
    EXPECT_EQ(settings.idle_state, "");
    EXPECT_FALSE(settings.turbo);
}

TEST_F(CpuPower, TakesTheDeepestStateThatIsNotDisabled) {
    for (const auto& [state, name, latency, off] : {std::tuple{"state0", "POLL", "0", "0"},
                                                    {"state1", "C1", "2", "0"},
                                                    {"state2", "C6", "133", "0"},
                                                    {"state3", "C10", "890", "1"}}) {
        put(std::string("cpu1/cpuidle/") + state + "/name", name);
        put(std::string("cpu1/cpuidle/") + state + "/latency", latency);
        put(std::string("cpu1/cpuidle/") + state + "/disable", off);
    }
    put("cpu1/cpufreq/scaling_governor", "powersave");
    const PowerSettings settings = read_power_settings(1, root());
    EXPECT_EQ(settings.idle_state, "C6");
    EXPECT_EQ(settings.idle_latency_us, 133);
    EXPECT_EQ(settings.governor, "powersave");
    EXPECT_EQ(read_power_settings(0, root()).idle_state, "") << "another CPU";
}

TEST_F(CpuPower, ReadsTurboOfBothDrivers) {
    put("cpufreq/boost", "1");
    EXPECT_EQ(read_power_settings(0, root()).turbo, true);
    put("intel_pstate/no_turbo", "1");
    EXPECT_EQ(read_power_settings(0, root()).turbo, false);
}

TEST_F(CpuPower, ReadsTheClockInNanoseconds) {
    const ClockSource clock = read_clock_source();
    EXPECT_GT(clock.reading_ns, 0);
    EXPECT_LT(clock.reading_ns, 100'000);
}

}  // namespace
}  // namespace driftless
