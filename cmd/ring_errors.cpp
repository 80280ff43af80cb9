#include "cmd/ring_errors.hpp"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <cstring>
#include <fstream>
#include <string_view>

namespace driftless {

namespace {

constexpr std::string_view container_remedy =
    "Docker and Podman: --security-opt seccomp=cmd/containers/seccomp.json; Kubernetes: "
    "cmd/containers/pod.yaml; more in cmd/containers/README.md";

std::string_view remedy(const Error& error, const RingBars& bars) {
    if (error.code != ErrorCode::denied && error.code != ErrorCode::unsupported) {
        return "";
    }
    // A filter may answer EPERM (Docker) or ENOSYS (Podman): it is the likelier cause of both.
    if (bars.disabled == 0 && bars.filtered) {
        return "a seccomp filter forbids it, as containers do by default. ";
    }
    if (bars.disabled != 0) {
        return "kernel.io_uring_disabled forbids it: sysctl kernel.io_uring_disabled=0 on the "
               "host allows it. ";
    }
    return "the kernel must be Linux 6.1 or newer and allow io_uring. ";
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
    utsname name{};
    if (::uname(&name) == 0) {
        bars.kernel = name.release;
    }
    return bars;
}

std::string ring_refusal(const Error& error, const RingBars& bars) {
    const std::string_view why = remedy(error, bars);
    return fmt::format("cannot {} on Linux {}: {}{}{}{}", error.doing, bars.kernel,
                       error.sys_errno != 0 ? std::strerror(error.sys_errno) : name_of(error.code),
                       why.empty() ? "" : "; ", why,
                       !why.empty() && bars.filtered ? container_remedy : "");
}

}  // namespace driftless
