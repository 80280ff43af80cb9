// What the kernel refuses about CPUs, priorities and files of /proc is an error or an unknown,
// never a guess; the engine's CPU is an isolated one where there is one.

#include "engine/host/host.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/host/threads.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

using Cpus = std::vector<std::uint32_t>;

// Lists as the kernel writes them (Documentation/admin-guide/cputopology.rst).
TEST(Host, TakesAnIsolatedCpuWhereItMay) {
    const auto chosen = [](const Cpus& allowed, std::string_view isolated) {
        return choose_engine_cpu(allowed, isolated).cpu;
    };
    EXPECT_EQ(chosen({0, 1, 2, 3}, "2-3\n"), 2U);
    EXPECT_EQ(chosen({0, 1, 3}, "2-3\n"), 3U) << "not the first of the list, which is forbidden";
    EXPECT_EQ(chosen({0, 1, 6, 7}, "2-3,6\n"), 6U);
    EXPECT_EQ(chosen({0, 1, 7}, "2-3,6\n"), 7U);
    EXPECT_EQ(chosen({0, 1}, "\n"), 1U);
    EXPECT_EQ(chosen({0, 1}, ""), 1U);
    EXPECT_EQ(chosen({4}, ""), 4U);
    EXPECT_TRUE(says(choose_engine_cpu({4}, "").reason, "shared with the writer"));
    EXPECT_TRUE(says(choose_engine_cpu({4, 5}, "5").reason, "isolated"));
    EXPECT_TRUE(says(choose_engine_cpu({}, "").reason, "cannot be read"));
    EXPECT_EQ(choose_engine_cpu(allowed_cpus(), "").cpu, allowed_cpus().back());
    EXPECT_LT(isolated_cpus().size(), 4096U);
}

