#include "engine/history/run_facts.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/host/calibration.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/json/members.hpp"

namespace driftless {

constexpr std::int64_t ns_per_second = 1'000'000'000;

static void walk(JsonMembers& facts, AgainstFacts& second) {
    facts.value("model", 1, second.model);
    facts.value("overhead_pre", 1, second.overhead.pre);
    facts.value("overhead_post", 1, second.overhead.post);
}

static void walk(JsonMembers& facts, RunSegment& segment) {
    facts.value("run_id", 1, segment.run_id);
    facts.value("command", 1, segment.command);
    facts.value("zero_monotonic_ns", 1, segment.clock.zero_monotonic_ns);
    facts.value("zero_utc_ns", 1, segment.clock.zero_utc_ns);
    facts.value("error_ns", 1, segment.clock.error_ns);
    facts.value("first_due_ns", 1, segment.first_due_ns);
    facts.value("rows", 1, segment.rows);
    facts.value("rows_interrupted", 1, segment.rows_interrupted);
    facts.value("driver", 2, segment.driver);
}

namespace {

/// Keys that older runs lack are left as they are, here and below.
void read_trace(JsonValue trace, RunFacts& out, JsonMembers& facts) {
    RunDescription& run = out.info.run;
    facts.enter(trace);
    facts.value("paths", 2, run.trace_paths);
    facts.read("name", out.info.trace);
    facts.value("rows", 2, run.trace_rows);
    facts.value("dependencies", 2, run.trace_dependencies);
    facts.read("digest", run.trace_digest);
    facts.digest("digest", out.trace_digest);
}

void read_arrivals(JsonValue arrivals, RunDescription& run, JsonMembers& facts) {
    facts.enter(arrivals);
    facts.text("rate", 2, run.rate);
    facts.value("asked_rate", 2, run.asked_rate);
    facts.text("law", 2, run.arrivals);
    facts.text("of", 2, run.arriving);
    facts.value("planned_rate", 2, run.planned_rate);
}

void read_plan(JsonValue plan, RunFacts& out, JsonMembers& facts) {
    RunDescription& run = out.info.run;
    std::optional<std::uint64_t> clamped;
    facts.enter(plan);
    facts.read("seed", out.seed);
    facts.read("cache_salt", out.cache_salt);
    facts.value("speed", 2, run.speed);
    facts.value("start_ns", 2, run.start_ns);
    facts.value("end_ns", 2, run.end_ns);
    facts.value("duration_ns", 2, run.duration_ns);
    facts.value("limit", 2, run.limit);
    facts.value("spread", 2, run.spread);
    facts.value("sessions", 2, run.sessions);
    facts.read("rows", out.rows);
    facts.value("last_due_ns", 2, run.last_due_ns);
    facts.read("schedule_digest", run.schedule_digest);
    facts.digest("schedule_digest", out.schedule_digest);
    facts.digest("prompts_digest", 1, out.prompts_digest);
    facts.value("clamped_rows", 1, clamped);
    facts.enter(plan.find("users"));
    facts.value("count", 2, run.users);
    facts.value("for_ns", 2, run.for_ns);
    read_arrivals(plan.find("arrivals"), run, facts);
    out.info.clamped_rows = clamped.value_or(out.info.clamped_rows);
    out.has_users = run.users > 0;
    run.rows = out.rows;
    run.seed = out.seed;
    run.cache_salt = out.cache_salt.value_or("");
}

void read_rules(JsonValue root, JsonValue plan, RunFacts& out, JsonMembers& facts) {
    facts.enter(root);
    facts.value("rules", 2, out.rule_texts);
    facts.value("metrics_tables", 2, out.metrics_tables);
    RuleFacts& rules = out.rules;
    rules.trace_digest = out.trace_digest;
    if (const auto trees = plan.find("trees").as_u64(); trees && *trees > 0) {
        rules.trees = trees;
    }
    rules.rows = out.rows;
    rules.input_tokens = plan.find("input_tokens").as_u64().value_or(0);
    if (plan.find("rows_not_foretold").as_u64().value_or(0) == 0) {
        rules.expected_cached_tokens = plan.find("expected_cached_tokens").as_u64();
    }
    rules.users = out.info.run.users;
    rules.for_ns = out.info.run.for_ns;
    rules.arguments = out.arguments;
    const JsonValue end = root.find("end");
    rules.measured_from_ns = end.find("measured_from_ns").as_i64();
    out.info.stopped_when = read_stopped_when(end.find("stopped_when"));
    const bool interrupted = end.find("interrupted").as_bool().value_or(false);
    const bool cut_short = interrupted || out.info.stopped_when.has_value();
    rules.ending = !out.ended ? Ending::none : cut_short ? Ending::interrupted : Ending::by_itself;
}

/// Runs of before there were groups have none.
void read_goodput(JsonMembers& facts, JsonValue goodput, GoodputRules& out) {
    GoodputLimits common;
    facts.enter(goodput);
    walk(facts, common);
    const JsonValue groups = goodput.find("groups");
    for (JsonValue one = groups.first(); one.present(); one = one.next()) {
        GoodputRule& rule = out.emplace_back();
        std::string key;
        facts.enter(one);
        walk(facts, rule.limits);
        facts.read("key", key);
        facts.read("value", rule.value);
        if (Result<GroupKey> read = parse_group_key(key); read) {
            rule.key = std::move(read).value();
        } else {
            facts.fail(ErrorCode::bad_json, "goodput");
        }
    }
    if (common.set()) {
        out.push_back({{}, "", common});
    }
}

void read_request(JsonValue request, RunFacts& out, JsonMembers& facts) {
    facts.enter(request);
    facts.value("urls", 2, out.info.run.urls);
    facts.read("api", out.info.backend);
    facts.read("model", out.info.model_id);
    facts.read("prompt", out.prompt);
    facts.digest("words_digest", out.words_digest);
    facts.value("output", 2, out.info.run.output);
    facts.value("continuous_usage", 2, out.info.continuous_usage);
    facts.read("overhead_pre", out.overhead.pre);
    facts.read("overhead_post", out.overhead.post);
    facts.value("split_unknown", 2, out.info.split_unknown);
    facts.value("server_block", 2, out.info.server_block);
    facts.read("max_concurrency", out.info.max_concurrency);
    facts.value("against", 2, out.against);
    const JsonValue tokenizer = facts.get("tokenizer");
    read_goodput(facts, facts.get("goodput"), out.goodput);
    out.info.run.prompt = out.prompt;
    out.is_live = request.find("live").is(JsonType::object);
    if (tokenizer.is(JsonType::object)) {
        facts.enter(tokenizer);
        facts.read("file", out.info.tokenizer_id);
    }
    for (const auto& [key, digest] :
         {std::pair{"template", &out.template_digest}, std::pair{"dataset", &out.dataset_digest}}) {
        if (const JsonValue source = request.find(key); source.is(JsonType::object)) {
            facts.enter(source);
            facts.digest("digest", digest->emplace());
        }
    }
}

/// Absent in runs of before there were shards.
void read_shard_facts(JsonValue root, RunFacts& out, JsonMembers& facts) {
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
    const JsonValue meeting = root.find("meeting");
    out.meeting = meeting.is(JsonType::object) ? std::string(meeting.raw()) : "";
}

}  // namespace

Result<RunFacts> read_run_facts(JsonDocument& document, std::string_view text) {
    const Result<JsonValue> parsed = document.parse(text);
    if (!parsed || !parsed.value().is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "the whole"};
    }
    const JsonValue root = parsed.value();
    RunFacts out;
    JsonMembers facts(root);
    out.schema = root.find("schema").as_i64().value_or(0);
    if (out.schema > record_schema) {
        return Error{ErrorCode::unsupported, 0, "schema"};
    }
    facts.read("arguments", out.arguments);
    out.info.run.arguments = out.arguments;
    out.ended = facts.known("end");
    out.rows_fired = root.find("end").find("rows_fired").as_u64();
    facts.text("records", 1, out.records_path);
    facts.by_name("labels", 1, out.info.labels);
    facts.read("segments", out.segments);
    facts.fail_unless(!out.segments.empty(), ErrorCode::missing, "segments");
    facts.read("calibration", out.calibration);
    if (CalibrationFacts& known = out.calibration; !known.date.empty()) {
        known.why_not.clear();
    } else {
        facts.fail_unless(!known.why_not.empty(), ErrorCode::missing, "why_not");
    }
    facts.value("cache_probe", 2, out.info.cache_probe);
    const JsonValue trace = facts.get("trace");
    const JsonValue plan = facts.get("plan");
    const JsonValue request = facts.get("request");
    read_trace(trace, out, facts);
    read_plan(plan, out, facts);
    read_request(request, out, facts);
    read_rules(root, plan, out, facts);
    out.probes = root.find("preflight").find("requests").as_u64().value_or(0) +
                 root.find("verified").find("rows").as_u64().value_or(0);
    read_shard_facts(root, out, facts);
    const JsonValue host = root.find("host");
    out.kernel = host.find("kernel").as_string().value_or("");
    out.cpu_model = host.find("cpu_model").as_string().value_or("");
    if (facts.error()) {
        return *facts.error();
    }
    out.info.date = date_text(out.segments.front().clock.zero_utc_ns);
    return out;
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
        char share[32];
        (void)std::snprintf(share, sizeof share, "%.1f", 100 * calibration.taken_share);
        text += std::string(", while others used ") + share + " % of the CPU";
    }
    return text;
}

