#include "cmd/calibrate/measuring.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "cmd/calibrate/rehearsal.hpp"
#include "cmd/whole_file.hpp"
#include "engine/calibrate/floor.hpp"
#include "engine/host/scheduling.hpp"
#include "engine/host/side_thread.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

namespace {

constexpr std::uint64_t seed = 0;
// 0.03 s of spinning, 0.1 s of waits, 0.04 s of fires; the rehearsal takes about 0.5 s.
constexpr FloorPlan brief_floor{milliseconds(30), 32, 40, milliseconds(200)};
constexpr std::uint64_t brief_streams = 200;
constexpr RehearsalShape brief_shape{60, 11};

// A thread that spins before all others is stopped for 50 ms of each second.
SpinGaps spin_gaps(UringDriver& driver, Duration length, bool realtime) {
    if (realtime) {
        run_among_others();
    }
    const SpinGaps gaps = measure_spin_gaps(driver, length);
    if (realtime) {
        (void)run_before_others();  // was granted before
    }
    return gaps;
}

/// What one engine's thread finds.
struct ThreadFloor {
    SpinGaps gaps;
    WaitFloors waits;
    FireFloors fires;
    double steal_share = 0;  ///< of the time, as the next one
    double run_delay_share = 0;
};

Result<ThreadFloor> measure_thread(const FloorPlan& plan, const MeasuredHost& host) {
    const Result<std::unique_ptr<UringDriver>> made = UringDriver::make({});
    if (!made) {
        return made.error();
    }
    UringDriver& driver = *made.value();
    ThreadProbe probe(this_thread_id());
    const Instant begin = driver.now();
    ThreadFloor found;
    found.gaps = spin_gaps(driver, plan.spin, host.realtime);
    constexpr Error stopped{ErrorCode::cancelled, 0, "measure the host"};
    if (host.stopped()) {
        return stopped;
    }
    found.waits = measure_waits(driver, plan.wait_rounds, plan.most, seed);
    if (host.stopped()) {
        return stopped;
    }
    const cpu_set_t cpus = cpu_set_of(host.others);
    const Result<FireFloors> fires =
        measure_fires(driver, plan.fire_rounds, plan.most, &cpus, seed);
    if (!fires) {
        return fires.error();
    }
    found.fires = fires.value();
    const double length = static_cast<double>((driver.now() - begin).ns);
    const ThreadCost cost = probe.next();
    found.steal_share = static_cast<double>(cost.steal_ns) / length;
    found.run_delay_share = static_cast<double>(cost.run_delay_ns) / length;
    return found;
}

/// Each figure by itself; of two spreads the one that is later at its p99.
ThreadFloor worse_of(const ThreadFloor& a, const ThreadFloor& b) {
    const auto later = [](const Spread& one, const Spread& other) {
        return other.p99_ns > one.p99_ns ? other : one;
    };
    return {{std::max(a.gaps.per_s, b.gaps.per_s), std::max(a.gaps.max_ns, b.gaps.max_ns),
             std::max(a.gaps.lost_share, b.gaps.lost_share)},
            {later(a.waits.spin, b.waits.spin), later(a.waits.hybrid, b.waits.hybrid),
             later(a.waits.sleep, b.waits.sleep)},
            {later(a.fires.small, b.fires.small), later(a.fires.large, b.fires.large)},
            std::max(a.steal_share, b.steal_share),
            std::max(a.run_delay_share, b.run_delay_share)};
}

/// The thread of an engine that is not the first: measures as that one does, at the same time.
/// `plan` and `host` outlive it.
class OtherEngine {
  public:
    OtherEngine(const FloorPlan& plan, const MeasuredHost& host) : plan_(plan), host_(host) {}
    ~OtherEngine() { thread_.join(); }
    OtherEngine(const OtherEngine&) = delete;
    OtherEngine& operator=(const OtherEngine&) = delete;

    /// Errors: denied, exhausted.
    Result<void> start(std::uint32_t cpu) {
        const cpu_set_t cpus = cpu_set_of({cpu});
        return thread_.start<&OtherEngine::measure>("engine", &cpus, *this);
    }
    /// Waits for its end.
    const Result<ThreadFloor>& found() {
        thread_.join();
        return found_;
    }

  private:
    void measure() {
        sharpen_timers();
        if (host_.realtime && !run_before_others()) {
            found_ = Error{ErrorCode::denied, EPERM, "run before ordinary threads"};
            return;
        }
        found_ = measure_thread(plan_, host_);
    }

    const FloorPlan& plan_;
    const MeasuredHost& host_;
    Result<ThreadFloor> found_{ThreadFloor{}};
    SideThread thread_;
};

std::string now_text() {
    timespec time{};
    (void)::clock_gettime(CLOCK_REALTIME, &time);
    return utc_text(std::int64_t{time.tv_sec} * 1'000'000'000);
}

}  // namespace

Calibration begin_calibration(const HostFacts& facts, const MeasuredHost& host) {
    Calibration calibration;
    calibration.date = now_text();
    calibration.kernel = facts.kernel;
    calibration.cpu_model = facts.cpu_model;
    calibration.cpus_online = facts.cpus_online;
    calibration.engine_cpu = host.engine_cpus.front();
    calibration.engines = host.engines();
    calibration.realtime = host.realtime;
    return calibration;
}

Result<void> measure_floor(const FloorPlan& plan, const MeasuredHost& host, Calibration& out) {
    std::vector<std::unique_ptr<OtherEngine>> others;
    for (std::uint32_t engine = 1; engine < host.engines(); ++engine) {
        others.push_back(std::make_unique<OtherEngine>(plan, host));
        if (const Result<void> started = others.back()->start(host.engine_cpus[engine]); !started) {
            return started.error();
        }
    }
    Result<ThreadFloor> worst = measure_thread(plan, host);
    for (const std::unique_ptr<OtherEngine>& other : others) {
        const Result<ThreadFloor>& found = other->found();
        if (worst) {
            worst = found ? worse_of(worst.value(), found.value()) : found;
        }
    }
    if (!worst) {
        return worst.error();
    }
    const ThreadFloor& found = worst.value();
    out.spin_gaps_per_s = found.gaps.per_s;
    out.spin_gap_max_ns = found.gaps.max_ns;
    out.spin_lost_share = found.gaps.lost_share;
    out.wake_spin = found.waits.spin;
    out.wake_hybrid = found.waits.hybrid;
    out.wake_sleep = found.waits.sleep;
    out.fire_small = found.fires.small;
    out.fire_large = found.fires.large;
    out.steal_share = found.steal_share;
    out.run_delay_share = found.run_delay_share;
    return {};
}

Result<void> measure_briefly(const MeasuredHost& host, const char* wait, Calibration& out,
                             std::string& why_no_rehearsal) {
    if (const Result<void> floor = measure_floor(brief_floor, host, out); !floor) {
        return floor.error();
    }
    if (host.stopped()) {
        return Error{ErrorCode::cancelled, 0, "measure the host"};
    }
    const std::uint64_t room = connection_files(raise_file_limit());
    const auto streams = static_cast<std::uint32_t>(std::min(room, brief_streams * host.engines()));
    Rehearsals rehearsals(host, brief_shape, wait);
    const Result<void> opened = rehearsals.open();
    const Result<Rehearsal> done =
        opened ? rehearsals.run(streams) : Result<Rehearsal>(opened.error());
    if (done) {
        out.rehearsals.push_back(done.value());
    } else {
        why_no_rehearsal =
            std::string("cannot ") + done.error().doing + ": " + reason_of(done.error());
    }
    return {};
}

}  // namespace driftless
