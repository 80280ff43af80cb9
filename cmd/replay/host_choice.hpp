/// The host side of a replay, decided before time 0: CPUs, waiting, limits, rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/flags/replay_options.hpp"
#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/wait_graph.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/settings.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct HostChoice {
    CpuChoice engine_cpu;                   ///< of the first engine
    std::vector<std::uint32_t> other_cpus;  ///< of the other engines
    std::vector<std::uint32_t> apart;       ///< CPUs that the engines leave free; or all
    std::vector<std::uint32_t> writer_cpus;
    WriterSeat writer;  ///< on those
    WaitPolicy wait = WaitPolicy::hybrid;
    Granted granted;                            ///< to the threads of the engines
    DriverKind driver = DriverKind::automatic;  ///< of all engines; automatic: not decided yet
    std::string why_not_ring;     ///< and not io_uring; empty: it is, or was asked for
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

/// The driver of an engine with so many connections.
DriverOptions driver_options(const HostFlags& flags, DriverKind kind, std::uint32_t lanes);

// Placement: one decision over the threads of a replay and the CPUs of its host: where the writer
// runs, how the engines wait, and how the kernel schedules them. Each part is a flag; what no flag
// says follows from the host. Plain values, decided before time 0 and written into run.json.
//
// What was measured on two CPUs beside a server that may run on both is in perf/baselines
// (placement); engine/README.md has the reasons.

struct PlacementFacts {
    std::vector<std::uint32_t> allowed;      ///< CPUs of this process
    std::vector<std::uint32_t> engine_cpus;  ///< [engine]
    bool server_is_here = false;             ///< a server runs on the same host
    bool yielding_is_free = false;           ///< a keeper takes no CPU time from its own group
    bool has_limit = false;     ///< of CPU time (quota, ulimit -t): what waits busily uses it up
    bool has_all_cpus = false;  ///< of the host; else a keeper cannot see what it disturbs
};

struct Placement {
    std::vector<std::uint32_t> writer_cpus;
    bool gives_way = false;  ///< the writer, because an engine has the same CPU
    bool may_leave = false;  ///< for the CPUs that are left, while it cannot keep up
    WaitPolicy wait = WaitPolicy::hybrid;
    Scheduling scheduling = Scheduling::ordinary;  ///< to ask for
    std::string reason;                            ///< of the writer's CPUs, for people
};

Placement choose_placement(const HostFlags& flags, const PlacementFacts& facts);

// Needs: what a whole plan will take from this host, estimated before time 0, so that a limit of
// the host is reported with its remedy while it can still be raised. Pure functions.

/// The most requests that are open at one instant, each on a connection of its own.
struct OpenEstimate {
    std::uint64_t most = 0;
    std::int64_t at_ns = 0;  ///< run time of the first such instant
};
OpenEstimate open_estimate(const Plan& plan, const Trace& trace,
                           std::int64_t token_ns = token_ns_estimated);

/// A warning if more requests are estimated to be open than the host has room for; else empty.
std::string open_warning(const OpenEstimate& estimate, const ConnectionRoom& room);

/// Bodies are held from arming until the kernel has taken them. Within this time as many are built
/// and handed over as the memory for them can hold (64 MiB at 1.3 GB/s: half of what building
/// reaches, and a 10 Gbit/s interface).
inline constexpr std::int64_t bodies_turnover_ns = 50'000'000;

/// The most that is due within any stretch of that length, its end left out. `amounts`: [rows of
/// the plan] bytes, or tokens.
std::uint64_t most_within(const Plan& plan, const std::vector<std::size_t>& amounts,
                          std::int64_t stretch_ns);

/// Bytes for events (engine/record/ring.hpp), so that the writer may stall. All that the plan
/// brings, or what its busiest second brings, by `dues_known`: not where rows wait for others,
/// which may all come within one second. Four times that: retries, longer texts, answers that come
/// together. `lengths_known`: no answer is longer than the trace says. Between the two bounds
/// below.
std::size_t event_ring_bytes(const Plan& plan, const Trace& trace, bool lengths_known,
                             bool dues_known);
/// A few of the largest events that an answer may have (ring.hpp), for every plan.
inline constexpr std::size_t event_ring_bytes_min = std::size_t{8} << 20;
/// 0.2 s of 500 k chunks/s at 320 bytes each; the writer takes that in the same time.
inline constexpr std::size_t event_ring_bytes_max = std::size_t{32} << 20;
/// Of a row, its head and its entries; of a token, its event. Twice to three times what is common.
inline constexpr std::size_t row_event_bytes = 2048;
inline constexpr std::size_t token_event_bytes = 1024;

/// A warning if `needed` bytes of bodies are due at once and there is only room for `room`; else
/// empty.
std::string bodies_warning(std::uint64_t needed, std::uint64_t room);

}  // namespace driftless
