#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <latch>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "cmd/host/host.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/host/host.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static void read_cpus(const DoctorOptions& options, HostReadings& host) {
    const std::vector<CpuLoad> loads = sample_cpu_loads(cpu_sample_ns);
    host.engine_cpu = options.cpu
                          ? CpuChoice{*options.cpu, "--cpu"}
                          : choose_quiet_cpu(host.facts.cpus_allowed, isolated_cpus(), loads, {});
    const cpu_set_t all = cpu_set_of(host.facts.cpus_allowed);
    host.cannot_pin = ::sched_setaffinity(0, sizeof all, &all) == 0 ? "" : std::strerror(errno);
    for (const CpuLoad& load : loads) {
        if (load.cpu == host.engine_cpu.cpu && load.ticks > 0) {
            host.engine_cpu_busy = static_cast<double>(load.busy) / static_cast<double>(load.ticks);
        }
    }
}

/// `what` is RLIMIT_AS or the like.
static std::uint64_t limit_of(__rlimit_resource what) {
    rlimit limit{};
    const bool known = ::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

static void* wait_for_all(void* latch) {
    static_cast<std::latch*>(latch)->wait();
    return nullptr;
}

/// Starts as many threads as a replay has, and ends them: what the limits of user and container
/// leave is known to nobody else.
static std::uint32_t start_threads() {
    std::latch all(1);
    std::vector<pthread_t> threads;
    pthread_t thread{};
    pthread_attr_t small{};  // the limit of the address space is judged by itself
    constexpr std::size_t stack_bytes = 128 << 10;
    (void)::pthread_attr_init(&small);
    (void)::pthread_attr_setstacksize(&small, stack_bytes);
    while (threads.size() < threads_needed &&
           ::pthread_create(&thread, &small, &wait_for_all, &all) == 0) {
        threads.push_back(thread);
    }
    (void)::pthread_attr_destroy(&small);
    all.count_down();
    for (const pthread_t one : threads) {
        (void)::pthread_join(one, nullptr);
    }
    return static_cast<std::uint32_t>(threads.size());
}

static Network read_network() {
    struct ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return Network::more;  // not known: no warning
    }
    Network network = Network::none;
    for (const struct ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        const bool is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
        if ((one->ifa_flags & IFF_UP) != 0) {
            network = std::max(network, is_loopback ? Network::loopback : Network::more);
        }
    }
    ::freeifaddrs(all);
    return network;
}

/// The deepest folder on the way there that exists.
static std::filesystem::path existing_part(const std::string& path) {
    std::error_code ignored;
    std::filesystem::path part = std::filesystem::absolute(path, ignored);
    while (part.has_relative_path() && !std::filesystem::exists(part, ignored)) {
        part = part.parent_path();
    }
    return part;
}

static void read_folder(const std::string& folder, HostReadings& host) {
    host.folder = folder;
    const Result<void> placed = try_place(folder + "/doctor");
    if (!placed) {
        host.folder_refusal = reason_of(placed.error());
    }
    struct statvfs system{};
    if (::statvfs(existing_part(folder).c_str(), &system) == 0) {
        host.folder_bytes_free = std::uint64_t{system.f_bavail} * system.f_frsize;
        // Some systems of files have no such number.
        host.folder_files_free = system.f_files > 0 ? system.f_favail : UINT64_MAX;
    }
}