std::string date_text(std::int64_t utc_ns) {
    const time_t whole = utc_ns / ns_per_second;
    tm parts{};
    (void)::gmtime_r(&whole, &parts);
    char text[32];
    (void)::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &parts);
    return text;
}

namespace {

/// More shards than any run has; bounds what a foreign run.json may ask for.
constexpr std::uint32_t count_max = 65'536;
/// Clocks that lie further apart than 100 years are no clocks; sums of such stamps fit.
constexpr std::int64_t clock_ns_max = 3'153'600'000'000'000'000;

bool is_clock(std::int64_t ns) {
    return ns <= clock_ns_max && ns >= -clock_ns_max;
}

std::int64_t clock_ns(JsonMembers& members, const char* key) {
    std::int64_t ns = 0;
    members.read(key, ns);
    members.fail_unless(is_clock(ns), ErrorCode::out_of_range, key);
    return ns;
}

/// What an exchange with shard 0, or several, leaves of where its clock may be.
struct Interval {
    std::int64_t least_ns = 0;
    std::int64_t most_ns = 0;
};

/// One that holds both: the clocks may have moved against each other in between.
void widen(std::optional<Interval>& interval, std::int64_t offset_ns, std::int64_t error_ns) {
    const Interval one{offset_ns - error_ns, offset_ns + error_ns};
    interval = interval ? Interval{std::min(interval->least_ns, one.least_ns),
                                   std::max(interval->most_ns, one.most_ns)}
                        : one;
}

std::optional<Error> read_clock(JsonValue clock, std::optional<ShardClock>& out) {
    std::optional<Interval> interval;
    for (const char* const key : {"before", "after"}) {
        const JsonValue exchange = clock.find(key);
        if (!exchange.is(JsonType::object)) {
            continue;
        }
        JsonMembers members(exchange);
        const std::int64_t offset_ns = clock_ns(members, "offset_ns");
        const std::int64_t error_ns = clock_ns(members, "error_ns");
        if (members.error()) {
            return members.error();
        }
        if (error_ns < 0) {
            return Error{ErrorCode::out_of_range, 0, "error_ns"};
        }
        widen(interval, offset_ns, error_ns);
    }
    if (const auto kernel_ns = clock.find("kernel_error_ns").as_i64(); !interval && kernel_ns) {
        if (*kernel_ns < 0 || *kernel_ns > clock_ns_max) {
            return Error{ErrorCode::out_of_range, 0, "kernel_error_ns"};
        }
        widen(interval, 0, *kernel_ns);
    }
    if (interval) {
        const std::int64_t half_ns = (interval->most_ns - interval->least_ns + 1) / 2;
        out = ShardClock{interval->least_ns + half_ns, half_ns};
    }
    return std::nullopt;
}

}  // namespace

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

namespace {

/// The first key whose number no run has; nullptr: there is none.
const char* beyond_all(const MergedRun& run) {
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

}  // namespace

Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting) {
    if (!shard.present() || shard.is(JsonType::null)) {
        return std::optional<ShardFacts>();
    }
    if (!shard.is(JsonType::object)) {
        return Error{ErrorCode::bad_json, 0, "shard"};
    }
    JsonMembers members(shard);
    ShardFacts out;
    members.read_up_to("index", count_max - 1, out.index);
    members.read_up_to("count", count_max, out.count);
    members.read_up_to("plan_rows", UINT32_MAX, out.plan_rows);
    if (!members.error() && out.index >= out.count) {
        members.fail(ErrorCode::out_of_range, "index");
    }
    if (members.error()) {
        return *members.error();
    }
    if (const auto error = read_clock(meeting.find("clock"), out.clock)) {
        return *error;
    }
    if (meeting.find("role").as_string() == "host") {
        out.clock = ShardClock{};  // all others are compared with it
    }
    out.met_after = meeting.find("clock").find("after").is(JsonType::object);
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
