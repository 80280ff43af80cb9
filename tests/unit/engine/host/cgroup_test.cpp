// Limits of control groups, read from folders that hold what the kernel shows.
#include "engine/host/cgroup.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

class Cgroup : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = root() + "/" + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << "\n";
    }
    std::string root() const { return scratch_.path(); }

    ScratchFolder scratch_;
};

TEST_F(Cgroup, SeesNoLimitWhereThereIsNone) {
    put("a/cpu.max", "max 100000");
    put("a/pids.max", "max");
    const CgroupLimits limits = read_cgroup_limits("0::/a\n", root());
    EXPECT_FALSE(limits.cpus);
    EXPECT_FALSE(limits.tasks_left);
    EXPECT_FALSE(read_cgroup_limits("", root()).cpus);
    EXPECT_FALSE(read_cgroup_limits("0::/a\n", root() + "/not-mounted").cpus);
}

TEST_F(Cgroup, TakesTheLeastOfAllGroupsAbove) {
    put("a/cpu.max", "150000 100000");
    put("a/b/cpu.max", "400000 200000");
    put("a/pids.max", "100");
    put("a/pids.current", "40");
    put("a/b/pids.max", "90");
    put("a/b/pids.current", "10");
    put("a/memory.max", "1000");
    put("a/b/memory.max", "max");
    const CgroupLimits limits = read_cgroup_limits("0::/a/b\n", root());
    EXPECT_EQ(limits.cpus, 1.5);
    EXPECT_EQ(limits.period_us, 100'000);
    EXPECT_EQ(limits.tasks_left, 60);
    EXPECT_EQ(limits.memory_bytes, 1000);
    EXPECT_TRUE(limits.known);
    EXPECT_FALSE(read_cgroup_limits("", root()).known);
}

TEST_F(Cgroup, ReadsTheRootWhereAContainerSeesNoMore) {
    put("cpu.max", "50000 100000");
    EXPECT_EQ(read_cgroup_limits("0::/kubepods/pod7/x\n", root()).cpus, 0.5);
}

TEST_F(Cgroup, ReadsTheFirstVersionToo) {
    put("cpu,cpuacct/docker/1/cpu.cfs_quota_us", "200000");
    put("cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000");
    put("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1");
    put("cpu,cpuacct/docker/cpu.cfs_period_us", "100000");
    put("pids/docker/1/pids.max", "20");
    put("pids/docker/1/pids.current", "20");
    put("memory/docker/1/memory.limit_in_bytes", "4096");
    const CgroupLimits limits = read_cgroup_limits(
        "4:cpu,cpuacct:/docker/1\n3:pids:/docker/1\n5:memory:/docker/1\n0::/\n", root());
    EXPECT_EQ(limits.cpus, 2.0);
    EXPECT_EQ(limits.tasks_left, 0);
    EXPECT_EQ(limits.memory_bytes, 4096);
}

}  // namespace
}  // namespace driftless
