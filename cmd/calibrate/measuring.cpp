#include "cmd/calibrate/measuring.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <memory>

#include "cmd/calibrate/rehearsal.hpp"
#include "cmd/whole_file.hpp"
#include "engine/calibrate/floor.hpp"
#include "engine/io/uring.hpp"

namespace driftless {

namespace {

constexpr std::uint64_t seed = 0;
// 0.15 s of spinning, 0.45 s of waits, 0.12 s of fires; the rehearsal takes about 1.2 s.
constexpr FloorPlan brief_floor{milliseconds(150), 150, 120, milliseconds(500)};
constexpr std::uint64_t brief_streams = 200;
constexpr RehearsalShape brief_shape{250, 30};

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
    calibration.engine_cpu = host.engine_cpu;
    calibration.realtime = host.realtime;
    return calibration;
}

Result<void> measure_floor(const FloorPlan& plan, const MeasuredHost& host, Calibration& out) {
    const Result<std::unique_ptr<UringDriver>> made = UringDriver::make({});
    if (!made) {
        return made.error();
    }
    UringDriver& driver = *made.value();
    ThreadProbe probe(this_thread_id());
    const Instant begin = driver.now();
    const SpinGaps gaps = spin_gaps(driver, plan.spin, host.realtime);
    constexpr Error stopped{ErrorCode::cancelled, 0, "measure the host"};
    if (host.stopped()) {
        return stopped;
    }
    const WaitFloors waits = measure_waits(driver, plan.wait_rounds, plan.most, seed);
    if (host.stopped()) {
        return stopped;
    }
    const cpu_set_t cpus = cpu_set_of(host.others);
    const Result<FireFloors> fires =
        measure_fires(driver, plan.fire_rounds, plan.most, &cpus, seed);
    if (!fires) {
        return fires.error();
    }
    const double length = static_cast<double>((driver.now() - begin).ns);
    const ThreadCost cost = probe.next();
    out.spin_gaps_per_s = gaps.per_s;
    out.spin_gap_max_ns = gaps.max_ns;
    out.spin_lost_share = gaps.lost_share;
    out.wake_spin = waits.spin;
    out.wake_hybrid = waits.hybrid;
    out.wake_sleep = waits.sleep;
    out.fire_small = fires.value().small;
    out.fire_large = fires.value().large;
    out.steal_share = static_cast<double>(cost.steal_ns) / length;
    out.run_delay_share = static_cast<double>(cost.run_delay_ns) / length;
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
    const auto streams = static_cast<std::uint32_t>(std::min(room, brief_streams));
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
