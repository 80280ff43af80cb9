/// Calibration lookup: what a replay knows of its host before it starts: figures from a file, those
/// that it measures itself, or none; and the limits that follow from them. `--calibration`.

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>

#include "cmd/base/this_host.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "engine/base/time.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/machines/meet.hpp"

namespace driftless {

static constexpr std::int64_t window_ns = 10'000'000'000;
static constexpr std::int64_t window_s = 10;
static constexpr std::int64_t noisy_age_max_ns = 3'600'000'000'000;
static constexpr const char* without = "none";
static constexpr const char* automatic = "auto";

namespace {

/// The figures, or why there are none; and how long it took to measure them, 0: not now.
struct Lookup {
    FoundCalibration found;
    std::int64_t measured_ns = 0;
    std::string kept = {};  ///< file of an earlier run that has measured it; empty: not such
};

}  // namespace

/// How the engines are placed, in the name of a file.
static std::string placed(const HostChoice& host) {
    const std::optional<double> quota = read_cgroup_limits().cpus;
    return std::string(name_of(host.wait)) + "-" + name_of(host.granted.scheduling) +
           (host.writer.gives_way ? "-beside" : "") +
           (quota ? fmt::format("-quota-{:.2f}", *quota) : std::string());
}

/// The same, for a replay that rehearses.
static std::vector<std::string> placement_flags(const HostChoice& host) {
    std::vector<std::string> flags{"--writer-cpu", host.writer.gives_way ? "beside" : "apart"};
    if (host.granted.scheduling != Scheduling::realtime) {
        flags.insert(flags.end(), {"--scheduling", name_of(host.granted.scheduling)});
    }
    return flags;
}

/// Whether other threads of this host run most of the time, by a look of 20 ms.
static bool others_are_busy() {
    constexpr int looks = 10;
    constexpr timespec between{0, 2'000'000};
    int busy = 0;
    for (int i = 0; i < looks; ++i) {
        (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &between, nullptr);
        busy += running_threads().value_or(0) > 1 ? 1 : 0;
    }
    return busy > looks / 2;
}

/// Since it was measured; negative where its date is to come.
static std::int64_t age_ns_of(const Calibration& calibration) {
    const Result<std::int64_t> made_ns = parse_utc_ns(calibration.date);
    return realtime_clock().now() - (made_ns ? made_ns.value() : 0);
}

/// Where it says little about this host today: its age, or its date; else empty.
static std::string too_old_text(const Calibration& calibration) {
    constexpr std::int64_t day_ns = 86'400'000'000'000;
    const std::int64_t age_ns = age_ns_of(calibration);
    if (age_ns >= 0 && age_ns / day_ns <= kept_days_max) {
        return "";
    }
    return age_ns > 0 && parse_utc_ns(calibration.date)
               ? fmt::format("{} days old", age_ns / day_ns)
               : fmt::format("of {}", calibration.date);
}

/// What an earlier run has measured and kept, where it can be used again.
static FoundCalibration look_at_kept(const std::string& path, const HostFacts& facts,
                                     const EngineSetup& run) {
    std::error_code failed;
    if (path.empty() || !std::filesystem::exists(path, failed)) {
        return {std::nullopt, "no run of this host has kept what it measured", true};
    }
    FoundCalibration found = find_calibration(path, facts, run);
    if (!found.calibration) {
        return found;
    }
    const std::string too_old = too_old_text(*found.calibration);
    if (!too_old.empty()) {
        return {std::nullopt, "what was kept is " + too_old, false};
    }
    // Measured again beside the same programs it would be no better, and take some seconds.
    const bool is_old = age_ns_of(*found.calibration) > noisy_age_max_ns;
    if (taken_share(*found.calibration) > noise_max && (is_old || !others_are_busy())) {
        return {std::nullopt, "what was kept was measured beside other programs", false};
    }
    return found;
}

static double milliseconds_of(std::int64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

static bool names_file(const CalibrationFlags& flags) {
    return flags.source != without && flags.source != automatic;
}

/// Before this run, on its own thread and CPU, waiting as it will.
static Lookup measure_now(const HostFacts& facts, const HostChoice& host, bool realtime) {
    MeasuredHost measured{host.engine_cpus(), host.apart,  facts.cpus_allowed,
                          realtime,           host.driver, placement_flags(host),
                          &stop_requests()};
    Lookup lookup;
    Calibration calibration = begin_calibration(facts, measured);
    std::string why_no_rehearsal;
    const std::int64_t begin_ns = monotonic_ns();
    const Result<void> done =
        measure_briefly(measured, name_of(host.wait), calibration, why_no_rehearsal);
    lookup.measured_ns = monotonic_ns() - begin_ns;
    if (!done) {
        lookup.found.why_not =
            "the host could not be measured before this run (" + failed_text(done.error()) + ")";
        return lookup;
    }
    if (!why_no_rehearsal.empty() && !measured.stopped()) {
        print_line(
            "calibration: no rehearsal (%s): only --certify-within limits how late reads can be",
            why_no_rehearsal.c_str());
    }
    lookup.found.calibration = std::move(calibration);
    return lookup;
}

static Lookup look_up(const CalibrationFlags& flags, bool realtime, const HostFacts& facts,
                      const HostChoice& host) {
    const EngineSetup run{realtime, host.engines(), name_of(host.driver)};
    if (flags.source == without) {
        return {{std::nullopt, "--calibration none", false}, 0};
    }
    if (names_file(flags)) {
        return {find_calibration(flags.source, facts, run), 0};
    }
    FoundCalibration found = find_calibration("", facts, run);
    if (found.calibration) {
        return {std::move(found), 0};
    }
    const std::string path = kept_calibration_path(run, placed(host));
    FoundCalibration kept = look_at_kept(path, facts, run);
    if (kept.calibration) {
        return {std::move(kept), 0, path};
    }
    print_line("calibration: measuring this host for a second (%s)", kept.why_not.c_str());
    Lookup measured = measure_now(facts, host, realtime);
    const bool whole = measured.found.calibration && stop_requests().load() == 0;
    if (whole && !measured.found.calibration->rehearsals.empty() && !path.empty()) {
        (void)save_calibration(*measured.found.calibration, path);  // else it is measured again
    }
    return measured;
}

static void warn(const Calibration& c, std::int64_t chunks_per_s, const Workload& workload) {
    if (c.chunks_per_s_max > 0 && chunks_per_s > c.chunks_per_s_max) {
        complain(
            "driftless: warning: the plan asks for %lld tokens/s in its busiest 10 s, but "
            "this host reads %lld chunks/s at 60 %% of its core; lower --speed, or expect "
            "the verdict client-limited if the server keeps up",
            static_cast<long long>(chunks_per_s), static_cast<long long>(c.chunks_per_s_max));
    }
    if (c.connections_max > 0 && plan_to_estimate(workload).burst_rows_max > c.connections_max) {
        complain(
            "driftless: warning: %u rows are due at one instant, but this host can open "
            "%u connections; raise the limit of open files, or set --max-inflight",
            plan_to_estimate(workload).burst_rows_max, c.connections_max);
    }
    for (const std::string& what : noise_of(c)) {
        complain("driftless: warning: while this host was measured %s", what.c_str());
    }
    const std::string too_old = too_old_text(c);
    if (!too_old.empty()) {
        complain(
            "driftless: warning: the calibration is %s; measure this host again (driftless "
            "calibrate)",
            too_old.c_str());
    }
}

/// `--require-certified`, and a file that does not hold.
static int refuse_file(const FoundCalibration& found) {
    return refuse(exit_usage,
                  "driftless: --require-certified: %s; or remove --calibration to have this host "
                  "measured before the run",
                  found.why_not.c_str());
}

static void print_limits(const TaintLimits& limits) {
    print_line(
        "calibration: rows sent more than %.3f ms late, or read more than %.3f ms late, are "
        "tainted",
        milliseconds_of(limits.drift_ns), milliseconds_of(limits.receive_delay_ns));
}

/// Tokens per second that the plan asks for in its busiest 10 s of due instants, one a chunk: what
/// a server would send that keeps up. Plans shorter than that count as 10 s long.
static std::int64_t chunks_asked(const Trace& trace, const Plan& plan) {
    std::vector<std::size_t> tokens;
    for (const Planned& planned : plan.rows) {
        tokens.push_back(trace.rows[planned.row].output_length);
    }
    return static_cast<std::int64_t>(most_within(plan, tokens, window_ns)) / window_s;
}

int check_calibration(Replay& run) {
    run.facts = read_host_facts();
    const CalibrationFlags& flags = run.options().calibration;
    if (run.resumes()) {
        return check_calibration_again(flags, run.options().again.resume, *run.earlier, run.facts);
    }
    if (!names_file(flags)) {
        return exit_done;
    }
    const HostFlags& host = run.options().host;
    const bool is_decided = host.driver != DriverKind::automatic;
    const FoundCalibration found =
        find_calibration(flags.source, run.facts,
                         {host.realtime, host.engines, is_decided ? name_of(host.driver) : ""});
    if (found.unreadable) {
        return refuse(
            exit_usage,
            "driftless: --calibration: %s; create it with driftless calibrate --out FILE, "
            "or use --calibration auto, or none",
            found.why_not.c_str());
    }
    return found.calibration || !flags.require_certified ? exit_done : refuse_file(found);
}

int check_calibration_again(const CalibrationFlags& flags, const std::string& folder,
                            const RunFacts& run, const HostFacts& facts) {
    if (!flags.require_certified) {
        return exit_done;
    }
    std::string why;
    if (!run.calibration.why_not.empty() || run.calibration.date.empty()) {
        why = "the run has no calibration (" + run.calibration.why_not + ")";
    } else if (!run.host.kernel.empty() && run.host.kernel != facts.kernel) {
        why = "its calibration was made under " + run.host.kernel + ", this is " + facts.kernel;
    } else if (!run.host.cpu_model.empty() && run.host.cpu_model != facts.cpu_model) {
        why = "its calibration was made on " + run.host.cpu_model + ", this is " + facts.cpu_model;
    }
    if (why.empty()) {
        return exit_done;
    }
    return refuse(
        exit_usage,
        "driftless: --resume %s --require-certified: %s, so it cannot be certified; remove "
        "--require-certified, or repeat the run with --from",
        folder.c_str(), why.c_str());
}

/// Of a new run.
static int settle_limits(Replay& run) {
    const CalibrationFlags& flags = run.options().calibration;
    const bool realtime = run.options().host.realtime;
    const Workload& workload = run.workload;
    CalibrationFacts& out = run.calibration;
    const Lookup lookup = look_up(flags, realtime, run.facts, run.host);
    if (stop_requests().load() > 0) {
        return exit_done;  // there will be no run
    }
    if (!lookup.found.calibration && names_file(flags) && flags.require_certified) {
        return refuse_file(lookup.found);  // of --engines auto, which was not known before
    }
    if (!lookup.found.calibration) {
        out.why_not = lookup.found.why_not;
        out.limits = taint_limits(flags.certify_within);
        print_line("calibration: none (%s)", out.why_not.c_str());
        print_limits(out.limits);
        return exit_done;
    }
    const Calibration& calibration = *lookup.found.calibration;
    const std::int64_t chunks_per_s = chunks_asked(workload.trace, plan_to_estimate(workload));
    out.date = calibration.date;
    out.measured_ns = lookup.measured_ns;
    out.taken_share = taken_share(calibration);
    out.limits = taint_limits(calibration, chunks_per_s, flags.certify_within);
    if (!lookup.kept.empty()) {
        out.kept = {lookup.kept, calibration.wake_sleep.p99_ns};
        print_line("calibration: measured by an earlier run (%s), with %.1f %% of the CPU taken",
                   out.date.c_str(), 100 * out.taken_share);
    } else if (out.measured_ns > 0) {
        print_line("calibration: measured for %.1f s", static_cast<double>(out.measured_ns) / 1e9);
    } else {
        print_line("calibration: of %s%s", out.date.c_str(),
                   realtime && !calibration.realtime
                       ? ", of ordinary threads (driftless calibrate --realtime)"
                       : "");
    }
    print_limits(out.limits);
    warn(calibration, chunks_per_s, workload);
    return exit_done;
}

int look_up_calibration(Replay& run) {
    int code = exit_done;
    if (run.resumes()) {
        run.calibration = run.earlier->calibration;
    } else {
        code = settle_limits(run);
    }
    return stop_requests().load() > 0 ? exit_interrupted : code;
}

void check_kept(const CalibrationFacts& calibration, const ClientTotals& client) {
    constexpr std::int64_t enough = 100;
    constexpr std::int64_t times = 3;
    constexpr std::int64_t slack_ns = 20'000;
    constexpr double quiet_most = 2 * noise_max;  // a writer beside its engine takes as much
    const CalibrationFacts::Kept& kept = calibration.kept;
    const bool slower =
        client.sums.wakes >= enough &&
        client.sums.wake_error_sum_ns / client.sums.wakes > times * kept.wake_p99_ns + slack_ns;
    if (!kept.path.empty() && slower && client.taken_max <= quiet_most) {
        (void)::unlink(kept.path.c_str());
        print_line(
            "calibration: this host is slower than when it was measured; the next run "
            "measures it again");
    }
}

}  // namespace driftless
