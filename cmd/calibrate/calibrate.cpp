#include "cmd/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cmd/calibrate/advice.hpp"
#include "cmd/calibrate/options.hpp"
#include "cmd/calibrate/rehearsal.hpp"
#include "cmd/calibration_file.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/realtime.hpp"
#include "cmd/ring_errors.hpp"
#include "cmd/whole_file.hpp"
#include "engine/calibrate/floor.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/io/uring.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

namespace {

constexpr Duration spin_length = milliseconds(1500);
constexpr std::uint32_t wait_rounds = 1000;  // three waits of 1 ms each
constexpr std::uint32_t fire_rounds = 600;   // two waits of 0.5 ms each
constexpr std::uint64_t seed = 0;
constexpr std::uint32_t streams_of_rehearsals[] = {200, 600, 1200, 2000};
// The mock could not keep up, or the engine is beyond its bar: more streams tell nothing more.
constexpr double kept_up = 0.9;
// Descriptors that are no connections: files, ring, standard streams, the resolver.
constexpr std::uint64_t files_reserved = 64;

int fail(const Error& error) {
    fmt::print(stderr, "driftless calibrate: {}\n", ring_refusal(error, read_ring_bars()));
    return exit_host;
}

std::string microseconds_text(std::int64_t ns) {
    return fmt::format("{:.2f}", static_cast<double>(ns) / 1e3);
}

void print_spread(const char* name, const Spread& spread) {
    fmt::print("{:<34} {:>9} {:>9} {:>9} {:>9}\n", name, microseconds_text(spread.p50_ns),
               microseconds_text(spread.p99_ns), microseconds_text(spread.p999_ns),
               microseconds_text(spread.max_ns));
}

void print_floor(const Calibration& c) {
    fmt::print("{:<34} {:>9} {:>9} {:>9} {:>9}\n", "us", "p50", "p99", "p99.9", "max");
    print_spread("late after a spin", c.wake_spin);
    print_spread("late after sleep and spin (hybrid)", c.wake_hybrid);
    print_spread("late after a sleep", c.wake_sleep);
    print_spread("one fire of 300 bytes", c.fire_small);
    print_spread("one fire of 16 KiB", c.fire_large);
    fmt::print(
        "a spinning thread was taken away {:.0f} times a second for more than 20 us, "
        "{:.2f} % of its time, at most {:.3f} ms\n",
        c.spin_gaps_per_s, 100 * c.spin_lost_share, static_cast<double>(c.spin_gap_max_ns) / 1e6);
}

void print_rehearsal(const Rehearsal& r) {
    fmt::print(
        "{:>5} streams: {:>6} chunks/s, engine {:.0f} % busy, drift p50 {} us, p99 {} us{}\n",
        r.streams, r.chunks, 100 * r.busy_share, microseconds_text(r.drift.p50_ns),
        microseconds_text(r.drift.p99_ns),
        static_cast<double>(r.chunks) < kept_up * static_cast<double>(r.chunks_asked)
            ? fmt::format(" (asked for {})", r.chunks_asked)
            : "");
}

/// Measures into `calibration`, printing as it goes.
class Measurement {
  public:
    /// `others`: CPUs that the engine leaves free. `quick`: a tenth of everything.
    Measurement(Calibration& calibration, std::vector<std::uint32_t> others, bool quick)
        : calibration_(calibration), others_(std::move(others)), divisor_(quick ? 10 : 1) {}

    /// On the pinned thread. Errors: those of the ring and of sockets.
    Result<void> floor() {
        const Result<std::unique_ptr<UringDriver>> driver = UringDriver::make({});
        if (!driver) {
            return driver.error();
        }
        ThreadProbe probe(this_thread_id());
        const Instant begin = driver.value()->now();
        const SpinGaps gaps = spin_gaps(*driver.value());
        const WaitFloors waits = measure_waits(*driver.value(), wait_rounds / divisor_, seed);
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        for (const std::uint32_t cpu : others_) {
            CPU_SET(cpu, &cpus);
        }
        const Result<FireFloors> fires =
            measure_fires(*driver.value(), fire_rounds / divisor_, &cpus, seed);
        if (!fires) {
            return fires.error();
        }
        const double length = static_cast<double>((driver.value()->now() - begin).ns);
        const ThreadToll toll = probe.next();
        calibration_.spin_gaps_per_s = gaps.per_s;
        calibration_.spin_gap_max_ns = gaps.max_ns;
        calibration_.spin_lost_share = gaps.lost_share;
        calibration_.wake_spin = waits.spin;
        calibration_.wake_hybrid = waits.hybrid;
        calibration_.wake_sleep = waits.sleep;
        calibration_.fire_small = fires.value().small;
        calibration_.fire_large = fires.value().large;
        calibration_.steal_share = static_cast<double>(toll.steal_ns) / length;
        calibration_.run_delay_share = static_cast<double>(toll.run_delay_ns) / length;
        print_floor(calibration_);
        return {};
    }

