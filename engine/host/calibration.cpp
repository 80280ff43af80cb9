#include "engine/host/calibration.hpp"

#include <algorithm>

#include "proto/core/text.hpp"
#include "proto/json/members.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

/// A figure that was not measured leaves the bar.
static std::int64_t at_most(std::int64_t measured_ns, std::int64_t bar_ns) {
    return measured_ns > 0 ? std::min(measured_ns, bar_ns) : bar_ns;
}

/// Of some time; a little more than all of it is the clock's grain.
static bool is_share(double value) {
    return 0 <= value && value <= 1.1;
}

static bool is_measured(const Spread& spread) {
    constexpr std::int64_t most_ns = 10'000'000'000;  // more is no measurement
    return spread.p50_ns <= spread.p99_ns && spread.p99_ns <= spread.p999_ns &&
           spread.p999_ns <= spread.max_ns && 0 <= spread.p99_ns && spread.p99_ns <= most_ns;
}

static bool is_measured(const Rehearsal& one) {
    return is_share(one.busy_share) && is_share(one.taken_share) && is_measured(one.drift) &&
           is_measured(one.receive_delay);
}

static bool is_measured(const Calibration& c) {
    const auto spreads = {c.wake_spin, c.wake_hybrid, c.wake_sleep, c.fire_small, c.fire_large};
    return c.engines > 0 && c.engines <= engines_max && is_share(c.spin_lost_share) &&
           is_share(c.steal_share) && is_share(c.run_delay_share) &&
           std::all_of(spreads.begin(), spreads.end(),
                       [](const Spread& one) { return is_measured(one); }) &&
           std::all_of(c.rehearsals.begin(), c.rehearsals.end(),
                       [](const Rehearsal& one) { return is_measured(one); });
}

/// The median p99 of the rehearsals that were as busy as `chunks_per_s`, or less; at least of the
/// first one. One disturbed rehearsal does not move it far.
static std::int64_t median_p99(const Calibration& calibration, std::int64_t chunks_per_s,
                               Spread Rehearsal::* spread) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < calibration.rehearsals.size(); ++i) {
        const Spread& one = calibration.rehearsals[i].*spread;
        if (one.count > 0 && (i == 0 || calibration.rehearsals[i - 1].chunks < chunks_per_s)) {
            values.push_back(one.p99_ns);
        }
    }
    if (values.empty()) {
        return 0;
    }
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
}

/// The largest share that others had of a rehearsal's second.
static double rehearsed_taken_share(const Calibration& c) {
    double most = 0;
    for (const Rehearsal& rehearsal : c.rehearsals) {
        most = std::max(most, rehearsal.taken_share);
    }
    return most;
}

static void walk(auto& fields, IsOf<Spread> auto& spread) {
    fields.value("count", 1, spread.count);
    fields.value("p50_ns", 1, spread.p50_ns);
    fields.value("p99_ns", 1, spread.p99_ns);
    fields.value("p999_ns", 1, spread.p999_ns);
    fields.value("max_ns", 1, spread.max_ns);
}

static void walk(auto& fields, IsOf<Rehearsal> auto& rehearsal) {
    fields.value("streams", 1, rehearsal.streams);
    fields.value("chunks_asked", 1, rehearsal.chunks_asked);
    fields.value("chunks", 1, rehearsal.chunks);
    fields.value("busy_share", 1, rehearsal.busy_share);
    fields.value("drift", 1, rehearsal.drift);
    fields.value("receive_delay", 1, rehearsal.receive_delay);
    fields.value("taken_share", 2, rehearsal.taken_share);  // younger than the first version
    fields.value("lost", 1, rehearsal.lost);
}

static void walk(auto& fields, IsOf<Calibration> auto& c) {
    fields.value("date", 1, c.date);
    fields.value("kernel", 1, c.kernel);
    fields.value("cpu_model", 1, c.cpu_model);
    fields.value("cpus_online", 1, c.cpus_online);
    fields.value("engine_cpu", 1, c.engine_cpu);
    fields.value("engines", 2, c.engines);
    fields.value("realtime", 2, c.realtime);
    fields.value("driver", 2, c.driver);
    fields.value("wake_spin", 1, c.wake_spin);
    fields.value("wake_hybrid", 1, c.wake_hybrid);
    fields.value("wake_sleep", 1, c.wake_sleep);
    fields.value("spin_gaps_per_s", 1, c.spin_gaps_per_s);
    fields.value("spin_gap_max_ns", 1, c.spin_gap_max_ns);
    fields.value("spin_lost_share", 1, c.spin_lost_share);
    fields.value("fire_small", 1, c.fire_small);
    fields.value("fire_large", 1, c.fire_large);
    fields.value("rehearsals", 1, c.rehearsals);
    fields.value("chunks_per_s_max", 1, c.chunks_per_s_max);
    fields.value("chunks_extrapolated", 1, c.chunks_extrapolated);
    fields.value("file_limit", 1, c.file_limit);
    fields.value("connections_max", 1, c.connections_max);
    fields.value("steal_share", 1, c.steal_share);
    fields.value("run_delay_share", 1, c.run_delay_share);
}