TEST(Host, ListsCpusAsTheKernelDoes) {
    EXPECT_EQ(cpu_list_text({}), "");
    EXPECT_EQ(cpu_list_text({3}), "3");
    EXPECT_EQ(cpu_list_text({0, 1}), "0-1");
    EXPECT_EQ(cpu_list_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(Host, SaysWhyAThreadCannotBePinned) {
    EXPECT_EQ(pin_this_thread(CPU_SETSIZE).error().code, ErrorCode::invalid);
    if (allowed_cpus().back() + 1 < CPU_SETSIZE) {
        EXPECT_EQ(pin_this_thread(CPU_SETSIZE - 1).error().code, ErrorCode::invalid);
    }
    if (!while_refusing({{SYS_sched_setaffinity, EPERM}, {SYS_sched_setscheduler, EPERM}}, [] {
            EXPECT_EQ(pin_this_thread(0).error().code, ErrorCode::denied);
            EXPECT_EQ(run_before_others().error().code, ErrorCode::denied);
        })) {
        GTEST_SKIP() << "no seccomp filters here";
    }
}

TEST(Host, WhatCannotBeReadIsUnknown) {
    if (!while_refusing({{SYS_openat, EACCES},
                         {SYS_sched_getaffinity, EINVAL},
                         {SYS_prlimit64, EPERM},
                         {SYS_uname, EFAULT}},
                        [] {
                            EXPECT_TRUE(allowed_cpus().empty());
                            EXPECT_EQ(raise_file_limit(), 1024U) << "what every Linux allows";
                            EXPECT_EQ(ephemeral_ports(), 0U);
                            EXPECT_EQ(reused_ports(), 0U);
                            EXPECT_EQ(read_memory_marks().resident, 0U);
                            EXPECT_EQ(available_memory(), 0U);
                            const HostFacts facts = read_host_facts();
                            EXPECT_EQ(facts.kernel + facts.machine + facts.cpu_model, "");
                            EXPECT_EQ(facts.memory_bytes, 0U);
                            const ThreadCost cost = ThreadProbe(this_thread_id()).next();
                            EXPECT_EQ(cost.run_delay_ns + cost.steal_ns, 0);
                        })) {
        GTEST_SKIP() << "no seccomp filters here";
    }
}

// The reason names what would fix it.
TEST(Host, SaysWhyInstructionsAreNotCounted) {
    const auto reason = [](int sys_errno) {
        std::string why;
        const bool ran = while_refusing({{SYS_perf_event_open, sys_errno}}, [&why] {
            const ThreadMeter meter;
            why = meter.why_no_instructions();
            EXPECT_EQ(meter.read().instructions, -1);
        });
        return ran ? why : "skipped";
    };
    if (reason(EACCES) == "skipped") {
        GTEST_SKIP() << "no seccomp filters here";
    }
    EXPECT_TRUE(says(reason(EACCES), "kernel.perf_event_paranoid"));
    EXPECT_EQ(reason(EPERM), reason(EACCES));
    EXPECT_TRUE(says(reason(ENOENT), "virtual machines"));
    EXPECT_TRUE(says(reason(ENOSYS), "built without"));
    EXPECT_EQ(reason(EMFILE), "perf_event_open failed");
}

// Memory that cannot be touched is not handed out, and its reason survives giving it back.
TEST(Host, SaysWhyMemoryIsNotThere) {
    constexpr std::uint32_t bytes = 3 * 4096;
    if (!while_refusing({{SYS_madvise, ENOMEM, 2, 23 /* MADV_POPULATE_WRITE */},
                         {SYS_madvise, ENOMEM, 2, 22 /* MADV_POPULATE_READ */},
                         {SYS_mlockall, EPERM}},
                        [] {
                            errno = 0;
                            EXPECT_EQ(map_touched(bytes), nullptr);
                            EXPECT_EQ(errno, ENOMEM);
                            const MemoryGrants grants = settle_memory();
                            EXPECT_FALSE(grants.present);
                            // Sanitizers answer mlockall by themselves.
                            EXPECT_EQ(
                                grants.why_not,
                                std::string("not all memory could be mapped before the start") +
                                    (grants.locked ? ""
                                                   : "; memory cannot be locked: raise the "
                                                     "limit (ulimit -l unlimited)"));
                        })) {
        GTEST_SKIP() << "no seccomp filters here";
    }
    EXPECT_TRUE(while_refusing({{SYS_openat, EACCES}, {SYS_mlockall, EPERM}}, [] {
        const MemoryGrants grants = settle_memory();
        EXPECT_FALSE(grants.present) << "without the list of what is mapped";
        EXPECT_EQ(grants.huge_bytes, 0U);
    }));
}

// Pages that are there: those of a touched mapping, and those of a settled process that nobody has
// written to before.

constexpr std::size_t page = 4096;

bool every_page_is_there(void* memory, std::size_t bytes) {
    std::vector<unsigned char> there(bytes / page);
    return ::mincore(memory, bytes, there.data()) == 0 &&
           std::all_of(there.begin(), there.end(), [](unsigned char is) { return (is & 1) != 0; });
}

TEST(Memory, EveryPageOfATouchedMappingIsThere) {
    for (const std::size_t bytes : {page, std::size_t{4} << 20}) {
        void* memory = map_touched(bytes);
        ASSERT_NE(memory, nullptr);
        EXPECT_TRUE(every_page_is_there(memory, bytes));
        ::munmap(memory, bytes);
    }
    EXPECT_EQ(map_touched(std::size_t{1} << 60), nullptr);
}

TEST(Memory, EveryPageOfASettledProcessIsThere) {
    constexpr std::size_t bytes = 64 * page;
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_FALSE(every_page_is_there(memory, bytes));
    const MemoryGrants grants = settle_memory();
    EXPECT_TRUE(grants.present) << grants.why_not;
    EXPECT_EQ(grants.present && grants.locked, grants.why_not.empty());
    EXPECT_TRUE(every_page_is_there(memory, bytes));
    ::munlockall();
    ::munmap(memory, bytes);
}

// Large tables of a library are left alone: no thread of a run reads them.
TEST(Memory, LargeDataOfFilesIsLeftAlone) {
    for (const std::size_t bytes : {settled_data_bytes_max, settled_data_bytes_max + page}) {
        const int file = ::memfd_create("data", MFD_CLOEXEC);
        ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
        void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
        ASSERT_NE(memory, MAP_FAILED);
        EXPECT_TRUE(settle_memory().present);
        EXPECT_EQ(every_page_is_there(memory, bytes), bytes == settled_data_bytes_max);
        ::munlockall();
        ::munmap(memory, bytes);
        ::close(file);
    }
}

// Power settings, read from folders that hold what the kernel shows.

class CpuPower : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        (void)scratch_.write("devices/system/cpu/" + path, text + "\n");
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
