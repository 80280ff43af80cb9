#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/this_host.hpp"
#include "cmd/host/host.hpp"
#include "cmd/report/text_parts.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/host/host.hpp"
#include "engine/host/threads.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

static constexpr std::size_t cpus_enough = 3;
static constexpr std::uint64_t files_enough = 4096;
static constexpr std::uint32_t backlog_enough = 1024;
static constexpr std::int64_t idle_latency_noticed_us = 50;
static constexpr double share_noticed = 0.01;

static HostFinding judge_cpus(const HostSettings& s) {
    return judged(
        s.cpus_allowed >= cpus_enough, "CPUs",
        s.cpus_allowed == 1 ? "1 CPU is allowed"
                            : fmt::format("{} CPUs are allowed", s.cpus_allowed),
        "the engine and the writer need one CPU each, and the rest of the system a third");
}

static HostFinding judge_governor(const HostSettings& s) {
    const std::string& governor = s.power.governor;
    return judged(governor.empty() || governor == "performance", "governor",
                  governor.empty()
                      ? "not known: the host does not report its clock scaling"
                      : fmt::format("CPU {} runs under the governor {}", s.engine_cpu, governor),
                  "cpupower frequency-set -g performance");
}

static HostFinding judge_idle(const HostSettings& s) {
    const PowerSettings& power = s.power;
    if (power.idle_state.empty()) {
        return {Grade::ok, "idle states", "not known: the host does not report its idle states",
                ""};
    }
    return judged(power.idle_latency_us <= idle_latency_noticed_us, "idle states",
                  fmt::format("a sleeping CPU takes up to {} us to wake ({})",
                              power.idle_latency_us, power.idle_state),
                  "cpupower idle-set -D 50, or replay with --wait spin");
}

static HostFinding judge_files(const HostSettings& s) {
    return judged(s.file_limit >= files_enough, "open files",
                  fmt::format("at most {} files can be open", s.file_limit),
                  "ulimit -n 65536 for more connections");
}

static HostFinding judge_backlog(const HostSettings& s) {
    if (s.backlog_max == 0) {
        return {Grade::ok, "backlog", "not known: the host does not report its accept queue", ""};
    }
    return judged(s.backlog_max >= backlog_enough, "backlog",
                  fmt::format("a server on this host queues at most {} connections", s.backlog_max),
                  "sysctl -w net.core.somaxconn=4096");
}

