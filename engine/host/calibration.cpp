#include "engine/host/calibration.hpp"

#include <algorithm>

#include "proto/core/text.hpp"
#include "proto/json/members.hpp"
#include "proto/json/write.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

namespace {

/// A figure that was not measured leaves the bar.
std::int64_t at_most(std::int64_t measured_ns, std::int64_t bar_ns) {
    return measured_ns > 0 ? std::min(measured_ns, bar_ns) : bar_ns;
}

void write_spread(JsonWriter& json, std::string_view name, const Spread& spread) {
    json.key(name).begin_object();
    json.key("count").unsigned_integer(spread.count);
    json.key("p50_ns").integer(spread.p50_ns);
    json.key("p99_ns").integer(spread.p99_ns);
    json.key("p999_ns").integer(spread.p999_ns);
    json.key("max_ns").integer(spread.max_ns);
    json.end_object();
}

void write_rehearsal(JsonWriter& json, const Rehearsal& rehearsal) {
    json.begin_object();
    json.key("streams").unsigned_integer(rehearsal.streams);
    json.key("chunks_asked").integer(rehearsal.chunks_asked);
    json.key("chunks").integer(rehearsal.chunks);
    json.key("busy_share").number(rehearsal.busy_share);
    write_spread(json, "drift", rehearsal.drift);
    write_spread(json, "receive_delay", rehearsal.receive_delay);
    json.key("taken_share").number(rehearsal.taken_share);
    json.key("lost").boolean(rehearsal.lost);
    json.end_object();
}

void note_unless(JsonMembers& members, const char* key, bool holds) {
    if (!holds) {
        members.fail(ErrorCode::out_of_range, key);
    }
}

/// Of some time; a little more than all of it is the clock's grain.
void read_share(JsonMembers& members, const char* key, double& value) {
    members.read(key, value);
    note_unless(members, key, 0 <= value && value <= 1.1);
}

void read_spread(JsonMembers& members, const char* key, Spread& value) {
    constexpr std::int64_t most_ns = 10'000'000'000;  // more is no measurement
    JsonMembers inner(members.get(key));
    inner.read("count", value.count);
    inner.read("p50_ns", value.p50_ns);
    inner.read("p99_ns", value.p99_ns);
    inner.read("p999_ns", value.p999_ns);
    inner.read("max_ns", value.max_ns);
    note_unless(members, key,
                !inner.error() && value.p50_ns <= value.p99_ns && value.p99_ns <= value.p999_ns &&
                    value.p999_ns <= value.max_ns && 0 <= value.p99_ns && value.p99_ns <= most_ns);
}

Rehearsal read_rehearsal(JsonValue value, JsonMembers& outer) {
    Rehearsal rehearsal;
    JsonMembers members(value);
    members.read("streams", rehearsal.streams);
    members.read("chunks_asked", rehearsal.chunks_asked);
    members.read("chunks", rehearsal.chunks);
    read_share(members, "busy_share", rehearsal.busy_share);
    read_spread(members, "drift", rehearsal.drift);
    read_spread(members, "receive_delay", rehearsal.receive_delay);
    members.read("lost", rehearsal.lost);
    if (value.find("taken_share").present()) {  // younger, too
        read_share(members, "taken_share", rehearsal.taken_share);
    }
    note_unless(outer, "rehearsals", !members.error());
    return rehearsal;
}

/// The median p99 of the rehearsals that were as busy as `chunks_per_s`, or less; at least of the
/// first one. One disturbed rehearsal does not move it far.
std::int64_t median_p99(const Calibration& calibration, std::int64_t chunks_per_s,
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
double rehearsed_taken_share(const Calibration& c) {
    double most = 0;
    for (const Rehearsal& rehearsal : c.rehearsals) {
        most = std::max(most, rehearsal.taken_share);
    }
    return most;
}

}  // namespace

std::string to_json(const Calibration& c) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.key("schema").integer(calibration_schema);
    json.key("date").string(c.date);
    json.key("kernel").string(c.kernel);
    json.key("cpu_model").string(c.cpu_model);
    json.key("cpus_online").unsigned_integer(c.cpus_online);
    json.key("engine_cpu").unsigned_integer(c.engine_cpu);
    json.key("engines").unsigned_integer(c.engines);
    json.key("realtime").boolean(c.realtime);
    json.key("driver").string(c.driver);
    write_spread(json, "wake_spin", c.wake_spin);
    write_spread(json, "wake_hybrid", c.wake_hybrid);
    write_spread(json, "wake_sleep", c.wake_sleep);
    json.key("spin_gaps_per_s").number(c.spin_gaps_per_s);
    json.key("spin_gap_max_ns").integer(c.spin_gap_max_ns);
    json.key("spin_lost_share").number(c.spin_lost_share);
    write_spread(json, "fire_small", c.fire_small);
    write_spread(json, "fire_large", c.fire_large);
    json.key("rehearsals").begin_array();
    for (const Rehearsal& rehearsal : c.rehearsals) {
        write_rehearsal(json, rehearsal);
    }
    json.end_array();
    json.key("chunks_per_s_max").integer(c.chunks_per_s_max);
    json.key("chunks_extrapolated").boolean(c.chunks_extrapolated);
    json.key("file_limit").unsigned_integer(c.file_limit);
    json.key("connections_max").unsigned_integer(c.connections_max);
    json.key("steal_share").number(c.steal_share);
    json.key("run_delay_share").number(c.run_delay_share);
    json.end_object();
    out += '\n';
    return out;
}

