// Facts of the host, its load, and calibrations.

#include "engine/host/host.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "engine/host/calibration.hpp"
#include "engine/host/threads.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/refusing_kernel.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// What the kernel refuses about CPUs, priorities and files of /proc is an error or an unknown,
// never a guess; the engine's CPU is an isolated one where there is one.

namespace {

using Cpus = std::vector<std::uint32_t>;

// Lists as the kernel writes them (Documentation/admin-guide/cputopology.rst).
TEST(Host, TakesAnIsolatedCpuAndListsCpusAsTheKernelDoes) {
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
    EXPECT_EQ(cpu_list_text({}), "");
    EXPECT_EQ(cpu_list_text({3}), "3");
    EXPECT_EQ(cpu_list_text({0, 1}), "0-1");
    EXPECT_EQ(cpu_list_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

using HostRefused = RefusingKernel;

TEST_F(HostRefused, SaysWhyAThreadCannotBePinned) {
    EXPECT_EQ(pin_this_thread(CPU_SETSIZE).error().code, ErrorCode::invalid);
    if (allowed_cpus().back() + 1 < CPU_SETSIZE) {
        EXPECT_EQ(pin_this_thread(CPU_SETSIZE - 1).error().code, ErrorCode::invalid);
    }
    EXPECT_TRUE(
        while_refusing({{SYS_sched_setaffinity, EPERM}, {SYS_sched_setscheduler, EPERM}}, [] {
            EXPECT_EQ(pin_this_thread(0).error().code, ErrorCode::denied);
            EXPECT_EQ(run_before_others().error().code, ErrorCode::denied);
        }));
}

TEST_F(HostRefused, WhatCannotBeReadIsUnknown) {
    EXPECT_TRUE(while_refusing({{SYS_openat, EACCES},
                                {SYS_sched_getaffinity, EINVAL},
                                {SYS_prlimit64, EPERM},
                                {SYS_uname, EFAULT}},
                               [] {
                                   EXPECT_TRUE(allowed_cpus().empty());
                                   EXPECT_EQ(raise_file_limit(), 1024U)
                                       << "what every Linux allows";
                                   EXPECT_EQ(ephemeral_ports(), 0U);
                                   EXPECT_EQ(reused_ports(), 0U);
                                   EXPECT_EQ(read_memory_marks().resident, 0U);
                                   EXPECT_EQ(available_memory(), 0U);
                                   const HostFacts facts = read_host_facts();
                                   EXPECT_EQ(facts.kernel + facts.machine + facts.cpu_model, "");
                                   EXPECT_EQ(facts.memory_bytes, 0U);
                                   const ThreadCost cost = ThreadProbe(this_thread_id()).next();
                                   EXPECT_EQ(cost.run_delay_ns + cost.steal_ns, 0);
                               }));
}

// A calibration is valid on one model only. The lines are those of arch/x86/kernel/cpu/proc.c and
// arch/arm64/kernel/cpuinfo.c in Linux.
TEST(Host, ArmCpusAreToldApartWithoutAName) {
    EXPECT_EQ(cpu_model_of(
                  "processor\t: 0\nmodel\t\t: 143\nmodel name\t: A CPU @ 2 GHz\nstepping\t: 8\n"),
              "A CPU @ 2 GHz");
    const auto of_part = [](const std::string& part) {
        return cpu_model_of(
            "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n"
            "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n"
            "CPU part\t: " +
            part + "\nCPU revision\t: 1\n\nprocessor\t: 1\n");
    };
    EXPECT_EQ(of_part("0xd0c"), "implementer 0x41, part 0xd0c, variant 0x3, revision 1");
    EXPECT_NE(of_part("0xd40"), of_part("0xd0c"));
    EXPECT_EQ(cpu_model_of(""), "");
}

// Each CPU counts what was stolen since the host began.
TEST(Host, AThreadThatMovesIsNotChargedWithTheDifferenceOfTwoCpus) {
    const std::uint32_t first = allowed_cpus().front();
    const std::uint32_t last = allowed_cpus().back();
    for (const auto& [from, to] : {std::pair(first, last), std::pair(last, first)}) {
        std::thread([from = from, to = to] {
            ASSERT_TRUE(pin_this_thread(from));
            const std::int64_t begin_ns = monotonic_ns();
            ThreadProbe probe(this_thread_id());
            ASSERT_TRUE(pin_this_thread(to));
            const std::int64_t steal_ns = probe.next().steal_ns;
            EXPECT_GE(steal_ns, 0);
            EXPECT_LE(steal_ns, monotonic_ns() - begin_ns + 10'000'000) << "a tick more";
        }).join();
    }
}

// The reason names what would fix it.
TEST_F(HostRefused, SaysWhyInstructionsAreNotCounted) {
    const auto reason = [](int sys_errno) {
        std::string why;
        EXPECT_TRUE(while_refusing({{SYS_perf_event_open, sys_errno}}, [&why] {
            const ThreadMeter meter;
            why = meter.why_no_instructions();
            EXPECT_EQ(meter.read().instructions, -1);
        }));
        return why;
    };
    EXPECT_TRUE(says(reason(EACCES), "kernel.perf_event_paranoid"));
    EXPECT_EQ(reason(EPERM), reason(EACCES));
    EXPECT_TRUE(says(reason(ENOENT), "virtual machines"));
    EXPECT_TRUE(says(reason(ENOSYS), "built without"));
    EXPECT_EQ(reason(EMFILE), "perf_event_open failed");
    EXPECT_TRUE(while_refusing({{SYS_getrusage, EPERM}},
                               [] { EXPECT_EQ(ThreadMeter().read().user_ns, 0); }));
}

// Pages that are there: those of a touched mapping, and those of a settled process that nobody has
// written to before.

constexpr std::size_t page = 4096;

bool every_page_is_there(void* memory, std::size_t bytes) {
    std::vector<unsigned char> there(bytes / page);
    return ::mincore(memory, bytes, there.data()) == 0 &&
           std::all_of(there.begin(), there.end(), [](unsigned char is) { return (is & 1) != 0; });
}

// Memory that cannot be touched is not handed out, and its reason survives giving it back.
TEST_F(HostRefused, SaysWhyMemoryIsNotThere) {
    constexpr std::uint32_t bytes = 3 * 4096;
    EXPECT_TRUE(while_refusing(
        {{SYS_madvise, ENOMEM, 2, 23 /* MADV_POPULATE_WRITE */},
         {SYS_madvise, ENOMEM, 2, 22 /* MADV_POPULATE_READ */},
         {SYS_mlockall, EPERM}},
        [] {
            errno = 0;
            EXPECT_EQ(map_touched(bytes), nullptr);
            EXPECT_EQ(errno, ENOMEM);
            const MemoryGrants grants = settle_memory();
            EXPECT_FALSE(grants.present);
            // Sanitizers answer mlockall by themselves.
            EXPECT_EQ(grants.why_not,
                      std::string("not all memory could be mapped before the start") +
                          (grants.locked ? ""
                                         : "; memory cannot be locked: raise the "
                                           "limit (ulimit -l unlimited)"));
        }));
    EXPECT_TRUE(while_refusing({{SYS_madvise, EINVAL}}, [] {  // before Linux 5.14
        void* memory = map_touched(bytes);
        ASSERT_NE(memory, nullptr);
        EXPECT_TRUE(every_page_is_there(memory, bytes));
        ::munmap(memory, bytes);
        EXPECT_FALSE(settle_memory().present);
        ::munlockall();
    }));
    EXPECT_TRUE(while_refusing({{SYS_openat, EACCES}, {SYS_mlockall, EPERM}}, [] {
        const MemoryGrants grants = settle_memory();
        EXPECT_FALSE(grants.present) << "without the list of what is mapped";
        EXPECT_EQ(grants.huge_bytes, 0U);
    }));
}

TEST(Memory, EveryPageIsThereButLargeDataOfFiles) {
    for (const std::size_t bytes : {page, std::size_t{4} << 20}) {
        void* memory = map_touched(bytes);
        ASSERT_NE(memory, nullptr);
        EXPECT_TRUE(every_page_is_there(memory, bytes));
        ::munmap(memory, bytes);
    }
    EXPECT_EQ(map_touched(std::size_t{1} << 60), nullptr);
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
    // Large tables of a library are left alone: no thread of a run reads them.
    for (const std::size_t other_bytes : {settled_data_bytes_max, settled_data_bytes_max + page}) {
        const int file = ::memfd_create("data", MFD_CLOEXEC);
        ASSERT_EQ(::ftruncate(file, static_cast<off_t>(other_bytes)), 0);
        void* other_memory = ::mmap(nullptr, other_bytes, PROT_READ, MAP_PRIVATE, file, 0);
        ASSERT_NE(other_memory, MAP_FAILED);
        EXPECT_TRUE(settle_memory().present);
        EXPECT_EQ(every_page_is_there(other_memory, other_bytes),
                  other_bytes == settled_data_bytes_max);
        ::munlockall();
        ::munmap(other_memory, other_bytes);
        ::close(file);
    }
}

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
    EXPECT_EQ(std::tuple(settings.governor, settings.idle_state), std::tuple("", ""));
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
    EXPECT_EQ(std::tuple(settings.idle_state, settings.idle_latency_us), std::tuple("C6", 133));
    EXPECT_EQ(settings.governor, "powersave");
    EXPECT_EQ(read_power_settings(0, root()).idle_state, "") << "another CPU";
}

TEST_F(CpuPower, ReadsTurboOfBothDrivers) {
    put("cpufreq/boost", "1");
    EXPECT_EQ(read_power_settings(0, root()).turbo, true);
    put("intel_pstate/no_turbo", "1");
    EXPECT_EQ(read_power_settings(0, root()).turbo, false);
    const ClockSource clock = read_clock_source();
    EXPECT_GT(clock.reading_ns, 0);
    EXPECT_LT(clock.reading_ns, 100'000);
}

class Cgroup : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        (void)scratch_.write(path, text + "\n");
    }
    std::string root() const { return scratch_.path(); }

    ScratchFolder scratch_;
};

TEST_F(Cgroup, SeesNoLimitWhereThereIsNone) {
    put("a/cpu.max", "max 100000");
    put("a/pids.max", "max");
    const CgroupLimits limits = read_cgroup_limits("0::/a\n", root());
    EXPECT_FALSE(limits.cpus || limits.tasks_left);
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
    EXPECT_EQ(std::tuple(limits.cpus, limits.period_us), std::tuple(1.5, 100'000));
    EXPECT_EQ(std::tuple(limits.tasks_left, limits.memory_bytes), std::tuple(60, 1000));
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
    EXPECT_EQ(std::tuple(limits.cpus, limits.tasks_left), std::tuple(2.0, 0));
    EXPECT_EQ(limits.memory_bytes, 4096);
}

CpuLoad load(std::uint32_t cpu, std::int64_t busy, std::vector<std::uint32_t> siblings = {}) {
    return {cpu, busy, 10, std::move(siblings)};
}

std::uint32_t chosen(const std::vector<CpuLoad>& loads,
                     std::optional<std::uint32_t> writer_cpu = std::nullopt,
                     std::string_view isolated = "\n") {
    return choose_quiet_cpu(members_of(loads, &CpuLoad::cpu), isolated, loads, writer_cpu).cpu;
}

// Columns of proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice.
TEST(CpuLoad, ReadsTheKernelsLinesAndTakesTheQuietest) {
    const std::vector<CpuLoad> loads = parse_cpu_loads(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 100 100\ncpu17 10 0 0 90 0 0 0 0 0 0\n"
        "intr 55\ncpu3 1 1 1 1 1 1 1 1 1 1\n");
    ASSERT_EQ(loads.size(), 2u);
    EXPECT_EQ(std::tuple(loads[0].cpu, loads[0].busy, loads[0].ticks), std::tuple(0u, 27, 72));
    EXPECT_EQ(std::tuple(loads[1].cpu, loads[1].busy), std::tuple(17u, 10));
    EXPECT_TRUE(parse_cpu_loads("").empty());
    const std::vector<CpuLoad> cut = parse_cpu_loads("cpu0");
    ASSERT_EQ(cut.size(), 1u);
    EXPECT_EQ(cut[0].ticks, 0);  // nothing is known of it: see the last test but one
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {cut[0], load(1, 9)}, {}).cpu, 1u);
    // Beside a local server: not the last CPU where the server runs there.
    EXPECT_EQ(chosen({load(0, 0), load(1, 10)}), 0u);
    EXPECT_EQ(chosen({load(0, 10), load(1, 0)}), 1u);
    EXPECT_EQ(chosen({load(0, 9), load(1, 2), load(2, 9)}), 1u);
    const CpuChoice choice = choose_quiet_cpu({0, 1}, "\n", {load(0, 0), load(1, 9)}, {});
    EXPECT_EQ(choice.reason, "the quietest of 2 over 100 ms: 0 % busy, the busiest 90 %");
    const CpuChoice alike = choose_quiet_cpu({0, 1}, "\n", {load(0, 10), load(1, 10)}, {});
    EXPECT_EQ(alike.reason, "both were 100 % busy over 100 ms");
    // One tick is how the kernel happened to count; two are work.
    EXPECT_EQ(chosen({load(0, 0), load(1, 0)}), 1u);
    EXPECT_EQ(chosen({load(0, 0), load(1, 1)}), 1u);
    EXPECT_EQ(chosen({load(0, 0), load(1, 2)}), 0u);
    // Two threads of one core share it: a busy sibling counts half.
    EXPECT_EQ(chosen({load(0, 0, {2}), load(1, 0, {3}), load(2, 0, {0}), load(3, 10, {1})}), 2u);
    EXPECT_EQ(chosen({load(0, 10, {2}), load(1, 0, {3}), load(2, 0, {0}), load(3, 6, {1})}), 1u);
    EXPECT_EQ(chosen({load(0, 9), load(1, 0)}, 1), 0u);
    EXPECT_EQ(chosen({load(1, 9)}, 1), 1u);  // the only one
    EXPECT_EQ(chosen({load(0, 9), load(1, 0), load(2, 0)}, 2), 1u);
    // What is isolated is quiet by order; what cannot be read is not guessed at.
    EXPECT_EQ(chosen({load(0, 0), load(1, 9), load(2, 0)}, {}, "1\n"), 1u);
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {}, {}).cpu, 1u);
    EXPECT_TRUE(says(choose_quiet_cpu({0, 1}, "\n", {}, {}).reason, "the last allowed"));
    EXPECT_EQ(choose_quiet_cpu({0, 1}, "\n", {load(0, 0)}, {}).cpu, 1u);
    const std::vector<CpuLoad> other_loads = sample_cpu_loads(1'000'000);
    ASSERT_FALSE(other_loads.empty());
    for (const CpuLoad& one : other_loads) {
        EXPECT_GE(one.ticks, 0);
        EXPECT_GE(one.busy, 0);
    }
}