static HostFinding judge_slow_start(const HostSettings& s) {
    return judged(
        !s.slow_start_after_idle, "slow start",
        s.slow_start_after_idle
            ? "an idle connection restarts slowly, which delays long prompts over a network"
            : "an idle connection keeps its rate",
        "sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
}

HostFinding judged(bool well, const char* topic, std::string found, std::string remedy) {
    return {well ? Grade::ok : Grade::warning, topic, std::move(found),
            well ? "" : std::move(remedy)};
}

HostSettings read_host_settings(std::uint32_t engine_cpu, std::size_t cpus_allowed) {
    HostSettings settings;
    settings.engine_cpu = engine_cpu;
    settings.power = read_power_settings(engine_cpu);
    settings.isolated = isolated_cpus();
    settings.cpus_allowed = cpus_allowed;
    settings.file_limit = raise_file_limit();
    settings.backlog_max =
        static_cast<std::uint32_t>(kernel_number("/proc/sys/net/core/somaxconn").value_or(0));
    settings.ports = ephemeral_ports();
    settings.slow_start_after_idle =
        kernel_number("/proc/sys/net/ipv4/tcp_slow_start_after_idle") == 1;
    return settings;
}

std::vector<HostFinding> judge_settings(const HostSettings& settings) {
    return {judge_cpus(settings),  judge_governor(settings), judge_idle(settings),
            judge_files(settings), judge_backlog(settings),  judge_slow_start(settings)};
}

std::vector<std::string> advice_of(const Calibration& c, const HostSettings& s) {
    std::vector<std::string> advice;
    const auto say = [&advice](std::string line) { advice.push_back(std::move(line)); };
    if (c.steal_share > share_noticed) {
        say(
            fmt::format("the hypervisor took {:.1f} % of the engine's CPU (steal): ask for "
                        "dedicated cores, or run at a quieter hour",
                        100 * c.steal_share));
    }
    if (c.run_delay_share > share_noticed) {
        say(
            fmt::format("other programs held the engine's CPU for {:.1f} % of the time: stop them, "
                        "or name another core with --cpu",
                        100 * c.run_delay_share));
    }
    if (s.isolated.empty() && c.spin_lost_share > share_noticed) {
        say(fmt::format(
            "a spinning thread lost {:.1f} % of its time: isolate a core (isolcpus=, "
            "nohz_full=) and give it to --cpu{}",
            100 * c.spin_lost_share,
            c.realtime ? "" : ", or replay with --realtime (and calibrate with it first)"));
    }
    for (const HostFinding& finding : judge_settings(s)) {
        if (finding.grade != Grade::ok) {
            say(finding.found + ": " + finding.remedy);
        }
    }
    return advice;
}

static constexpr std::uint32_t streams_of_rehearsals[] = {200, 600, 1200, 2000};
// The mock could not keep up, or the engine is beyond its bar: more streams tell nothing more.
static constexpr double share_kept_up = 0.9;

static int fail_floor(const Error& error) {
    print(stderr, "driftless calibrate: {}\n", ring_refusal(error, read_ring_bars()));
    return exit_host;
}

/// The rehearsals need a folder, where a container often has none that can be written to.
static int fail_rehearsal(const Error& error) {
    print(stderr,
          "driftless calibrate: cannot {}: {}; calibration writes to $TMPDIR, or /tmp if "
          "unset; set TMPDIR to a writable folder\n",
          error.doing, reason_of(error));
    return exit_host;
}

static std::string microseconds_text(std::int64_t ns) {
    return fmt::format("{:.2f}", static_cast<double>(ns) / 1e3);
}

static void print_spread(const char* name, const Spread& spread) {
    print(stdout, "{:<34} {:>9} {:>9} {:>9} {:>9}\n", name, microseconds_text(spread.p50_ns),
          microseconds_text(spread.p99_ns), microseconds_text(spread.p999_ns),
          microseconds_text(spread.max_ns));
}

static void print_floor(const Calibration& c) {
    print(stdout, "{:<34} {:>9} {:>9} {:>9} {:>9}\n", "us", "p50", "p99", "p99.9", "max");
    print_spread("late after a spin", c.wake_spin);
    print_spread("late after sleep and spin (hybrid)", c.wake_hybrid);
    print_spread("late after a sleep", c.wake_sleep);
    print_spread("sending 300 bytes", c.fire_small);
    print_spread("sending 16 KiB", c.fire_large);
    print(
        stdout,
        "a spinning thread was preempted for more than 20 us {:.0f} times per second, for {:.2f} % "
        "of its time, at most {:.3f} ms\n",
        c.spin_gaps_per_s, 100 * c.spin_lost_share, static_cast<double>(c.spin_gap_max_ns) / 1e6);
}

static void print_rehearsal(const Rehearsal& r, std::uint32_t engines) {
    print(stdout, "{:>5} streams: {:>6} chunks/s, {} {:.0f} % busy, drift p50 {} us, p99 {} us{}\n",
          r.streams, r.chunks, engines > 1 ? "busiest engine" : "engine", 100 * r.busy_share,
          microseconds_text(r.drift.p50_ns), microseconds_text(r.drift.p99_ns),
          static_cast<double>(r.chunks) < share_kept_up * static_cast<double>(r.chunks_asked)
              ? fmt::format(" (asked for {})", r.chunks_asked)
              : "");
}

/// A tenth of everything with --quick.
static FloorPlan floor_plan(bool quick) {
    const FloorPlan whole;
    const std::uint32_t divisor = quick ? 10 : 1;
    return {{whole.spin.ns / divisor},
            whole.wait_rounds / divisor,
            whole.fire_rounds / divisor,
            whole.most};
}

/// One after another, printing as it goes.
static Result<void> rehearse(const MeasuredHost& host, bool quick, Calibration& calibration) {
    Rehearsals rehearsals(host, {}, "auto");
    const Result<void> opened = rehearsals.open();
    if (!opened) {
        return opened.error();
    }
    for (const std::uint32_t streams_of_one : streams_of_rehearsals) {
        const std::uint32_t streams = streams_of_one * host.engines();
        if (streams > connection_files(calibration.file_limit)) {
            break;
        }
        const Result<Rehearsal> done = rehearsals.run(streams);
        if (!done) {
            return done.error();
        }
        const Rehearsal& r = done.value();
        print_rehearsal(r, host.engines());
        calibration.rehearsals.push_back(r);
        if (quick || r.busy_share > busy_max || r.lost ||
            static_cast<double>(r.chunks) < share_kept_up * static_cast<double>(r.chunks_asked)) {
            break;
        }
    }
    const Capacity capacity = capacity_of(calibration.rehearsals, busy_max);
    calibration.chunks_per_s_max = capacity.chunks_per_s;
    calibration.chunks_extrapolated = capacity.extrapolated;
    return {};
}

/// Whether the figures may be saved: those of a busy host stand for that host's neighbours.
static bool accept(const Calibration& calibration, bool accept_noise) {
    const std::vector<std::string> noise = noise_of(calibration);
    for (const std::string& what : noise) {
        print(accept_noise ? stdout : stderr, "{}{}; a quiet host stays below {:.0f} %\n",
              accept_noise ? "noise: " : "driftless calibrate: ", what, 100 * noise_max);
    }
    if (noise.empty() || accept_noise) {
        return true;
    }
    print(stderr,
          "driftless calibrate: nothing was saved: stop other programs and try again, choose "
          "another core with --cpu, or keep these figures with --accept-noise\n");
    return false;
}

static int save(const Calibration& calibration, const std::string& path) {
    if (path.empty()) {
        print(stderr,
              "driftless calibrate: neither XDG_STATE_HOME nor HOME is set; name an output "
              "file with --out\n");
        return exit_usage;
    }
    if (!save_calibration(calibration, path)) {
        print(stderr, "driftless calibrate: {} cannot be written; name another file with --out\n",
              path);
        return exit_host;
    }
    print(stdout, "saved: {}\n", path);
    return exit_done;
}

static void print_end(const Calibration& c, const HostSettings& settings) {
    print(stdout, "reads {}{} chunks/s at 60 % of {}; {} connections to one server\n",
          c.chunks_extrapolated ? "an estimated " : "", c.chunks_per_s_max,
          c.engines > 1 ? "the busiest engine's core" : "its core", c.connections_max);
    for (const std::string& line : advice_of(c, settings)) {
        print(stdout, "advice: {}\n", line);
    }
}

int run_calibrate(int argc, char** argv) {
    const CalibrateCommandLine parsed = parse_calibrate_options({argv + 1, argv + argc});
    if (const std::optional<int> code = parsed.finish()) {
        return *code;
    }
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    const std::uint32_t cpu =
        parsed.options.cpu ? *parsed.options.cpu : find_quiet_cpu(std::nullopt).cpu;
    const std::vector<std::uint32_t> engine_cpus =
        find_engine_cpus(cpu, parsed.options.engines, engines_max, allowed);
    const Result<void> pinned = pin_this_thread(cpu);
    if (!pinned) {
        print(stderr, "driftless calibrate: {}\n", pinning_refusal(cpu, pinned.error()));
        return pinned.error().code == ErrorCode::invalid ? exit_usage : exit_host;
    }
    sharpen_timers();
    if (parsed.options.realtime && !run_before_others()) {
        print(stderr, "driftless calibrate: {}\n", realtime_refusal);
        return exit_host;
    }
    const DriverProbe driver = probe_driver(parsed.options.driver);
    if (driver.kind == DriverKind::automatic) {
        print(stderr, "driftless calibrate: {}\n", driver.refusal);
        return exit_host;
    }
    const HostFacts host = read_host_facts();
    const HostSettings settings = read_host_settings(cpu, allowed.size());
    const MeasuredHost measured{engine_cpus, cpus_beside(engine_cpus, allowed), allowed,
                                parsed.options.realtime, driver.kind};
    Calibration calibration = begin_calibration(host, measured);
    calibration.file_limit = settings.file_limit;
    calibration.connections_max = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(settings.ports, connection_files(settings.file_limit)));
    print(stdout, "{}, {} x {}, {} on CPU {}, over {}{}\n", host.kernel, host.cpus_online,
          host.cpu_model, counted(measured.engines(), "engine", "engines"),
          cpu_list_text(engine_cpus), calibration.driver,
          calibration.realtime ? ", before ordinary threads" : "");
    const bool quick = parsed.options.quick;
    if (const Result<void> floor = measure_floor(floor_plan(quick), measured, calibration);
        !floor) {
        return fail_floor(floor.error());
    }
    print_floor(calibration);
    if (const Result<void> done = rehearse(measured, quick, calibration); !done) {
        return fail_rehearsal(done.error());
    }
    print_end(calibration, settings);
    if (!accept(calibration, parsed.options.accept_noise)) {
        return exit_host;
    }
    return save(calibration,
                parsed.options.out.empty()
                    ? default_calibration_path(
                          {calibration.realtime, calibration.engines, calibration.driver})
                    : parsed.options.out);
}

}  // namespace driftless