    Result<void> rehearse() {
        Rehearsals rehearsals(calibration_.engine_cpu, others_.front(), calibration_.realtime);
        const Result<void> opened = rehearsals.open();
        if (!opened) {
            return opened.error();
        }
        for (const std::uint32_t streams : streams_of_rehearsals) {
            if (streams + files_reserved > calibration_.file_limit) {
                break;
            }
            const Result<Rehearsal> done = rehearsals.run(streams);
            if (!done) {
                return done.error();
            }
            const Rehearsal& r = done.value();
            print_rehearsal(r);
            calibration_.rehearsals.push_back(r);
            if (divisor_ > 1 || r.busy_share > busy_max || r.lost ||
                static_cast<double>(r.chunks) < kept_up * static_cast<double>(r.chunks_asked)) {
                break;
            }
        }
        const Capacity capacity = capacity_of(calibration_.rehearsals, busy_max);
        calibration_.chunks_per_s_max = capacity.chunks_per_s;
        calibration_.chunks_extrapolated = capacity.extrapolated;
        return {};
    }

  private:
    // A thread that spins before all others is stopped for 50 ms of each second.
    SpinGaps spin_gaps(UringDriver& driver) const {
        if (calibration_.realtime) {
            run_among_others();
        }
        const SpinGaps gaps = measure_spin_gaps(driver, {spin_length.ns / divisor_});
        if (calibration_.realtime) {
            (void)run_before_others();  // was granted before
        }
        return gaps;
    }

    Calibration& calibration_;
    std::vector<std::uint32_t> others_;
    std::uint32_t divisor_;
};

int save(const Calibration& calibration, const std::string& path) {
    if (path.empty()) {
        fmt::print(stderr,
                   "driftless calibrate: neither XDG_STATE_HOME nor HOME is set; name a "
                   "file with --out\n");
        return exit_usage;
    }
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) {
        (void)std::filesystem::create_directories(folder, failed);
    }
    const Result<void> written = write_whole_file(path, to_json(calibration));
    if (failed || !written) {
        fmt::print(stderr, "driftless calibrate: {} cannot be written; name another with --out\n",
                   path);
        return exit_host;
    }
    fmt::print("saved: {}\n", path);
    return exit_done;
}

void print_end(const Calibration& c, const HostSettings& settings) {
    fmt::print("reads {}{} chunks/s at 60 % of its core; {} connections to one server\n",
               c.chunks_extrapolated ? "an estimated " : "", c.chunks_per_s_max, c.connections_max);
    for (const std::string& line : advice_of(c, settings)) {
        fmt::print("advice: {}\n", line);
    }
}

std::string now_text() {
    timespec time{};
    (void)::clock_gettime(CLOCK_REALTIME, &time);
    return utc_text(std::int64_t{time.tv_sec} * 1'000'000'000);
}

}  // namespace

int run_calibrate(int argc, char** argv) {
    const ParsedCalibrate parsed = parse_calibrate_options(argc, argv);
    if (parsed.exit_code) {
        return *parsed.exit_code;
    }
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::vector<std::uint32_t> allowed = allowed_cpus();
    const std::uint32_t cpu =
        parsed.options.cpu ? *parsed.options.cpu : find_quiet_cpu(std::nullopt).cpu;
    std::vector<std::uint32_t> others;
    std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(others),
                 [cpu](std::uint32_t other) { return other != cpu; });
    if (others.empty()) {
        others.push_back(cpu);
    }
    const Result<void> pinned = pin_this_thread(cpu);
    if (!pinned) {
        fmt::print(stderr,
                   "driftless calibrate: --cpu {}: the thread cannot be pinned there ({})\n", cpu,
                   name_of(pinned.error().code));
        return pinned.error().code == ErrorCode::invalid ? exit_usage : exit_host;
    }
    sharpen_timers();
    if (parsed.options.realtime && !run_before_others()) {
        fmt::print(stderr, "driftless calibrate: {}\n", realtime_refusal);
        return exit_host;
    }
    const HostFacts host = read_host_facts();
    const HostSettings settings = read_host_settings(cpu, allowed.size());
    Calibration calibration;
    calibration.date = now_text();
    calibration.kernel = host.kernel;
    calibration.cpu_model = host.cpu_model;
    calibration.cpus_online = host.cpus_online;
    calibration.engine_cpu = cpu;
    calibration.realtime = parsed.options.realtime;
    calibration.file_limit = settings.file_limit;
    calibration.connections_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        settings.ports,
        settings.file_limit > files_reserved ? settings.file_limit - files_reserved : 1));
    fmt::print("{}, {} x {}, engine on CPU {}{}\n", host.kernel, host.cpus_online, host.cpu_model,
               cpu, calibration.realtime ? ", before ordinary threads" : "");
    Measurement measurement(calibration, others, parsed.options.quick);
    const Result<void> floor = measurement.floor();
    const Result<void> rehearsed = floor ? measurement.rehearse() : Result<void>();
    if (!floor || !rehearsed) {
        return fail(floor ? rehearsed.error() : floor.error());
    }
    print_end(calibration, settings);
    return save(calibration, parsed.options.out.empty()
                                 ? default_calibration_path(calibration.realtime)
                                 : parsed.options.out);
}

}  // namespace driftless