// CPUs of several engines: cores of their own first, then siblings, then shared ones.

/// CPUs 0 to 3 and their siblings 4 to 7; CPU 2 is busy.
std::vector<CpuLoad> loads_of_four_cores() {
    std::vector<CpuLoad> loads;
    for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
        loads.push_back({.cpu = cpu,
                         .busy = cpu == 2 ? 9 : 0,
                         .ticks = 10,
                         .siblings = {cpu < 4 ? cpu + 4 : cpu - 4}});
    }
    return loads;
}

const Cpus eight{0, 1, 2, 3, 4, 5, 6, 7};

TEST(EngineCpus, AreCoresOfTheirOwnFirst) {
    const std::vector<CpuLoad> loads = loads_of_four_cores();
    EXPECT_EQ(choose_engine_cpus(7, 1, eight, loads), (Cpus{7}));
    EXPECT_EQ(choose_engine_cpus(7, 4, eight, loads), (Cpus{7, 6, 5, 4}));
    EXPECT_EQ(choose_engine_cpus(7, 5, eight, loads), (Cpus{7, 6, 5, 4, 3}));
    EXPECT_EQ(choose_engine_cpus(7, 8, eight, loads).back(), 2u) << "the busy one last";
    EXPECT_EQ(choose_engine_cpus(1, 5, {0, 1}, {}), (Cpus{1, 0, 1, 0, 1}));
    EXPECT_EQ(choose_engine_cpus(0, 2, {0}, {}), (Cpus{0, 0}));
    EXPECT_EQ(engines_for(eight, loads_of_four_cores()), 3u);
    EXPECT_EQ(engines_for({0, 1}, {}), 1u);
    EXPECT_EQ(engines_for({3}, {}), 1u);
    EXPECT_EQ(cpus_beside({7, 6}, eight), (Cpus{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(cpus_beside({1, 0, 1}, {0, 1}), (Cpus{0, 1})) << "there is no other";
}

// A calibration survives its file, and holds for the host that it was made on only.

Calibration example() {
    Calibration c{.date = "2026-11-21T03:45:12Z",
                  .kernel = "Linux 6.8.0",
                  .cpu_model = "A \"fast\" CPU",
                  .cpus_online = 8,
                  .engine_cpu = 7,
                  .wake_spin = {1, 2, 3, 4, 5},
                  .wake_hybrid = {6, 7, 8, 9, 10},
                  .wake_sleep = {11, 12, 13, 14, 15},
                  .spin_gaps_per_s = 1.5,
                  .spin_gap_max_ns = 66'000,
                  .spin_lost_share = 0.0625,
                  .fire_small = {16, 17, 18, 19, 20},
                  .fire_large = {21, 22, 23, 24, 25}};
    c.rehearsals.resize(2);
    c.rehearsals[1] = {200, 10'000, 9'990, 0.25, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, true, 0.75};
    c.chunks_per_s_max = 140'000;
    c.chunks_extrapolated = true;
    c.file_limit = 20'000;
    c.connections_max = 19'936;
    c.steal_share = 0.125;
    c.run_delay_share = 0.5;
    c.engines = 3;
    return c;
}

/// The one that the example was made on.
HostFacts example_host() {
    return HostFacts{.kernel = example().kernel,
                     .cpu_model = example().cpu_model,
                     .cpus_online = example().cpus_online};
}

// What others had of the CPU while a host was measured, by each thing that shows it.
TEST(Calibration, SaysThatOthersWereAtWork) {
    Calibration c;
    EXPECT_TRUE(noise_of(c).empty());
    c.steal_share = c.run_delay_share = c.spin_lost_share = noise_max;
    c.rehearsals.resize(2);
    c.rehearsals[0].taken_share = noise_max;
    EXPECT_TRUE(noise_of(c).empty());
    EXPECT_DOUBLE_EQ(taken_share(c), 2 * noise_max);  // stolen, and waited for what was left
    c.run_delay_share = 0.5;
    ASSERT_EQ(noise_of(c).size(), 1u);
    EXPECT_EQ(noise_of(c)[0], "other programs used the engine's CPU for up to 50.0 % of the time");
    c.steal_share = c.spin_lost_share = c.rehearsals[0].taken_share = noise_max + 0.001;
    ASSERT_EQ(noise_of(c).size(), 2u) << "one fact, however many things show it";
    EXPECT_TRUE(noise_of(c)[1].ends_with(" % to 50.0 % of the time")) << noise_of(c)[1];
    c.rehearsals[1].taken_share = 0.75;
    EXPECT_DOUBLE_EQ(taken_share(c), 0.75);
}

TEST(Calibration, ComesBackFromAWholeFileOnly) {
    const std::string text = to_json(example());
    const Calibration read = read_alone(read_calibration, text).value();
    EXPECT_EQ(to_json(read), text);
    EXPECT_EQ(read.rehearsals[1].receive_delay.count, 2u);
    EXPECT_EQ(read.spin_lost_share, 0.0625);
    const auto is_read = [](auto change) {
        Calibration c = example();
        change(c);
        return static_cast<bool>(read_alone(read_calibration, to_json(c)));
    };
    EXPECT_TRUE(is_read([](Calibration&) {}));
    EXPECT_FALSE(is_read([](Calibration& c) { c.wake_spin.p50_ns = c.wake_spin.p99_ns + 1; }));
    EXPECT_FALSE(is_read([](Calibration& c) { c.rehearsals[1].drift = {1, -3, -2, -1, 0}; }));
    EXPECT_FALSE(is_read([](Calibration& c) { c.rehearsals[0].taken_share = 1e9; }));
    EXPECT_FALSE(is_read([](Calibration& c) { c.steal_share = -0.5; }));
    EXPECT_EQ(
        read_alone(read_calibration, replaced(to_json(example()), "\"p99_ns\":13", "\"p98_ns\":13"))
            .error()
            .code,
        ErrorCode::missing);
    EXPECT_EQ(read_alone(read_calibration, "[]").error().code, ErrorCode::bad_json);
    EXPECT_EQ(read_alone(read_calibration, "{\"schema\": 2}").error().code, ErrorCode::unsupported);
    // Without a rehearsal the floor is what a thread that sleeps shows.
    Calibration some = example();
    some.rehearsals.clear();
    EXPECT_EQ(drift_floor_ns(some, 1'000), 13);
}

TEST(Calibration, HoldsForItsHostEnginesAndPriority) {
    HostFacts host = example_host();
    EXPECT_EQ(why_not_of(example(), host, {.engines = 3}), "");
    host.cpus_online = 4;
    EXPECT_TRUE(says(why_not_of(example(), host, {.engines = 3}), "8 x"));
    host.kernel = "Linux 6.9.0";
    EXPECT_TRUE(says(why_not_of(example(), host, {.engines = 3}), "6.9.0"));
    // Engines disturb each other: what one alone promises says nothing of one among three, nor the
    // other way what three read of one.
    const HostFacts same = example_host();
    EXPECT_EQ(why_not_of(example(), same, {.engines = 1}),
              "the calibration was made with 3 engines, but this run has 1");
    EXPECT_NE(why_not_of(example(), same, {.engines = 4}), "");
    EXPECT_EQ(why_not_of(example(), same, {.engines = engines_auto}), "") << "not decided yet";
    const std::string older = replaced(to_json(example()), "\"engines\":3,", "");
    EXPECT_EQ(read_alone(read_calibration, older).value().engines, 1u);
    // What one driver promises says nothing of the other. Files of before name none: it was
    // io_uring.
    const HostFacts other_host = example_host();
    Calibration epoll = example();
    epoll.driver = "epoll";
    const Calibration over = read_alone(read_calibration, to_json(epoll)).value();
    EXPECT_EQ(why_not_of(over, other_host, {.engines = 3, .driver = "epoll"}), "");
    EXPECT_EQ(why_not_of(over, other_host, {.engines = 3}), "") << "not decided yet";
    EXPECT_EQ(why_not_of(over, other_host, {.engines = 3, .driver = "io_uring"}),
              "the calibration was made over epoll, but this run is over io_uring");
    EXPECT_TRUE(
        says(why_not_of(example(), other_host, {.engines = 3, .driver = "epoll"}), "io_uring"));
    const std::string before = replaced(to_json(example()), "\"driver\":\"io_uring\",", "");
    EXPECT_EQ(read_alone(read_calibration, before).value().driver, "io_uring");
    // What a thread before all others promises says nothing of one among them; the other way it
    // holds.
    EXPECT_EQ(why_not_of(example(), other_host, {.realtime = true, .engines = 3}), "");
    Calibration realtime = example();
    realtime.realtime = true;
    const Calibration read = read_alone(read_calibration, to_json(realtime)).value();
    EXPECT_EQ(why_not_of(read, other_host, {.realtime = true, .engines = 3}), "");
    EXPECT_TRUE(says(why_not_of(read, other_host, {}), "this run has no --realtime"));
    const std::string other_older = replaced(to_json(example()), "\"realtime\":false,", "");
    EXPECT_FALSE(read_alone(read_calibration, other_older).value().realtime);
}

}  // namespace
}  // namespace driftless