std::string to_json(const Calibration& c) {
    std::string out;
    JsonWriter json(out);
    MemberWriter fields(json);
    json.begin_object();
    fields.value("schema", 1, calibration_schema);
    walk(fields, c);
    json.end_object();
    return out + '\n';
}

Result<Calibration> read_calibration(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> parsed = document.parse(text);
    if (!parsed || !parsed.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read the calibration"};
    }
    if (parsed.value().find("schema").as_i64() != calibration_schema) {
        return Error{ErrorCode::unsupported, 0, "read a calibration of another version"};
    }
    Result<Calibration> read = read_members<Calibration>(parsed, "read the calibration");
    return read && is_measured(read.value())
               ? std::move(read)
               : Error{ErrorCode::missing, 0, "read every figure of the calibration"};
}

double taken_share(const Calibration& c) {
    // Gaps of the spin are what others took from it in the same time: not to be added to the rest.
    return std::max(
        {c.steal_share + c.run_delay_share, c.spin_lost_share, rehearsed_taken_share(c)});
}

std::vector<std::string> noise_of(const Calibration& c) {
    std::vector<std::string> noise;
    if (c.steal_share > noise_max) {
        noise.push_back("the hypervisor took the engine's CPU for " + percent_text(c.steal_share) +
                        " of the time");
    }
    // One fact, seen in three ways.
    const auto [least, most] =
        std::minmax({c.run_delay_share, c.spin_lost_share, rehearsed_taken_share(c)});
    if (most > noise_max) {
        const std::string up_to = percent_text(std::min(most, 1.0));
        const std::string from = percent_text(std::min(least, 1.0));
        const bool range = least > noise_max && from != up_to;
        noise.push_back("other programs used the engine's CPU for " +
                        (range ? from + " to " : "up to ") + up_to + " of the time");
    }
    return noise;
}

std::string why_not_of(const Calibration& calibration, const HostFacts& host,
                       const EngineSetup& run) {
    if (calibration.realtime && !run.realtime) {
        return "the calibration was made with --realtime, but this run has no --realtime";
    }
    if (run.engines != engines_auto && calibration.engines != run.engines) {
        return "the calibration was made with " +
               counted(calibration.engines, "engine", "engines") + ", but this run has " +
               std::to_string(run.engines);
    }
    if (!run.driver.empty() && calibration.driver != run.driver) {
        return "the calibration was made over " + calibration.driver + ", but this run is over " +
               run.driver;
    }
    if (calibration.kernel != host.kernel) {
        return "the calibration was made under " + calibration.kernel + ", this is " + host.kernel;
    }
    if (calibration.cpu_model != host.cpu_model || calibration.cpus_online != host.cpus_online) {
        return "the calibration was made on " + std::to_string(calibration.cpus_online) + " x " +
               calibration.cpu_model + ", this is " + std::to_string(host.cpus_online) + " x " +
               host.cpu_model;
    }
    return "";
}

std::int64_t drift_floor_ns(const Calibration& calibration, std::int64_t chunks_per_s) {
    return std::max(calibration.wake_sleep.p99_ns,
                    median_p99(calibration, chunks_per_s, &Rehearsal::drift));
}

std::int64_t receive_floor_ns(const Calibration& calibration, std::int64_t chunks_per_s) {
    return median_p99(calibration, chunks_per_s, &Rehearsal::receive_delay);
}

TaintLimits taint_limits(const Calibration& calibration, std::int64_t chunks_per_s,
                         const CertifyWithin& within) {
    TaintLimits limits = taint_limits(within);
    const std::int64_t fire_ns = calibration.fire_large.p99_ns;
    limits.drift_ns =
        at_most(limit_ratio * drift_floor_ns(calibration, chunks_per_s), within.sent_ns);
    limits.rank_ns = fire_ns;
    limits.receive_delay_ns =
        at_most(limit_ratio * receive_floor_ns(calibration, chunks_per_s), within.read_ns);
    limits.wire_ns = at_most(limit_ratio * fire_ns, within.sent_ns);
    return limits;
}

}  // namespace driftless
