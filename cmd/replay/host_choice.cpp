#include "cmd/replay/host_choice.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

#include "cmd/base/program.hpp"
#include "cmd/base/this_host.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/checks.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "engine/host/cpu_load.hpp"

namespace driftless {

/// With fewer CPUs than these beside the engines a server of this host needs them all.
static constexpr std::size_t roomy_cpus = 3;
/// An engine that never sleeps needs one CPU for the rest of us and one for everybody else.
static constexpr std::size_t spin_cpus = 2;

/// Of these CPUs, those that an engine has.
static std::size_t engines_on(const PlacementFacts& facts, const std::vector<std::uint32_t>& cpus) {
    return static_cast<std::size_t>(
        std::count_if(cpus.begin(), cpus.end(), [&facts](std::uint32_t cpu) {
            return std::find(facts.engine_cpus.begin(), facts.engine_cpus.end(), cpu) !=
                   facts.engine_cpus.end();
        }));
}

static std::size_t spare_cpus(const PlacementFacts& facts) {
    return facts.allowed.size() - engines_on(facts, facts.allowed);
}

static void place_writer(const HostFlags& flags, const PlacementFacts& facts, Placement& out) {
    using Where = WriterCpu::Where;
    const std::size_t spare = spare_cpus(facts);
    const bool never_sleeps = flags.wait == WaitPolicy::spin;
    const Where where = flags.writer_cpu.where;
    if (where == Where::on) {
        out.writer_cpus = {flags.writer_cpu.cpu};
        out.reason = "--writer-cpu";
    } else if (spare == 0) {
        out.writer_cpus = facts.allowed;
        out.reason = "there is no other";
    } else if (where == Where::automatic && facts.server_is_here && spare < roomy_cpus &&
               !never_sleeps) {
        out.writer_cpus = facts.engine_cpus;
        out.may_leave = true;
        out.reason = "the engine's: the server, on this host, can use the rest";
    } else if (where == Where::beside) {
        out.writer_cpus = facts.engine_cpus;
        out.may_leave = true;
        out.reason = "--writer-cpu beside";
    } else {
        out.writer_cpus = cpus_beside(facts.engine_cpus, facts.allowed);
        out.reason = where == Where::apart ? "--writer-cpu apart" : "what the engine leaves free";
    }
    out.gives_way = !never_sleeps && engines_on(facts, out.writer_cpus) > 0;
}

Placement choose_placement(const HostFlags& flags, const PlacementFacts& facts) {
    Placement out;
    place_writer(flags, facts, out);
    const std::size_t spare = spare_cpus(facts);
    const bool may_spin =
        spare >= spin_cpus && !out.gives_way && !flags.realtime && !facts.has_limit;
    out.wait = flags.wait.value_or(may_spin ? WaitPolicy::spin : WaitPolicy::hybrid);
    const bool shall_keep = out.wait == WaitPolicy::hybrid && facts.server_is_here &&
                            facts.has_all_cpus && !facts.has_limit;
    const Scheduling best = shall_keep ? Scheduling::kept : Scheduling::slice;
    out.scheduling = flags.realtime ? Scheduling::realtime : flags.scheduling.value_or(best);
    // Where the engines have all CPUs, everybody else is there, too.
    const bool can_keep = spare > 0 && facts.yielding_is_free;
    if (out.scheduling == Scheduling::kept && !can_keep) {
        out.scheduling = Scheduling::slice;
    }
    return out;
}

static constexpr const char* consequence =
    ". Otherwise rows wait and are tainted (late_cause limit)";

OpenEstimate open_estimate(const Plan& plan, const Trace& trace, std::int64_t token_ns) {
    OpenEstimate estimate;
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
    for (const Planned& planned : plan.rows) {
        while (!ends.empty() && ends.top() < planned.due_ns) {
            ends.pop();
        }
        ends.push(planned.due_ns + token_ns * trace.rows[planned.row].output_length);
        if (ends.size() > estimate.most) {
            estimate = {ends.size(), planned.due_ns};
        }
    }
    return estimate;
}

std::string open_warning(const OpenEstimate& estimate, const ConnectionRoom& room) {
    const std::string what = "at " + std::to_string(token_ns_estimated / 1'000'000) +
                             " ms per output token, " + std::to_string(estimate.most) +
                             " requests are open " + seconds_text(estimate.at_ns) +
                             " after the start, all";
    const std::string why = why_too_many(estimate.most, what, room);
    return why.empty() ? "" : why + consequence;
}

std::uint64_t most_within(const Plan& plan, const std::vector<std::size_t>& amounts,
                          std::int64_t stretch_ns) {
    std::uint64_t most = 0;
    std::uint64_t within = 0;
    std::size_t begin = 0;
    for (std::size_t end = 0; end < plan.rows.size(); ++end) {
        for (; plan.rows[end].due_ns - plan.rows[begin].due_ns >= stretch_ns; ++begin) {
            within -= amounts[begin];
        }
        within += amounts[end];
        most = std::max(most, within);
    }
    return most;
}

std::size_t event_ring_bytes(const Plan& plan, const Trace& trace, bool lengths_known,
                             bool dues_known) {
    constexpr std::uint64_t margin = 4;
    std::vector<std::size_t> bytes;
    std::uint64_t all = 0;
    for (const Planned& planned : plan.rows) {
        const std::uint32_t tokens = trace.rows[planned.row].output_length;
        if (!lengths_known || tokens == 0) {
            return event_ring_bytes_max;
        }
        bytes.push_back(row_event_bytes + token_event_bytes * tokens);
        all += bytes.back();
    }
    const std::uint64_t second = dues_known ? most_within(plan, bytes, 1'000'000'000) : all;
    return std::clamp<std::uint64_t>(margin * std::min(all, second), event_ring_bytes_min,
                                     event_ring_bytes_max);
}

std::string bodies_warning(std::uint64_t needed, std::uint64_t room) {
    if (needed <= room) {
        return "";
    }
    return "requests of " + std::to_string(needed >> 20) + " MiB are due within " +
           std::to_string(bodies_turnover_ns / 1'000'000) + " ms, and " +
           std::to_string(room >> 20) +
           " MiB are kept ready; --arm-ahead all holds all of them if memory allows" + consequence;
}

// More than this needs more memory than a laptop has; 28,232 ephemeral ports come first anyway.
static constexpr std::uint64_t inflight_most = 65'536;

/// Ports for outgoing connections: each address and port of a server has all of them. Unix sockets
/// need none, and then nothing is said.
static std::uint64_t ports_for(const ServerFlags& server) {
    std::vector<std::string> servers;
    for (const ReplayTarget& target : server.targets) {
        const Url& place = server.connect_to ? *server.connect_to : target.url;
        if (place.unix_socket) {
            return 0;
        }
        servers.push_back(host_header(place));
    }
    std::sort(servers.begin(), servers.end());
    const auto distinct = std::unique(servers.begin(), servers.end()) - servers.begin();
    return std::uint64_t{ephemeral_ports()} * static_cast<std::uint64_t>(distinct);
}

static bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

/// How long a port that was used is not there for the next row.
static std::int64_t port_kept(const ServerFlags& server) {
    const std::uint32_t rule = reused_ports();  // 1: all; 2: those of the loopback
    for (const ReplayTarget& target : server.targets) {
        const Url& place = server.connect_to ? *server.connect_to : target.url;
        if (rule == 0 || (rule == 2 && !is_loopback(place.host))) {
            return port_kept_ns;
        }
    }
    return port_reused_ns;
}

/// A warning, not a refusal: a server that closes first keeps the port of its own side instead.
static void warn_of_ports(const ReplayOptions& options, const Plan& plan, std::uint64_t ports) {
    if (options.sending.connection != ConnectionRule::fresh || ports == 0) {
        return;
    }
    const std::int64_t kept_ns = port_kept(options.server);
    const std::string text = ports_run_out(rows_within(plan, kept_ns), kept_ns, ports);
    if (!text.empty()) {
        complain("driftless: warning: %s", text.c_str());
    }
}

/// What must be open at once is known for the rows of one instant, and where a flag says it.
static std::string why_not_enough(const SendingFlags& sending, const Workload& workload,
                                  const ConnectionRoom& room) {
    if (sending.connections) {
        return why_too_many(*sending.connections,
                            "--connections " + std::to_string(*sending.connections) + " is set",
                            room);
    }
    const std::uint32_t burst = plan_to_estimate(workload).burst_rows_max;
    const std::uint32_t needed = std::min(burst, sending.inflight_max.value_or(burst));
    return why_too_many(needed, std::to_string(needed) + " rows are due", room);
}

/// A warning, not a refusal: the server may be faster than estimated.
static void warn_of_limits(const SendingFlags& sending, const Workload& workload,
                           const ConnectionRoom& room) {
    if (sending.connections) {
        return;
    }
    OpenEstimate estimate = open_estimate(plan_to_estimate(workload), workload.trace);
    estimate.most =
        std::min<std::uint64_t>(estimate.most, sending.inflight_max.value_or(UINT32_MAX));
    if (const std::string text = open_warning(estimate, room); !text.empty()) {
        complain("driftless: warning: %s", text.c_str());
    }
}

std::uint32_t connections_most(const ConnectionRoom& room) {
    const std::uint64_t files = connection_files(room.file_limit);
    const std::uint64_t ports = room.ports == 0 ? inflight_most : room.ports;
    return static_cast<std::uint32_t>(std::min({files, ports, inflight_most}));
}

std::string why_too_many(std::uint64_t needed, const std::string& what,
                         const ConnectionRoom& room) {
    const std::uint32_t most = connections_most(room);
    if (needed <= most) {
        return "";
    }
    const std::string held =
        std::string(most < room.engines ? ", or use --engines 1 and" : ", or") +
        " hold rows back with --max-inflight " + std::to_string(most);
    const std::string text = what + " at once, each on its own connection";
    if (room.ports > 0 && needed > room.ports) {
        return text + "; the kernel has " + std::to_string(room.ports) +
               " ports for them; widen net.ipv4.ip_local_port_range, add another --url" + held;
    }
    if (needed > inflight_most) {
        return text + "; more than " + std::to_string(inflight_most) + " are not supported" + held;
    }
    return text + "; the limit of " + std::to_string(room.file_limit) +
           " open files is too low; run ulimit -n " + std::to_string(needed + files_reserved) +
           held;
}

// Where users recycle, several may play one tree.
std::size_t requests_most(const Plan& plan, const UserRules& users) {
    return plan.rows.size() * (users.recycle ? users.users : 1);
}

std::uint32_t lanes_most(const ReplayOptions& options, const Plan& plan, const UserRules& users,
                         const HostChoice& host) {
    // Each server may have all that is in flight.
    const std::size_t wanted = std::size_t{host.inflight_max} * options.server.targets.size();
    const std::size_t open =
        std::min({requests_most(plan, users), wanted, std::size_t{host.connections_max}});
    return options.sending.connections.value_or(
        static_cast<std::uint32_t>(std::max<std::size_t>(open, 1)));
}

std::uint64_t rows_within(const Plan& plan, std::int64_t stretch_ns) {
    return most_within(plan, std::vector<std::size_t>(plan.rows.size(), 1), stretch_ns);
}

std::string ports_run_out(std::uint64_t rows, std::int64_t kept_ns, std::uint64_t ports) {
    if (rows <= ports) {
        return "";
    }
    const std::string seconds = std::to_string(kept_ns / 1'000'000'000);
    return "--connection fresh: " + std::to_string(rows) + " rows are due within " + seconds +
           " s, and a port stays in use that long after its connection; the kernel has " +
           std::to_string(ports) +
           ": rows will fail to connect unless the server closes first; widen "
           "net.ipv4.ip_local_port_range, add another --url" +
           (kept_ns > port_reused_ns ? ", or set net.ipv4.tcp_tw_reuse to 1" : "");
}

/// The engines' CPUs, and what is left; the first engine's is chosen.
static void choose_cpus(const ReplayOptions& options, const std::vector<std::uint32_t>& allowed,
                        HostChoice& host) {
    const HostFlags& flags = options.host;
    host.other_cpus =
        find_engine_cpus(host.engine_cpu.cpu, one_engine_flag(options).empty() ? flags.engines : 1,
                         engines_most(options), allowed);
    host.other_cpus.erase(host.other_cpus.begin());
    host.apart = cpus_beside(host.engine_cpus(), allowed);
}

/// Where the writer runs, how the engines wait, and what is asked of the kernel for them.
static void place(const HostFlags& flags, const std::vector<std::uint32_t>& allowed,
                  const std::vector<Endpoint>& targets, HostChoice& host) {
    host.server_is_here = std::any_of(targets.begin(), targets.end(), [](const Endpoint& to) {
        return is_of_this_host(to.address);
    });
    const bool has_limit = read_cgroup_limits().cpus.has_value() || has_cpu_time_limit();
    PlacementFacts facts{allowed, host.engine_cpus(), host.server_is_here,
                         true,    has_limit,          allowed.size() == cpus_online()};
    Placement placement = choose_placement(flags, facts);
    if (placement.scheduling == Scheduling::kept && !yielding_is_free(host.engine_cpu.cpu)) {
        facts.yielding_is_free = false;
        placement = choose_placement(flags, facts);
    }
    host.wait = placement.wait;
    host.granted.scheduling = placement.scheduling;
    host.writer_cpus = placement.writer_cpus;
    host.placement = placement.reason;
    host.writer.cpus = cpu_set_of(host.writer_cpus);
    host.writer.gives_way = placement.gives_way;
    if (placement.gives_way && placement.may_leave) {
        host.writer.refuge = cpu_set_of(host.apart);
    }
}

static const char* text_of(Scheduling scheduling) {
    switch (scheduling) {
        case Scheduling::ordinary:
            return "";
        case Scheduling::slice:
            return ", short slices";
        case Scheduling::kept:
            return ", its CPU kept awake";
        case Scheduling::realtime:
            break;
    }
    return ", before ordinary threads";
}

static void print_engines(const HostChoice& host, const std::vector<std::uint32_t>& allowed) {
    print_line("engine: CPU %u (%s), wait %s%s", host.engine_cpu.cpu,
               host.engine_cpu.reason.c_str(), name_of(host.wait),
               text_of(host.granted.scheduling));
    print_line("writer: CPU %s (%s)", cpu_list_text(host.writer_cpus).c_str(),
               host.placement.c_str());
    if (host.other_cpus.empty()) {
        return;
    }
    print_line("engines: %u, the others on CPU %s", host.engines(),
               cpu_list_text(host.other_cpus).c_str());
    if (host.engines() >= allowed.size() && allowed.size() > 1) {
        complain(
            "driftless: warning: %u engines and the writer share %zu CPUs and wait for each "
            "other; use --engines %zu or auto",
            host.engines(), allowed.size(), allowed.size() - 1);
    }
}

/// Chooses, pins this thread to the engine's CPU, has it scheduled, and prints what was chosen, or
/// what is missing and how much. `targets`: where rows go to.
static OrExit<HostChoice> choose_host(const ReplayOptions& options, const Workload& workload,
                                      const std::vector<Endpoint>& targets) {
    const HostFlags& flags = options.host;
    HostChoice host;
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    const bool has_writer_cpu = flags.writer_cpu.where == WriterCpu::Where::on;
    const std::optional<std::uint32_t> taken =
        has_writer_cpu ? std::optional(flags.writer_cpu.cpu) : std::nullopt;
    if (taken && std::find(allowed.begin(), allowed.end(), *taken) == allowed.end()) {
        return refuse(
            exit_usage,
            "driftless: --writer-cpu %u: this process is not allowed on that CPU; use one of %s",
            *taken, cpu_list_text(allowed).c_str());
    }
    host.engine_cpu = flags.cpu ? CpuChoice{*flags.cpu, "--cpu"} : find_quiet_cpu(taken);
    choose_cpus(options, allowed, host);
    const Result<void> pinned = pin_this_thread(host.engine_cpu.cpu);
    if (!pinned) {
        complain("driftless: %s", pinning_refusal(host.engine_cpu.cpu, pinned.error()).c_str());
        return pinned.error().code == ErrorCode::invalid ? exit_usage : exit_host;
    }
    place(flags, allowed, targets, host);
    host.file_limit = raise_file_limit();
    const ConnectionRoom room{host.file_limit, ports_for(options.server), host.engines()};
    if (const std::string why = why_not_enough(options.sending, workload, room); !why.empty()) {
        return refuse(exit_host, "driftless: %s", why.c_str());
    }
    warn_of_ports(options, plan_to_estimate(workload), room.ports);
    const std::uint32_t most = connections_most(room);
    host.capped_by_host = !options.sending.inflight_max || *options.sending.inflight_max > most;
    host.connections_max = most;
    host.inflight_max = std::min(options.sending.inflight_max.value_or(most), most);
    warn_of_limits(options.sending, workload, room);
    sharpen_timers();
    const Result<Granted> granted = schedule_engine(host.granted.scheduling);
    if (!granted) {
        return refuse(exit_host, "driftless: %s", realtime_refusal);
    }
    host.granted = granted.value();
    print_engines(host, allowed);
    return host;
}

std::uint32_t receive_buffers_for(std::uint32_t lanes) {
    return std::clamp(std::bit_ceil(8 * lanes), receive_buffers_min, receive_buffers_max);
}

DriverOptions driver_options(const HostFlags& flags, DriverKind kind, std::uint32_t lanes) {
    DriverOptions options;
    options.kind = kind;
    // A lane has a receive, a send, its stamps and two cancels in flight; the preflight a few.
    options.ops_max = 5 * lanes + 16;
    options.buffers = flags.receive_buffers.value_or(receive_buffers_for(lanes));
    options.stamps = {flags.stamps != StampRule::none, flags.stamps == StampRule::full};
    options.warm_sends = flags.warm_sends;
    return options;
}

int take_host(Replay& run) {
    const ReplayOptions& options = run.options();
    if (const int code =
            keep(choose_host(options, run.workload, run.server.targets.endpoints), run.host);
        code != exit_done) {
        return code;
    }
    const std::uint32_t lanes =
        lanes_most(options, run.workload.plan, run.workload.users, run.host);
    reserve_files(lanes + files_reserved);
    Result<std::unique_ptr<Driver>> driver =
        make_driver(driver_options(options.host, options.host.driver, lanes));
    if (!driver) {
        return refuse(exit_host, "driftless: %s%s",
                      ring_refusal(driver.error(), read_ring_bars()).c_str(),
                      options.host.driver == DriverKind::io_uring
                          ? "; without --driver io_uring epoll is used instead"
                          : "");
    }
    run.driver = std::move(driver).value();
    const DriverFacts facts = run.driver->facts();
    run.host.driver = facts.kind;
    if (facts.why_not_ring) {
        run.host.why_not_ring = ring_refusal(*facts.why_not_ring, read_ring_bars());
        print_line("driver: epoll; %s", run.host.why_not_ring.c_str());
    }
    return exit_done;
}

}  // namespace driftless