HostReadings read_host(const DoctorOptions& options) {
    HostReadings host;
    host.facts = read_host_facts();
    read_cpus(options, host);
    host.settings = read_host_settings(host.engine_cpu.cpu, host.facts.cpus_allowed.size());
    host.driver = probe_driver();
    // What root locks is not counted.
    host.lockable_bytes = ::geteuid() == 0 ? UINT64_MAX : limit_of(RLIMIT_MEMLOCK);
    host.cgroup = read_cgroup_limits();
    host.threads_started = start_threads();
    host.address_space_bytes = std::min(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
    host.file_bytes_max = limit_of(RLIMIT_FSIZE);
    host.scheduling = {::sched_getscheduler(0), ::getpriority(PRIO_PROCESS, 0)};
    host.network = read_network();
    host.clock = read_clock_source();
    host.interfaces = read_interfaces();
    host.port_reuse = reused_ports();
    host.receive_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_rmem", 2).value_or(0);
    host.send_bytes_max = kernel_number("/proc/sys/net/ipv4/tcp_wmem", 2).value_or(0);
    host.memory_available = available_memory();
    read_folder(options.folder, host);
    const FoundCalibration found =
        find_calibration("", host.facts, {.driver = name_of(host.driver.kind)});
    host.calibration_date = found.calibration ? found.calibration->date : "";
    host.why_no_calibration = found.why_not;
    return host;
}

// A page of 4 KiB takes 250 ns to copy: a clock that costs as much is felt at each chunk.
static constexpr std::int64_t clock_reading_ns_enough = 250;
static constexpr double busy_noticed = 0.05;
static constexpr std::uint64_t tasks_enough = 64;
static constexpr std::uint32_t ports_enough = 16'384;
// 1 MiB in flight at 10 ms of round trip is 100 MB/s: more than any answer, less than a prompt of
// a million tokens wants.
static constexpr std::int64_t window_enough = 1 << 20;
// Measured: the kernel kills a small replay with 40 MiB, and lets it run with 80.
static constexpr std::uint64_t memory_needed = std::uint64_t{80} << 20;
static constexpr std::uint64_t memory_enough = std::uint64_t{1} << 30;
// Measured with the sample of 240 rows: it fails with 130,000 KiB and runs with 140,000.
static constexpr std::uint64_t address_space_needed = std::uint64_t{136} << 20;
static constexpr std::uint64_t address_space_enough = std::uint64_t{1} << 30;
// Measured: one row on one connection fails with 12 and runs with 16.
static constexpr std::uint64_t files_needed = 16;
// Measured: run.json, the largest file that a run begins with, has 6,200 bytes.
static constexpr std::uint64_t file_needed = 16 << 10;
static constexpr std::uint64_t files_of_a_run = 12;
static constexpr std::uint64_t disk_enough = std::uint64_t{1} << 30;
// Measured: the rings and receive buffers of a replay fail with 160 KiB and come up with 200.
static constexpr std::uint64_t lockable_needed = std::uint64_t{200} << 10;
static constexpr std::uint64_t lockable_enough = std::uint64_t{256} << 20;  // a run of 2,000 lanes
static constexpr std::uint32_t receive_wait_us_enough = 20;

static HostFinding well(const char* topic, std::string found) {
    return {Grade::ok, topic, std::move(found), ""};
}
static HostFinding warning(const char* topic, std::string found, std::string remedy) {
    return {Grade::warning, topic, std::move(found), std::move(remedy)};
}
static HostFinding fault(const char* topic, std::string found, std::string remedy) {
    return {Grade::fault, topic, std::move(found), std::move(remedy)};
}

namespace {

/// Of something, the more the better: below `needed` no replay runs, from `enough` on nothing
/// lacks.
struct Rungs {
    std::uint64_t needed;
    std::uint64_t enough;
};

}  // namespace

static HostFinding graded(const char* topic, std::string found, std::uint64_t amount, Rungs rungs,
                          const char* remedy) {
    return amount >= rungs.enough   ? well(topic, std::move(found))
           : amount >= rungs.needed ? warning(topic, std::move(found), remedy)
                                    : fault(topic, std::move(found), remedy);
}
/// A limit of this process in bytes.
static HostFinding judge_limit(const char* topic, std::uint64_t bytes, Rungs rungs,
                               const char* remedy) {
    return bytes == UINT64_MAX
               ? well(topic, "not limited")
               : graded(topic, fmt::format("at most {} KiB", bytes >> 10), bytes, rungs, remedy);
}

/// A refusal is "what was found; what to do".
static HostFinding judge_driver(const DriverProbe& driver) {
    constexpr const char* topic = "io_uring";
    if (driver.refusal.empty()) {
        return well(topic, driver.text());
    }
    const std::size_t semicolon = driver.refusal.find("; ");
    const std::string found = driver.refusal.substr(0, semicolon);
    const std::string remedy = semicolon == std::string::npos
                                   ? "look for limits of this user: ulimit -a"
                                   : driver.refusal.substr(semicolon + 2);
    if (driver.kind != DriverKind::epoll) {
        return fault(topic, found, remedy);
    }
    return warning(topic, found,
                   "replays use epoll instead, for up to half more CPU time of the engine; to "
                   "allow io_uring: " +
                       remedy);
}

/// Of io_uring: "Linux 6.13.2" and newer bound one pass over completions, and those before 7.0 may
/// lose the end of a connection (engine/io/README.md).
static HostFinding judge_kernel(const HostFacts& facts, DriverKind driver) {
    int major = 0;
    int minor = 0;
    (void)std::sscanf(facts.kernel.c_str(), "Linux %d.%d", &major, &minor);
    const std::string found = facts.kernel + (facts.virtual_machine ? ", a virtual machine" : "");
    if (major > 6 || driver == DriverKind::epoll) {
        return well("kernel", found);
    }
    if (major == 6 && minor >= 13) {
        return warning("kernel", found,
                       "use Linux 7.0 or newer: before it, io_uring can lose the end of a "
                       "connection, which is then seen up to 1 s late");
    }
    return warning(
        "kernel", found,
        "use Linux 7.0 or newer: before 6.13, a pass over completions is unbounded, so a "
        "burst of tokens can delay a row; before 7.0, io_uring can lose the end of a "
        "connection, which is then seen up to 1 s late");
}

static HostFinding judge_engine_cpu(const HostReadings& host) {
    const std::vector<std::uint32_t>& allowed = host.facts.cpus_allowed;
    if (!allowed.empty() &&
        std::find(allowed.begin(), allowed.end(), host.engine_cpu.cpu) == allowed.end()) {
        return fault("engine's CPU",
                     fmt::format("CPU {}: this process is not allowed on it", host.engine_cpu.cpu),
                     "name another with --cpu, one of " + cpu_list_text(allowed));
    }
    if (!host.cannot_pin.empty()) {
        return fault("engine's CPU", "no thread can be pinned: " + host.cannot_pin, pinning_remedy);
    }
    const std::string found =
        fmt::format("CPU {}: {}", host.engine_cpu.cpu, host.engine_cpu.reason);
    const bool is_quiet = host.engine_cpu_busy <= busy_noticed;
    return judged(
        is_quiet, "engine's CPU",
        is_quiet || found.find("busy") != found.npos
            ? found
            : fmt::format("{}, {:.0f} % busy", found, 100 * host.engine_cpu_busy),
        "stop the programs on it, or isolate a core (isolcpus=, nohz_full=) and give it to --cpu");
}

static constexpr const char* no_groups = "not known: /proc/self/cgroup cannot be read";

static HostFinding judge_quota(const CgroupLimits& cgroup) {
    if (!cgroup.cpus) {
        return well("CPU quota", cgroup.known ? "none" : no_groups);
    }
    return warning(
        "CPU quota",
        fmt::format("{:.2f} CPUs in each {} ms; when they are used up, every thread stops until "
                    "the next period",
                    *cgroup.cpus, cgroup.period_us / 1000),
        "assign whole CPUs instead: --cpuset-cpus without --cpus (Docker, Podman), a Guaranteed "
        "pod with the static CPU manager (Kubernetes), an empty CPUQuota= (systemd)");
}

static HostFinding judge_tasks(const HostReadings& host) {
    const CgroupLimits& cgroup = host.cgroup;
    if (host.threads_started < threads_needed) {
        return {host.threads_started < threads_least ? Grade::fault : Grade::warning, "tasks",
                fmt::format(
                    "{} threads could be started; a replay needs {}, and up to {} with metrics, "
                    "events and a hook",
                    host.threads_started, threads_least, threads_needed),
                "raise the user's limit (ulimit -u, nproc in limits.conf) or the container's "
                "(--pids-limit, podPidsLimit, TasksMax=)"};
    }
    if (!cgroup.tasks_left) {
        return well("tasks", cgroup.known ? "not limited by the control group" : no_groups);
    }
    const std::string found = fmt::format("{} more can be started", *cgroup.tasks_left);
    constexpr const char* remedy =
        "raise the limit: --pids-limit (Docker, Podman), podPidsLimit (kubelet), TasksMax= "
        "(systemd)";
    return graded("tasks", found,
                  static_cast<std::uint64_t>(std::max<std::int64_t>(*cgroup.tasks_left, 0)),
                  {threads_least, tasks_enough}, remedy);
}

static HostFinding judge_locked(std::uint64_t lockable_bytes) {
    if (lockable_bytes == UINT64_MAX) {
        return well("locked memory", "not limited");
    }
    const std::string found = fmt::format("{} KiB may be locked", lockable_bytes / 1024);
    if (lockable_bytes < lockable_needed) {
        return warning("locked memory",
                       found + ", and io_uring needs 200 KiB: a replay uses epoll instead",
                       "ulimit -l 8192 (memlock in limits.conf, LimitMEMLOCK= of systemd)");
    }
    return judged(lockable_bytes >= lockable_enough, "locked memory", found,
                  "ulimit -l unlimited (memlock in limits.conf, LimitMEMLOCK= of systemd) keeps "
                  "the run's pages in memory");
}

static HostFinding judge_clock(const ClockSource& clock) {
    const std::string found =
        fmt::format("{}, {} ns per reading", clock.name.empty() ? "unnamed source" : clock.name,
                    clock.reading_ns);
    return judged(clock.reading_ns <= clock_reading_ns_enough, "clock", found,
                  "use a clock that needs no system call: clocksource=tsc tsc=reliable on the "
                  "kernel's command line");
}

static HostFinding judge_turbo(const std::optional<bool>& turbo) {
    return well("turbo", !turbo   ? "not known: the host does not report it"
                         : *turbo ? "on: speed depends on temperature and on other cores"
                                  : "off");
}

static void add_part(const char* name, const std::optional<bool>& on, std::string& text) {
    text += on ? fmt::format(", {} {}", name, *on ? "on" : "off") : "";
}

static HostFinding judge_interface(const Interface& one) {
    std::string found = fmt::format("{}: MTU {}", one.name, one.mtu);
    add_part("tso", one.tso, found);
    add_part("gso", one.gso, found);
    add_part("gro", one.gro, found);
    add_part("lro", one.lro, found);
    add_part("transmit stamps", one.transmit_stamps, found);
    if (one.receive_wait_us) {
        found += fmt::format(", interrupts {} us after a packet{}", *one.receive_wait_us,
                             one.receive_wait_adapts ? " (adaptive)" : "");
    }
    if (one.lro.value_or(false)) {
        return warning("interface", found, fmt::format("ethtool -K {} lro off", one.name));
    }
    if (one.receive_wait_us.value_or(0) > receive_wait_us_enough) {
        return warning(
            "interface", found,
            fmt::format(
                "ethtool -C {} adaptive-rx off rx-usecs 0: answers are delayed by this much",
                one.name));
    }
    return well("interface", found);
}

static HostFinding judge_ports(const HostReadings& host) {
    const std::uint32_t ports = host.settings.ports;
    if (ports == 0) {
        return well("ports", "not known: the host does not report its port range");
    }
    const std::string found = fmt::format(
        "{} for connections to one server{}", ports,
        host.port_reuse == 1 ? "" : "; each stays in use for 60 s after its connection");
    return judged(ports >= ports_enough, "ports", found,
                  "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" for more open "
                  "connections");
}

static HostFinding judge_window(const char* topic, const char* setting, const char* what,
                                std::int64_t bytes) {
    if (bytes == 0) {
        return well(topic, "not known: the host does not report it");
    }
    return judged(bytes >= window_enough, topic, fmt::format("up to {} KiB {}", bytes / 1024, what),
                  fmt::format("sysctl -w net.ipv4.{}=\"4096 131072 6291456\"", setting));
}

static HostFinding judge_memory(std::uint64_t bytes, const std::optional<std::int64_t>& of_group) {
    if (of_group && static_cast<std::uint64_t>(*of_group) < memory_enough) {
        return graded(
            "memory", fmt::format("the control group may have {} MiB", *of_group / (1 << 20)),
            static_cast<std::uint64_t>(*of_group), {memory_needed, memory_enough},
            "raise the container's limit (--memory, resources.limits.memory, MemoryMax=): a replay "
            "needs 80 MiB and the trace");
    }
    const std::string found = fmt::format("{} MiB free", bytes >> 20);
    return bytes == 0 ? well("memory", "not known: the host does not report it")
                      : graded("memory", found, bytes, {0, memory_enough},
                               "stop other programs, or raise the container's limit: a replay "
                               "needs about 100 MiB and the trace");
}

static HostFinding judge_address_space(std::uint64_t bytes) {
    return judge_limit(
        "address space", bytes, {address_space_needed, address_space_enough},
        "ulimit -v unlimited, and ulimit -d unlimited: a small replay needs 136 MiB, a large trace "
        "or many connections more");
}

static HostFinding judge_file_size(std::uint64_t bytes) {
    return judge_limit(
        "file size", bytes, {file_needed, disk_enough},
        "ulimit -f unlimited: in the records a row needs about 1 KiB plus 50 bytes per token");
}

static HostFinding judge_scheduling(const SchedulingClass& scheduling) {
    constexpr const char* topic = "scheduling";
    switch (scheduling.policy) {
        case SCHED_IDLE:
            return warning(topic, "this process has the class idle: all others run before it",
                           "start it without chrt -i (chrt -o 0 COMMAND)");
        case SCHED_BATCH:
            return warning(topic, "this process has the class batch: it is woken late",
                           "start it without chrt -b (chrt -o 0 COMMAND)");
        case SCHED_DEADLINE:
            return fault(topic, "this process has the class deadline: it can start no thread",
                         "start it without chrt -d (chrt -o 0 COMMAND)");
        case SCHED_OTHER:
            break;
        default:
            return well(topic, "before all ordinary threads");
    }
    const std::string found = fmt::format("ordinary, nice {}", scheduling.nice);
    return scheduling.nice <= 0
               ? well(topic, found)
               : warning(topic, found + ": programs that are less nice run before it",
                         "start it without nice (sudo renice 0 -p $$ for this shell)");
}

static HostFinding judge_network(Network network) {
    constexpr const char* topic = "network";
    if (network == Network::none) {
        return warning(topic, "no interface is up, not even the loopback",
                       "ip link set lo up, or share the host's network (--network host): only "
                       "servers on Unix sockets can be reached");
    }
    return network == Network::loopback
               ? warning(topic, "only the loopback is up",
                         "connect an interface: only servers on this host can be reached")
               : well(topic, "an interface is up");
}

/// What `calibrate` advises, and the least without which nothing is sent.
static HostFinding judge_setting(const HostSettings& settings, HostFinding advice) {
    if (advice.topic == std::string_view("open files") && settings.file_limit < files_needed) {
        advice.grade = Grade::fault;
        advice.remedy = fmt::format(
            "ulimit -n 65536: a replay needs {} files and one for each "
            "connection",
            files_needed);
    }
    return advice;
}

static HostFinding judge_folder(const HostReadings& host) {
    if (!host.folder_refusal.empty()) {
        return fault("folder of runs",
                     fmt::format("{} cannot be created: {}", host.folder, host.folder_refusal),
                     "name a writable folder with --out, or run in another directory");
    }
    if (host.folder_bytes_free == UINT64_MAX) {
        return well("folder of runs", host.folder + " is writable");
    }
    if (host.folder_bytes_free < file_needed || host.folder_files_free < files_of_a_run) {
        return fault("folder of runs",
                     fmt::format("{} has no room: {} KiB and {} files are free", host.folder,
                                 host.folder_bytes_free >> 10, host.folder_files_free),
                     "free some space, or name another folder with --out");
    }
    const std::string found =
        fmt::format("{} is writable, {} MiB free", host.folder, host.folder_bytes_free >> 20);
    return judged(host.folder_bytes_free >= disk_enough, "folder of runs", found,
                  "a row needs about 1 KiB plus 50 bytes per token; name another folder with "
                  "--out, or use --chunks none");
}

static HostFinding judge_calibration(const HostReadings& host) {
    return host.calibration_date.empty()
               ? warning("calibration", host.why_no_calibration,
                         "run driftless calibrate once while nothing else runs (20 s)")
               : well("calibration", "of " + host.calibration_date);
}

std::vector<HostFinding> judge_host(const HostReadings& host) {
    std::vector<HostFinding> all{judge_kernel(host.facts, host.driver.kind),
                                 judge_driver(host.driver),
                                 judge_engine_cpu(host),
                                 judge_quota(host.cgroup),
                                 judge_tasks(host),
                                 judge_locked(host.lockable_bytes),
                                 judge_clock(host.clock),
                                 judge_turbo(host.settings.power.turbo)};
    for (HostFinding& finding : judge_settings(host.settings)) {
        all.push_back(judge_setting(host.settings, std::move(finding)));
    }
    all.push_back(judge_scheduling(host.scheduling));
    all.push_back(judge_network(host.network));
    for (const Interface& interface : host.interfaces) {
        all.push_back(judge_interface(interface));
    }
    all.push_back(judge_ports(host));
    all.push_back(judge_window("receiving", "tcp_rmem", "of an answer can wait in the kernel",
                               host.receive_bytes_max));
    all.push_back(
        judge_window("sending", "tcp_wmem", "of a prompt can be in transit", host.send_bytes_max));
    all.push_back(judge_memory(host.memory_available, host.cgroup.memory_bytes));
    all.push_back(judge_address_space(host.address_space_bytes));
    all.push_back(judge_file_size(host.file_bytes_max));
    all.push_back(judge_folder(host));
    all.push_back(judge_calibration(host));
    return all;
}

static constexpr int doctor_schema = 1;

static std::ptrdiff_t count_of(const std::vector<HostFinding>& findings, Grade grade) {
    return std::ranges::count(findings, grade, &HostFinding::grade);
}

static void print_text(const std::vector<HostFinding>& findings) {
    for (const HostFinding& one : findings) {
        print(stdout, "{:<8} {:<15} {}\n", name_of(one.grade), one.topic, one.found);
        if (!one.remedy.empty()) {
            print(stdout, "{:<8} {:<15} > {}\n", "", "", one.remedy);
        }
    }
    const std::ptrdiff_t faults = count_of(findings, Grade::fault);
    const std::ptrdiff_t warnings = count_of(findings, Grade::warning);
    print(stdout, "{}; {} warning{}\n",
          faults == 0 ? "a replay can run here" : "a replay cannot run here", warnings,
          warnings == 1 ? "" : "s");
}

static std::string to_json(const std::vector<HostFinding>& findings) {
    const auto put_finding = [](JsonWriter& json, const HostFinding& one) {
        put_object(json, {{"grade", one.grade},
                          {"topic", one.topic},
                          {"found", one.found},
                          {"remedy", or_null(one.remedy)}});
    };
    return json_text(JsonPairs{{"schema", doctor_schema},
                               {"driftless", version()},
                               {"can_replay", count_of(findings, Grade::fault) == 0},
                               {"findings", put_each(findings, put_finding)}}) +
           "\n";
}

int run_doctor(int argc, char** argv) {
    const DoctorCommandLine parsed = parse_doctor_options({argv + 1, argv + argc});
    if (const std::optional<int> code = parsed.finish()) {
        return *code;
    }
    const std::vector<HostFinding> findings = judge_host(read_host(parsed.options));
    if (parsed.options.json) {
        std::fputs(to_json(findings).c_str(), stdout);
    } else {
        print_text(findings);
    }
    return count_of(findings, Grade::fault) == 0 ? exit_done : exit_host;
}

}  // namespace driftless
