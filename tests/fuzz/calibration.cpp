// Any bytes as a calibration file: refused, or figures that are written and read back as
// themselves, and floors that can be asked for.
#include "engine/host/calibration.hpp"

#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void fuzz_calibration(std::string_view text) {
    JsonDocument document;
    const Result<Calibration> read = read_calibration(document, text);
    if (!read) {
        return;
    }
    const Calibration& calibration = read.value();
    const std::string written = to_json(calibration);
    const Result<Calibration> back = read_calibration(document, written);
    CHECK(static_cast<bool>(back));
    CHECK(to_json(back.value()) == written);
    HostFacts host{.kernel = calibration.kernel,
                   .cpu_model = calibration.cpu_model,
                   .cpus_online = calibration.cpus_online};
    const EngineSetup run{calibration.realtime, calibration.engines};
    CHECK(why_not_of(calibration, host, run).empty());
    CHECK(!why_not_of(calibration, host, {run.realtime, run.engines + 1}).empty());
    ++host.cpus_online;
    CHECK(!why_not_of(calibration, host, run).empty());
    for (const std::int64_t chunks_per_s : {0L, 50'000L, INT64_MAX}) {
        CHECK(drift_floor_ns(calibration, chunks_per_s) >= calibration.wake_sleep.p99_ns);
        (void)receive_floor_ns(calibration, chunks_per_s);
    }
}

const FuzzTargets calibration_target = {{"calibration", fuzz_calibration}};

}  // namespace
}  // namespace driftless