Result<Calibration> read_calibration(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> parsed = document.parse(text);
    if (!parsed || !parsed.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "read the calibration"};
    }
    const JsonValue root = parsed.value();
    if (root.find("schema").as_i64() != calibration_schema) {
        return Error{ErrorCode::unsupported, 0, "read a calibration of another version"};
    }
    Calibration c;
    JsonMembers members(root);
    members.read("date", c.date);
    members.read("kernel", c.kernel);
    members.read("cpu_model", c.cpu_model);
    members.read("cpus_online", c.cpus_online);
    members.read("engine_cpu", c.engine_cpu);
    // These three are younger than the schema.
    if (root.find("engines").present()) {
        members.read("engines", c.engines);
        note_unless(members, "engines", c.engines > 0 && c.engines <= engines_max);
    }
    c.realtime = root.find("realtime").as_bool().value_or(false);
    if (root.find("driver").present()) {
        members.read("driver", c.driver);
    }
    read_spread(members, "wake_spin", c.wake_spin);
    read_spread(members, "wake_hybrid", c.wake_hybrid);
    read_spread(members, "wake_sleep", c.wake_sleep);
    members.read("spin_gaps_per_s", c.spin_gaps_per_s);
    members.read("spin_gap_max_ns", c.spin_gap_max_ns);
    read_share(members, "spin_lost_share", c.spin_lost_share);
    read_spread(members, "fire_small", c.fire_small);
    read_spread(members, "fire_large", c.fire_large);
    const JsonValue rehearsals = root.find("rehearsals");
    note_unless(members, "rehearsals", rehearsals.is(JsonType::array));
    for (JsonValue one = rehearsals.first(); one.present(); one = one.next()) {
        c.rehearsals.push_back(read_rehearsal(one, members));
    }
    members.read("chunks_per_s_max", c.chunks_per_s_max);
    members.read("chunks_extrapolated", c.chunks_extrapolated);
    members.read("file_limit", c.file_limit);
    members.read("connections_max", c.connections_max);
    read_share(members, "steal_share", c.steal_share);
    read_share(members, "run_delay_share", c.run_delay_share);
    if (members.error()) {
        return Error{ErrorCode::missing, 0, "read every figure of the calibration"};
    }
    return c;
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
