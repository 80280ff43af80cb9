#include "cmd/base/host_errors.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "engine/host/host.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

namespace {

constexpr std::string_view container_remedy =
    "Docker and Podman: driftless help seccomp.json > seccomp.json, then --security-opt "
    "seccomp=seccomp.json; Kubernetes: driftless help pod.yaml; more: driftless help containers.md";

// The mock's rings need between 1 and 2 MiB (Linux 6.18), those of a replay less; all rings of a
// user are counted together.
constexpr std::uint64_t locked_kib_enough = 8192;

std::string remedy(const Error& error, const RingBars& bars) {
    if (error.sys_errno == ENOMEM && bars.locked_kib > 0) {
        return fmt::format(
            "; rings count as locked memory, and this user can lock {} KiB: ulimit -l {} is enough",
            bars.locked_kib, locked_kib_enough);
    }
    if (error.code != ErrorCode::denied && error.code != ErrorCode::unsupported) {
        return "";
    }
    // A filter may answer EPERM (Docker) or ENOSYS (Podman): it is the likelier cause of both.
    std::string_view why = "use Linux 6.1 or newer, with io_uring allowed";
    if (bars.disabled != 0) {
        why =
            "kernel.io_uring_disabled forbids it: sysctl kernel.io_uring_disabled=0 on the host "
            "allows it";
    } else if (bars.filtered) {
        why = "a seccomp filter forbids it, as containers do by default";
    }
    return fmt::format("; {}{}{}", why, bars.filtered ? ". " : "",
                       bars.filtered ? container_remedy : "");
}

}  // namespace

RingBars read_ring_bars() {
    RingBars bars;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Seccomp:")) {
            bars.filtered = line.ends_with('2');
        }
    }
    std::ifstream("/proc/sys/kernel/io_uring_disabled") >> bars.disabled;
    rlimit locked{};
    if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur < locked_kib_enough * 1024) {
        bars.locked_kib = std::max<std::uint64_t>(locked.rlim_cur / 1024, 1);
    }
    utsname name{};
    if (::uname(&name) == 0) {
        bars.kernel = name.release;
    }
    return bars;
}

std::string ring_refusal(const Error& error, const RingBars& bars) {
    return fmt::format("cannot {} on Linux {}: {}{}", error.doing, bars.kernel, reason_of(error),
                       remedy(error, bars));
}

std::string_view RingProbe::feature(std::string_view name) const {
    for (const auto& [key, value] : features) {
        if (key == name) {
            return value;
        }
    }
    return "";
}

std::string RingProbe::text() const {
    std::string text = "single issuer, deferred work";
    text += feature("registered_ring") == "yes" ? ", registered ring" : "";
    text += feature("absolute_wait") == "yes" ? ", absolute wait" : "";
    text += feature("no_iowait") == "yes" ? ", no iowait" : "";
    text += "; kernel stamps: sent by " + std::string(feature("transmit_stamps"));
    return text + (feature("receive_stamps") == "yes" ? ", received" : ", not received");
}

RingProbe probe_ring() {
    UringOptions options;
    options.ops_max = 64;
    options.submit_entries = 64;
    options.buffers = 16;
    options.stamps = {true, true};
    const Result<std::unique_ptr<UringDriver>> driver = UringDriver::make(options);
    RingProbe probe;
    if (driver) {
        probe.features = driver.value()->features();
    } else {
        probe.refusal = ring_refusal(driver.error(), read_ring_bars());
    }
    return probe;
}

std::string pinning_refusal(std::uint32_t cpu, const Error& error) {
    const std::string flag = "--cpu " + std::to_string(cpu) + ": ";
    if (::sched_getscheduler(0) == SCHED_DEADLINE) {
        return flag + "the kernel pins no thread of the class deadline; start it without chrt -d";
    }
    if (error.code != ErrorCode::invalid) {
        return flag + "cannot pin the thread there: " + reason_of(error);
    }
    return flag + "this process is not allowed on that CPU; use one of " +
           cpu_list_text(allowed_cpus());
}

const char* name_of(Grade grade) {
    switch (grade) {
        case Grade::ok:
            return "ok";
        case Grade::warning:
            return "warning";
        case Grade::fault:
            return "fault";
    }
    return "";
}

}  // namespace driftless
