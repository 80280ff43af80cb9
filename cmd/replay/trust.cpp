#include "cmd/replay/trust.hpp"

#include <algorithm>
#include <cstdio>

namespace driftless {

namespace {

constexpr std::int64_t window_ns = 10'000'000'000;
constexpr std::int64_t window_s = 10;

double milliseconds_of(std::int64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

void warn(const Trust& trust, const Workload& workload) {
    const Calibration& c = *trust.found.calibration;
    if (c.chunks_per_s_max > 0 && trust.chunks_per_s > c.chunks_per_s_max) {
        std::fprintf(
            stderr,
            "driftless: warning: the plan asks for %lld tokens/s in its busiest 10 s, this "
            "host reads %lld chunks/s at 60 %% of its core; lower --speed, or expect the "
            "verdict client-limited where the server keeps up\n",
            static_cast<long long>(trust.chunks_per_s), static_cast<long long>(c.chunks_per_s_max));
    }
    if (workload.plan.burst_rows_max > c.connections_max) {
        std::fprintf(stderr,
                     "driftless: warning: %u rows are due at one instant, this host can open %u "
                     "connections; raise the limit of open files, or set --max-inflight\n",
                     workload.plan.burst_rows_max, c.connections_max);
    }
}

}  // namespace

std::int64_t chunks_asked(const Trace& trace, const Plan& plan) {
    std::int64_t tokens = 0;
    std::int64_t most = 0;
    auto oldest = plan.rows.begin();
    for (const Planned& planned : plan.rows) {
        tokens += trace.rows[planned.row].output_length;
        for (; planned.due_ns - oldest->due_ns >= window_ns; ++oldest) {
            tokens -= trace.rows[oldest->row].output_length;
        }
        most = std::max(most, tokens);
    }
    return most / window_s;
}

Trust find_trust(const ReplayOptions& options, const HostFacts& host, const Workload& workload) {
    Trust trust;
    trust.chunks_per_s = chunks_asked(workload.trace, workload.plan);
    if (options.calibration == "none") {
        trust.found.why_not = "--calibration none";
    } else {
        trust.found = find_calibration(options.calibration, host, options.realtime);
    }
    if (!trust.found.calibration) {
        std::printf("calibration: none (%s)\n", trust.found.why_not.c_str());
        return trust;
    }
    trust.limits = taint_limits(*trust.found.calibration, trust.chunks_per_s);
    std::printf("calibration: of %s%s; a row is tainted when sent more than %.3f ms late",
                trust.found.calibration->date.c_str(),
                options.realtime && !trust.found.calibration->realtime
                    ? ", of an ordinary thread (driftless calibrate --realtime)"
                    : "",
                milliseconds_of(trust.limits.drift_ns));
    if (trust.limits.receive_delay_ns > 0) {
        std::printf(", or read more than %.3f ms late",
                    milliseconds_of(trust.limits.receive_delay_ns));
    }
    std::printf("\n");
    warn(trust, workload);
    return trust;
}

CalibrationFacts facts_of(const Trust& trust) {
    const auto& calibration = trust.found.calibration;
    return {calibration ? calibration->date : "", trust.found.why_not, trust.limits};
}

}  // namespace driftless
