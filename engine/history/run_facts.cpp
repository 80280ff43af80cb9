#include "engine/history/run_facts.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/host/calibration.hpp"
#include "proto/core/hash.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/figures/warm_cache.hpp"

namespace driftless {

static constexpr std::int64_t ns_per_second = 1'000'000'000;

namespace {

/// Keys that older runs lack are left as they are.
class RunReader : public JsonMembers {
  public:
    explicit RunReader(JsonValue root) : JsonMembers(root), here_(root) {}

    void in(const char* key, int since, auto inner) { enter_for(get(key, since), inner); }
    void in_known(const char* key, int since, bool& known, auto inner) {
        const JsonValue object = get(key, since);
        if (known = object.is(JsonType::object); known) {
            enter_for(object, inner);
        }
    }
    void unread(const char*) {}

    using JsonMembers::digest;
    void digest(const char* key, int, std::uint64_t& out) { JsonMembers::digest(key, out); }
    using JsonMembers::value;
    void value(const char* key, int since, std::optional<StoppedWhen>& out) {
        const Result<StoppedWhen> read = read_members<StoppedWhen>(get(key, since), key);
        out = read ? std::optional(read.value()) : std::nullopt;
    }
    void goodput(const char* key, int since, GoodputRules& out) {
        GoodputFacts read;
        value(key, since, read);
        for (GoodputRule& rule : read.groups) {
            Result<GroupKey> parsed = parse_group_key(rule.key->text);
            fail_unless(bool(parsed), ErrorCode::bad_json, key);
            rule.key = parsed ? std::optional(std::move(parsed).value()) : std::nullopt;
        }
        out = std::move(read.groups);
        if (read.common.set()) {
            out.push_back({{}, "", read.common});
        }
    }

  private:
    void enter_for(JsonValue object, auto inner) {
        const JsonValue outer = std::exchange(here_, object);
        enter(object);
        inner();
        enter(here_ = outer);
    }

