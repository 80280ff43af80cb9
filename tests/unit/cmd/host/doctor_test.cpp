// What the host can do.

#include <sched.h>

#include "cmd/base/this_host.hpp"
#include "cmd/host/host.hpp"
#include "tests/test.hpp"

namespace driftless {

// What the doctor says of a host: each reading at the limit that it names, and one beyond it.

namespace {

/// A host at which nothing is wrong.
HostReadings good_host() {
    HostReadings host{
        .facts = {.kernel = "Linux 7.0.0-amd64"},
        .driver = {.kind = DriverKind::io_uring,
                   .features = {{"registered_ring", "yes"}, {"transmit_stamps", "io_uring"}}},
        .settings = {.power = {"performance", "C1", 2, true},
                     .cpus_allowed = 3,
                     .file_limit = 4096,
                     .backlog_max = 1024,
                     .ports = 28'232},
        .engine_cpu = {2, "isolated from the scheduler"},
        .clock = {"tsc", 20}};
    host.receive_bytes_max = host.send_bytes_max = 6 << 20;
    host.memory_available = std::uint64_t{8} << 30;
    host.folder = "runs";
    host.calibration_date = "2026-11-25T10:00:00Z";
    return host;
}

HostFinding finding_of(const HostReadings& host, std::string_view topic) {
    for (const HostFinding& one : judge_host(host)) {
        if (one.topic == topic) {
            return one;
        }
    }
    ADD_FAILURE() << "no finding about " << topic;
    return {};
}

/// Grades of the finding about `topic`, one for each value that `set` gives to a good host.
template <typename Value>
void expect_grades(std::string_view topic, void (*set)(HostReadings&, Value),
                   const std::vector<std::pair<Value, Grade>>& grades) {
    HostReadings host = good_host();
    for (const auto& [value, grade] : grades) {
        set(host, value);
        EXPECT_EQ(finding_of(host, topic).grade, grade) << topic << testing::PrintToString(value);
    }
}

TEST(Doctor, FindsAGoodHostWellAndRemediesForOthers) {
    for (const HostFinding& one : judge_host(good_host())) {
        EXPECT_EQ(one.grade, Grade::ok) << one.topic << ": " << one.found;
        EXPECT_EQ(one.remedy, "") << one.topic;
        EXPECT_NE(one.found, "") << one.topic;
    }
    HostReadings bad;  // nothing can be read, and nothing is there
    bad.driver.refusal =
        "cannot set up io_uring on Linux 5.10: denied; a seccomp filter forbids it";
    bad.facts.kernel = "Linux 5.10";
    bad.cgroup = {0.5, 100'000, 3, 1 << 20};
    bad.engine_cpu_busy = 0.4;
    bad.lockable_bytes = 64 << 10;
    bad.clock = {"hpet", 900};
    bad.settings.power = {"powersave", "C6", 133, std::nullopt};
    bad.settings.slow_start_after_idle = true;
    bad.settings.backlog_max = 128;
    bad.settings.ports = 1000;
    bad.receive_bytes_max = bad.send_bytes_max = 65536;
    bad.memory_available = 1;
    bad.folder_refusal = "Read-only file system";
    bad.why_no_calibration = "driftless calibrate has not run on this host";
    bad.threads_started = 2;
    bad.address_space_bytes = 1 << 20;
    bad.file_bytes_max = 1 << 10;
    bad.scheduling = {SCHED_IDLE, 0};
    bad.network = Network::none;
    bad.interfaces = {{"eth0", 1500, true, true, true, true, 100, true, false}};
    int well = 0;
    for (const HostFinding& one : judge_host(bad)) {
        well += one.grade == Grade::ok ? 1 : 0;
        EXPECT_EQ(one.remedy.empty(), one.grade == Grade::ok) << one.topic << ": " << one.found;
        EXPECT_EQ(one.remedy.find('\n'), one.remedy.npos) << one.topic;
    }
    EXPECT_EQ(well, 1) << "turbo";
}

// Without io_uring a replay runs over epoll; without both it does not.
TEST(Doctor, SaysWhatTheKernelRefusesAndBounds) {
    HostReadings host = good_host();
    host.driver.kind = DriverKind::automatic;
    host.driver.refusal =
        "cannot set up io_uring on Linux 6.1: Operation not permitted; a filter "
        "forbids it. Docker: x; more in y";
    const HostFinding ring = finding_of(host, "io_uring");
    EXPECT_EQ(ring.grade, Grade::fault);
    EXPECT_EQ(ring.found, "cannot set up io_uring on Linux 6.1: Operation not permitted");
    EXPECT_EQ(ring.remedy, "a filter forbids it. Docker: x; more in y");
    host.driver.kind = DriverKind::epoll;
    const HostFinding instead = finding_of(host, "io_uring");
    EXPECT_EQ(std::tuple(instead.grade, instead.found), std::tuple(Grade::warning, ring.found));
    EXPECT_TRUE(instead.remedy.starts_with("replays use epoll instead"));
    EXPECT_TRUE(instead.remedy.ends_with("to allow io_uring: " + ring.remedy));
    host = good_host();
    struct Kernel {
        const char* name;
        bool bounds;
        bool tells_ends;
    };
    for (const Kernel& kernel : {Kernel{"Linux 6.12.99", false, false},
                                 {"Linux 6.13.0", true, false},
                                 {"Linux 6.19.9", true, false},
                                 {"Linux 7.0.1", true, true},
                                 {"Linux 5.15", false, false}}) {
        host.facts.kernel = kernel.name;
        const HostFinding found = finding_of(host, "kernel");
        EXPECT_EQ(found.grade, kernel.tells_ends ? Grade::ok : Grade::warning) << kernel.name;
        EXPECT_EQ(found.remedy.find("a pass over") == found.remedy.npos, kernel.bounds);
        EXPECT_EQ(found.remedy.find("lose the end") == found.remedy.npos, kernel.tells_ends);
    }
    host.driver.kind = DriverKind::epoll;
    EXPECT_EQ(finding_of(host, "kernel").grade, Grade::ok) << "both are of io_uring";
    expect_grades<std::int64_t>(
        "tasks",
        [](HostReadings& other_host, std::int64_t left) { other_host.cgroup.tasks_left = left; },
        {{1, Grade::fault}, {2, Grade::warning}, {63, Grade::warning}, {64, Grade::ok}});
}

// What a replay cannot do without, and what it does worse with: each at its limit.
TEST(Doctor, SeesWhatKeepsAReplayFromRunning) {
    HostReadings host = good_host();
    host.threads_started = threads_needed - 1;
    EXPECT_EQ(finding_of(host, "tasks").grade, Grade::warning);
    EXPECT_TRUE(finding_of(host, "tasks").found.starts_with("7 threads could be started"));
    host.threads_started = threads_least - 1;
    EXPECT_EQ(finding_of(host, "tasks").grade, Grade::fault);
    expect_grades<std::uint64_t>(
        "locked memory", [](HostReadings& of, std::uint64_t kib) { of.lockable_bytes = kib << 10; },
        {{199, Grade::warning}, {200, Grade::warning}, {256 << 10, Grade::ok}});
    host.lockable_bytes = 199 << 10;
    EXPECT_TRUE(finding_of(host, "locked memory").found.ends_with("a replay uses epoll instead"));
    host.lockable_bytes = 200 << 10;
    EXPECT_EQ(finding_of(host, "locked memory").found, "200 KiB may be locked");
    expect_grades<std::int64_t>(
        "memory", [](HostReadings& of, std::int64_t mib) { of.cgroup.memory_bytes = mib << 20; },
        {{79, Grade::fault}, {80, Grade::warning}, {1024, Grade::ok}});
    host.folder_bytes_free = std::uint64_t{2} << 30;
    host.folder_files_free = 11;
    EXPECT_EQ(finding_of(host, "folder of runs").grade, Grade::fault);
    host.folder_files_free = 12;
    EXPECT_EQ(finding_of(host, "folder of runs").grade, Grade::ok);
    host.folder_bytes_free = 0;
    EXPECT_EQ(finding_of(host, "folder of runs").grade, Grade::fault);
    expect_grades<std::uint32_t>(
        "open files", [](HostReadings& of, std::uint32_t files) { of.settings.file_limit = files; },
        {{15, Grade::fault}, {16, Grade::warning}, {4095, Grade::warning}, {4096, Grade::ok}});
    expect_grades<std::uint64_t>(
        "address space",
        [](HostReadings& of, std::uint64_t mib) { of.address_space_bytes = mib << 20; },
        {{135, Grade::fault}, {136, Grade::warning}, {1023, Grade::warning}, {1024, Grade::ok}});
    expect_grades<std::uint64_t>(
        "file size", [](HostReadings& of, std::uint64_t kib) { of.file_bytes_max = kib << 10; },
        {{15, Grade::fault},
         {16, Grade::warning},
         {(1 << 20) - 1, Grade::warning},
         {1 << 20, Grade::ok}});
    host.facts.cpus_allowed = {0, 1, 2};
    EXPECT_EQ(finding_of(host, "engine's CPU").grade, Grade::ok);
    host.engine_cpu = {99, "--cpu"};
    EXPECT_EQ(finding_of(host, "engine's CPU").grade, Grade::fault);
    EXPECT_EQ(finding_of(host, "engine's CPU").remedy, "name another with --cpu, one of 0-2");
    host.engine_cpu = {0, "--cpu"};
    host.cannot_pin = "Operation not permitted";
    EXPECT_EQ(finding_of(host, "engine's CPU").grade, Grade::fault);
}

TEST(Doctor, WarnsAndGivesTheAdviceOfCalibrate) {
    expect_grades<SchedulingClass>(
        "scheduling", [](HostReadings& host, SchedulingClass of) { host.scheduling = of; },
        {{{SCHED_OTHER, 0}, Grade::ok},
         {{SCHED_OTHER, -5}, Grade::ok},
         {{SCHED_OTHER, 1}, Grade::warning},
         {{SCHED_BATCH, 0}, Grade::warning},
         {{SCHED_DEADLINE, 0}, Grade::fault},
         {{SCHED_IDLE, 0}, Grade::warning},
         {{SCHED_FIFO, 0}, Grade::ok}});
    expect_grades<Network>("network", [](HostReadings& host, Network of) { host.network = of; },
                           {{Network::none, Grade::warning},
                            {Network::loopback, Grade::warning},
                            {Network::more, Grade::ok}});
    HostReadings host = good_host();
    host.interfaces = {{.name = "eth1", .receive_wait_us = 20}};
    EXPECT_EQ(finding_of(host, "interface").grade, Grade::ok);
    host.interfaces[0].receive_wait_us = 21;
    const HostFinding late = finding_of(host, "interface");
    EXPECT_EQ(late.grade, Grade::warning);
    EXPECT_TRUE(late.remedy.starts_with("ethtool -C eth1 ")) << late.remedy;
    HostReadings full = good_host();
    full.folder = "/data/runs";
    full.folder_refusal = "Read-only file system";
    const HostFinding folder = finding_of(full, "folder of runs");
    EXPECT_EQ(folder.grade, Grade::fault);
    EXPECT_EQ(folder.found, "/data/runs cannot be created: Read-only file system");
    host = good_host();
    host.settings.power.governor = "powersave";
    host.settings.file_limit = 1024;
    std::vector<std::string> of_doctor;
    for (const HostFinding& one : judge_host(host)) {
        if (one.grade != Grade::ok) {
            of_doctor.push_back(one.found + ": " + one.remedy);
        }
    }
    EXPECT_EQ(of_doctor, advice_of(Calibration{}, host.settings));
    EXPECT_EQ(of_doctor.size(), 2U);
}

// The chunk rate at 60 % of the core, from a few rehearsals.

Rehearsal rehearsal_of(std::int64_t chunks, double busy) {
    return {.chunks = chunks, .busy_share = busy};
}

// Between the rehearsals around it, or drawn on where nothing came near.
TEST(Capacity, IsWhereRehearsalsReachTheLimit) {
    const auto is = [](const std::vector<Rehearsal>& rehearsals, double chunks_per_s,
                       bool drawn_on) {
        const Capacity found = capacity_of(rehearsals, 0.6);
        EXPECT_EQ(found.chunks_per_s, chunks_per_s);
        EXPECT_EQ(found.extrapolated, drawn_on) << chunks_per_s;
    };
    is({rehearsal_of(10'000, 0.2), rehearsal_of(50'000, 0.4), rehearsal_of(100'000, 0.8)}, 75'000,
       false);
    is({rehearsal_of(10'000, 0.1), rehearsal_of(50'000, 0.3)}, 100'000, true);
    is({rehearsal_of(90'000, 0.9)}, 60'000, false);
    EXPECT_EQ(capacity_of({}, 0.6).chunks_per_s, 0);
}

}  // namespace
}  // namespace driftless
