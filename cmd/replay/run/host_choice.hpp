/// The host side of a replay, decided before time 0: CPUs, waiting, limits, rings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/or_exit.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/host/host.hpp"
#include "engine/host/scheduling.hpp"
#include "engine/io/uring.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

struct HostChoice {
    CpuChoice engine_cpu;                   ///< of the first engine
    std::vector<std::uint32_t> other_cpus;  ///< of the other engines
    std::vector<std::uint32_t> apart;       ///< CPUs that the engines leave free; or all
    std::vector<std::uint32_t> writer_cpus;
    WriterSeat writer;  ///< on those
    WaitPolicy wait = WaitPolicy::hybrid;
    Granted granted;              ///< to the threads of the engines
    bool server_is_here = false;  ///< a server shares the CPUs of this host
    std::string placement;        ///< why the writer and the engines' threads are placed so
    std::uint64_t file_limit = 0;
    std::uint32_t inflight_max = 0;
    std::uint32_t connections_max = 0;  ///< that there is room for
    bool capped_by_host = false;  ///< `inflight_max` is what there is room for, not what was asked

    std::uint32_t engines() const { return static_cast<std::uint32_t>(1 + other_cpus.size()); }
    /// [engine]
    std::vector<std::uint32_t> engine_cpus() const {
        std::vector<std::uint32_t> cpus{engine_cpu.cpu};
        cpus.insert(cpus.end(), other_cpus.begin(), other_cpus.end());
        return cpus;
    }
};

/// Chooses, pins this thread to the engine's CPU, has it scheduled, and prints what was chosen, or
/// what is missing and how much. `targets`: where rows go to.
OrExit<HostChoice> choose_host(const ReplayOptions& options, const Workload& workload,
                               const std::vector<Endpoint>& targets);

/// Requests that may be open at once, were there no other bound.
std::size_t requests_most(const Plan& plan, const UserRules& users);
/// Connections that may be in use at once.
std::uint32_t lanes_most(const ReplayOptions& options, const Plan& plan, const UserRules& users,
                         const HostChoice& host);

/// How many connections can be open, and what bounds them.
struct ConnectionRoom {
    std::uint64_t file_limit = 0;  ///< open files of this process
    std::uint64_t ports = 0;       ///< over all targets; 0: nothing bounds them
    std::uint32_t engines = 1;     ///< each needs a part of the connections
};
/// At least one.
std::uint32_t connections_most(const ConnectionRoom& room);
/// Why `needed` connections cannot be open at once, with the numbers and the remedies; empty: they
/// can. `what` names what needs them.
std::string why_too_many(std::uint64_t needed, const std::string& what, const ConnectionRoom& room);

/// A connection that we close first keeps its port for this long (the kernel's TIME_WAIT), or,
/// where net.ipv4.tcp_tw_reuse lets the port be taken again, for a second.
inline constexpr std::int64_t port_kept_ns = 60'000'000'000;
inline constexpr std::int64_t port_reused_ns = 1'000'000'000;

/// Most rows that are due within any stretch of that length, its end left out.
std::uint64_t rows_within(const Plan& plan, std::int64_t stretch_ns);

/// A warning for `--connection fresh`, where each row takes a port: `rows` are due while a port is
/// kept for `kept_ns`, and there are only `ports`. Empty: there are enough.
std::string ports_run_out(std::uint64_t rows, std::int64_t kept_ns, std::uint64_t ports);

/// Receive buffers of an engine with so many connections, a power of two: eight each, since one
/// look at the kernel may find several pieces of an answer, or some large ones.
std::uint32_t receive_buffers_for(std::uint32_t lanes);
inline constexpr std::uint32_t receive_buffers_min = 256;
inline constexpr std::uint32_t receive_buffers_max = 4096;

/// The rings of an engine with so many connections.
UringOptions ring_options(const HostFlags& flags, std::uint32_t lanes);
/// Those of the calling thread. Prints why the kernel refuses, with the remedy.
OrExit<std::unique_ptr<UringDriver>> make_driver(const HostFlags& flags, std::uint32_t lanes);

}  // namespace driftless