    JsonValue here_;
};

}  // namespace

/// Absent in runs of before there were shards.
static void read_shard_facts(JsonValue root, RunFacts& out, JsonMembers& facts) {
    const Result<std::optional<ShardFacts>> shard =
        read_shard(root.find("shard"), root.find("meeting"));
    const Result<std::optional<MergedRun>> merged = read_merged(root.find("merged"));
    if (!shard || !merged) {
        const Error& error = shard ? merged.error() : shard.error();
        facts.fail(error.code, error.doing);
        return;
    }
    out.shard = shard.value();
    out.info.merged = merged.value();
}

static Result<JsonValue> parse_run(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> root = document.parse(text);
    return root && root.value().is(JsonType::object) ? root
                                                     : Error{ErrorCode::bad_json, 0, "the whole"};
}

Result<RunFacts> read_run_facts(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> root = parse_run(document, text);
    if (!root) {
        return root.error();
    }
    if (root.value().find("schema").as_i64().value_or(0) > record_schema) {
        return Error{ErrorCode::unsupported, 0, "schema"};
    }
    RunFacts out;
    RunReader facts(root.value());
    walk_run(facts, out);
    read_shard_facts(root.value(), out, facts);
    facts.fail_unless(!out.segments.empty(), ErrorCode::missing, "segments");
    if (CalibrationFacts& known = out.calibration; !known.date.empty()) {
        known.why_not.clear();
    } else {
        facts.fail_unless(!known.why_not.empty(), ErrorCode::missing, "why_not");
    }
    if (facts.error()) {
        return *facts.error();
    }
    settle(out);
    return out;
}

std::optional<RunFacts> read_partly(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> root = parse_run(document, text);
    if (!root) {
        return std::nullopt;
    }
    RunFacts out;
    RunReader facts(root.value());
    walk_run(facts, out);
    return out;
}

void settle(RunFacts& facts) {
    SummaryInfo& info = facts.info;
    RunDescription& run = info.run;
    run.arguments = facts.arguments;
    run.trace_digest = hex_text(facts.trace_digest);
    run.schedule_digest = hex_text(facts.schedule_digest);
    run.rows = facts.rows;
    info.clamped_rows = facts.clamped_rows.value_or(0);
    info.stopped_when = facts.end.stopped_when;
    info.date = facts.segments.empty()
                    ? ""
                    : utc_text(facts.segments.front().clock.zero_utc_ns, "%Y%m%d-%H%M%S");
    if (facts.rows_not_foretold == 0) {
        run.expected_cached_tokens = facts.expected_cached_tokens;
    }
    run.measured_from_ns = facts.end.measured_from_ns;
    const bool cut_short = facts.end.interrupted || facts.end.stopped_when;
    run.ending = !facts.ended ? Ending::none : cut_short ? Ending::interrupted : Ending::by_itself;
}

Judgement judge_run(const CalibrationFacts& calibration, const SummaryFigures& figures,
                    const ClientTotals& client, const CacheProbe& cache) {
    const bool calibrated = calibration.why_not.empty();
    Judgement judged =
        calibrated ? judge_calibrated(figures, client, calibration.limits)
                   : judge_uncalibrated(calibration.why_not, figures, client, calibration.limits);
    if (calibrated) {
        judged.reasons.push_back(how_calibrated(calibration));
    }
    if (std::string warm = warm_reason(figures, cache); !warm.empty()) {
        // Before all where nothing else is wrong; else behind what is.
        const bool is_first = judged.verdict == Verdict::certified;
        judged.reasons.insert(is_first ? judged.reasons.begin() : judged.reasons.end(),
                              std::move(warm));
    }
    return judged;
}

std::string RunFacts::drivers() const {
    std::vector<std::string> drivers;
    for (const RunSegment& segment : segments) {
        if (drivers.empty() || drivers.back() != segment.driver) {
            drivers.push_back(segment.driver);
        }
    }
    return joined(drivers, ", then ");
}

std::string how_calibrated(const CalibrationFacts& calibration) {
    std::string text = "calibrated at " + calibration.date;
    if (calibration.measured_ns > 0) {
        char seconds[32];
        (void)std::snprintf(seconds, sizeof seconds, "%.1f",
                            static_cast<double>(calibration.measured_ns) / 1e9);
        text = std::string("calibrated for ") + seconds + " s before this run";
    }
    if (calibration.taken_share > noise_max) {
        text += ", while others used " + percent_text(calibration.taken_share) + " of the CPU";
    }
    return text;
}

std::string utc_text(std::int64_t utc_ns, const char* format) {
    const time_t whole = utc_ns / ns_per_second;
    tm parts{};
    (void)::gmtime_r(&whole, &parts);
    char text[32];
    (void)::strftime(text, sizeof(text), format, &parts);
    return text;
}

std::string utc_text(std::int64_t utc_ns) {
    char fraction[32];
    (void)std::snprintf(fraction, sizeof(fraction), ".%09lldZ",
                        static_cast<long long>(utc_ns % ns_per_second));
    return utc_text(utc_ns, "%Y-%m-%dT%H:%M:%S") + fraction;
}

/// More shards than any run has; bounds what a foreign run.json may ask for.
static constexpr std::uint32_t count_max = 65'536;
/// Clocks that lie further apart than 100 years are no clocks; sums of such stamps fit.
static constexpr std::int64_t clock_ns_max = 3'153'600'000'000'000'000;

static bool is_clock(std::int64_t ns) {
    return ns <= clock_ns_max && ns >= -clock_ns_max;
}

namespace {

/// What an exchange with shard 0, or several, leaves of where its clock may be.
struct Interval {
    std::int64_t least_ns = 0;
    std::int64_t most_ns = 0;
};

}  // namespace

/// One that holds both: the clocks may have moved against each other in between.
static void widen(std::optional<Interval>& interval, std::int64_t offset_ns,
                  std::int64_t error_ns) {
    const Interval one{offset_ns - error_ns, offset_ns + error_ns};
    interval = interval ? Interval{std::min(interval->least_ns, one.least_ns),
                                   std::max(interval->most_ns, one.most_ns)}
                        : one;
}

/// The first key whose number no clock has; nullptr: there is none.
static const char* beyond_all(const MetClock& clock) {
    for (const std::optional<ClockDifference>& one : {clock.before, clock.after}) {
        if (one && !is_clock(one->offset_ns)) {
            return "offset_ns";
        }
        if (one && (one->error_ns < 0 || !is_clock(one->error_ns))) {
            return "error_ns";
        }
    }
    const std::int64_t kernel_ns = clock.kernel_error_ns.value_or(0);
    return kernel_ns < 0 || !is_clock(kernel_ns) ? "kernel_error_ns" : nullptr;
}

static std::optional<ShardClock> clock_of(const MetClock& clock) {
    std::optional<Interval> interval;
    for (const std::optional<ClockDifference>& one : {clock.before, clock.after}) {
        if (one) {
            widen(interval, one->offset_ns, one->error_ns);
        }
    }
    if (!interval && clock.kernel_error_ns) {
        widen(interval, 0, *clock.kernel_error_ns);
    }
    if (!interval) {
        return std::nullopt;
    }
    const std::int64_t half_ns = (interval->most_ns - interval->least_ns + 1) / 2;
    return ShardClock{interval->least_ns + half_ns, half_ns};
}

static void walk(auto& fields, IsOf<ShardClock> auto& clock) {
    fields.value("offset_ns", 1, clock.offset_ns);
    fields.value("error_ns", 1, clock.error_ns);
}

static void walk(auto& fields, IsOf<MergedShard> auto& shard) {
    fields.value("index", 2, shard.index);
    fields.value("folder", 1, shard.folder);
    fields.value("run_id", 1, shard.run_id);
    fields.value("ended", 1, shard.ended);
    fields.value("rows", 1, shard.rows);
    fields.value("probes", 2, shard.probes);
    fields.value("rows_later", 2, shard.rows_later);
    fields.value("interrupted", 2, shard.interrupted);
    fields.text("stopped_when", 2, shard.stopped_when);
    fields.value("not_reported", 1, shard.not_reported);
    fields.value("rows_left", 1, shard.rows_left);
    fields.value("all_known", 1, shard.all_known);
    fields.value("verdict", 1, shard.verdict);
    fields.value("verdict_reasons", 1, shard.reasons);
    fields.value("zero_utc_ns", 1, shard.zero_utc_ns);
    fields.value("clock", 1, shard.clock);
}

static void walk(auto& fields, IsOf<MergedRun> auto& run) {
    fields.value("count", 1, run.count);
    fields.value("rows", 1, run.rows);
    fields.value("rows_missing", 1, run.rows_missing);
    fields.value("clock_error_max_ns", 1, run.clock_error_max_ns);
    fields.value("shards", 1, run.shards);
}

/// The first key whose number no run has; nullptr: there is none.
static const char* beyond_all(const MergedRun& run) {
    for (const MergedShard& one : run.shards) {
        if (std::max({one.rows, one.not_reported, one.rows_left}) > UINT32_MAX) {
            return "rows";
        }
        if (!is_clock(one.zero_utc_ns) ||
            (one.clock && !(is_clock(one.clock->offset_ns) && is_clock(one.clock->error_ns)))) {
            return "clock";
        }
    }
    return run.count > count_max || run.shards.size() != run.count ? "shards"
           : std::max(run.rows, run.rows_missing) > UINT32_MAX     ? "rows"
           : !is_clock(run.clock_error_max_ns)                     ? "clock_error_max_ns"
                                                                   : nullptr;
}

Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting) {
    if (!shard.present() || shard.is(JsonType::null)) {
        return std::optional<ShardFacts>();
    }
    const Result<ShardFacts> read = read_members<ShardFacts>(shard, "shard");
    if (!read) {
        return read.error();
    }
    ShardFacts out = read.value();
    if (out.count > count_max || out.index >= out.count || out.plan_rows > UINT32_MAX) {
        const bool is_rows = out.count <= count_max && out.index < out.count;
        return Error{ErrorCode::out_of_range, 0, is_rows ? "plan_rows" : "index"};
    }
    if (meeting.is(JsonType::object)) {
        const Result<MeetingFacts> met = read_members<MeetingFacts>(meeting, "meeting");
        if (!met) {
            return met.error();
        }
        const MetClock& clock = met.value().clock;
        if (const char* const wrong = beyond_all(clock); wrong != nullptr) {
            return Error{ErrorCode::out_of_range, 0, wrong};
        }
        // All others are compared with that of the host.
        out.clock = met.value().role == "host" ? ShardClock{} : clock_of(clock);
        out.met_after = clock.after.has_value();
    }
    return std::optional(out);
}

void write_merged(JsonWriter& json, const MergedRun& run) {
    MemberWriter(json).value("merged", 1, run);
}

Result<std::optional<MergedRun>> read_merged(JsonValue merged) {
    if (!merged.present() || merged.is(JsonType::null)) {
        return std::optional<MergedRun>();
    }
    Result<MergedRun> read = read_members<MergedRun>(merged, "merged");
    if (!read) {
        return read.error();
    }
    MergedRun& run = read.value();
    if (const char* const wrong = beyond_all(run); wrong != nullptr) {
        return Error{ErrorCode::out_of_range, 0, wrong};
    }
    for (std::size_t i = 0; i < run.shards.size(); ++i) {
        MergedShard& shard = run.shards[i];
        shard.index = static_cast<std::uint32_t>(i);
        shard.rows_later = std::min(shard.rows_later, shard.rows);
    }
    return std::optional(std::move(run));
}

}  // namespace driftless
