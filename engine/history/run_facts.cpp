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

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

std::vector<std::string> texts_of(JsonValue array, const char* key, JsonMembers& facts) {
    std::vector<std::string> texts;
    for (JsonValue item = array.first(); item.present(); item = item.next()) {
        if (const auto text = item.as_string(); text) {
            texts.emplace_back(*text);
        } else {
            facts.fail(ErrorCode::bad_json, key);
        }
    }
    return texts;
}

void read_segments(JsonValue array, RunFacts& out, JsonMembers& facts) {
    for (JsonValue item = array.first(); item.present(); item = item.next()) {
        RunSegment& segment = out.segments.emplace_back();
        facts.enter(item);
        facts.read("run_id", segment.run_id);
        segment.command = texts_of(facts.get("command"), "command", facts);
        facts.read("zero_monotonic_ns", segment.clock.zero_monotonic_ns);
        facts.read("zero_utc_ns", segment.clock.zero_utc_ns);
        facts.read("error_ns", segment.clock.error_ns);
        facts.read("first_due_ns", segment.first_due_ns);
        facts.read("rows", segment.rows);
        facts.read("rows_interrupted", segment.rows_interrupted);
    }
    if (out.segments.empty()) {
        facts.fail(ErrorCode::missing, "segments");
    }
}

void read_plan(JsonValue trace, JsonValue plan, RunFacts& out, JsonMembers& facts) {
    facts.enter(trace);
    facts.digest("digest", out.trace_digest);
    facts.read("name", out.info.trace);
    facts.enter(plan);
    facts.read("rows", out.rows);
    out.has_users = plan.find("users").find("count").as_u64().value_or(0) > 0;
    facts.read("seed", out.seed);
    facts.read("cache_salt", out.cache_salt);
    facts.digest("schedule_digest", out.schedule_digest);
    if (facts.known("prompts_digest")) {
        facts.digest("prompts_digest", out.prompts_digest.emplace());
    }
    if (facts.known("clamped_rows")) {
        facts.read("clamped_rows", out.info.clamped_rows);
    }
}

/// What the summary says of the run. Keys that older runs lack are left as they are.
void read_description(JsonValue trace, JsonValue plan, JsonValue request, RunFacts& out,
                      JsonMembers& facts) {
    RunDescription& run = out.info.run;
    run.arguments = out.arguments;
    run.rows = out.rows;
    run.seed = out.seed;
    run.cache_salt = out.cache_salt.value_or("");
    run.prompt = out.prompt;
    run.urls = texts_of(request.find("urls"), "urls", facts);
    run.trace_paths = texts_of(trace.find("paths"), "paths", facts);
    run.trace_rows = trace.find("rows").as_u64().value_or(0);
    run.trace_dependencies = trace.find("dependencies").as_u64().value_or(0);
    run.trace_digest = std::string(trace.find("digest").as_string().value_or(""));
    run.schedule_digest = std::string(plan.find("schedule_digest").as_string().value_or(""));
    run.users = plan.find("users").find("count").as_u64().value_or(0);
    run.for_ns = plan.find("users").find("for_ns").as_i64();
    run.output = std::string(request.find("output").as_string().value_or(""));
    run.speed = std::string(plan.find("speed").as_string().value_or("1"));
    run.start_ns = plan.find("start_ns").as_i64();
    run.end_ns = plan.find("end_ns").as_i64();
    run.duration_ns = plan.find("duration_ns").as_i64();
    run.limit = plan.find("limit").as_u64();
    run.last_due_ns = plan.find("last_due_ns").as_i64().value_or(0);
    const JsonValue arrivals = plan.find("arrivals");
    run.rate = std::string(arrivals.find("rate").as_string().value_or(""));
    run.asked_rate = arrivals.find("asked_rate").as_double();
    run.arrivals = std::string(arrivals.find("law").as_string().value_or(""));
    run.arriving = std::string(arrivals.find("of").as_string().value_or(""));
    run.planned_rate = arrivals.find("planned_rate").as_double();
    run.sessions = std::string(plan.find("sessions").as_string().value_or("recorded"));
    run.spread = plan.find("spread").as_bool().value_or(false);
}

/// Absent in runs of before caches were probed.
void read_cache_probe(JsonValue probe, CacheProbe& out) {
    const std::string_view state = probe.find("state").as_string().value_or("");
    out.state = from_name<CacheState>(state).value_or(CacheState::off);
    out.why = std::string(probe.find("why").as_string().value_or(""));
    out.tokens = probe.find("tokens").as_u64().value_or(0);
    out.cached_tokens = probe.find("cached_tokens").as_u64().value_or(0);
    out.reset = std::string(probe.find("reset").as_string().value_or(""));
}

/// Absent in runs of before there were rules.
void read_rules(JsonValue root, JsonValue plan, RunFacts& out, JsonMembers& facts) {
    out.rule_texts = texts_of(root.find("rules"), "rules", facts);
    out.metrics_tables = texts_of(root.find("metrics_tables"), "metrics_tables", facts);
    RuleFacts& rules = out.rules;
    const JsonValue users = plan.find("users");
    rules.trace_digest = out.trace_digest;
    if (const auto trees = plan.find("trees").as_u64(); trees && *trees > 0) {
        rules.trees = trees;
    }
    rules.rows = out.rows;
    rules.input_tokens = plan.find("input_tokens").as_u64().value_or(0);
    if (plan.find("rows_not_foretold").as_u64().value_or(0) == 0) {
        rules.expected_cached_tokens = plan.find("expected_cached_tokens").as_u64();
    }
    rules.users = users.find("count").as_u64().value_or(0);
    rules.for_ns = users.find("for_ns").as_i64();
    rules.measured_from_ns = root.find("end").find("measured_from_ns").as_i64();
    rules.arguments = out.arguments;
    const bool interrupted = root.find("end").find("interrupted").as_bool().value_or(false);
    out.info.stopped_when = read_stopped_when(root.find("end").find("stopped_when"));
    const bool cut_short = interrupted || out.info.stopped_when.has_value();
    rules.ending = !out.ended ? Ending::none : cut_short ? Ending::interrupted : Ending::by_itself;
}

void read_bounds(JsonMembers& facts, JsonValue from, GoodputLimits& out) {
    facts.enter(from);
    facts.read("ttft_ns", out.ttft_ns);
    out.ttft_due_ns = from.find("ttft_due_ns").as_i64();  // absent in runs of before it was there
    facts.read("tpot_ns", out.tpot_ns);
    facts.read("e2e_ns", out.e2e_ns);
}

/// Runs of before there were groups have none.
void read_goodput(JsonMembers& facts, JsonValue goodput, GoodputRules& out) {
    GoodputLimits common;
    read_bounds(facts, goodput, common);
    const JsonValue groups = goodput.find("groups");
    for (JsonValue one = groups.first(); one.present(); one = one.next()) {
        GoodputRule& rule = out.emplace_back();
        std::string key;
        read_bounds(facts, one, rule.limits);
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
    facts.read("api", out.info.backend);
    facts.read("model", out.info.model_id);
    facts.read("prompt", out.prompt);
    facts.digest("words_digest", out.words_digest);
    facts.read("overhead_pre", out.overhead.pre);
    facts.read("overhead_post", out.overhead.post);
    // Absent in runs of before they were there.
    out.info.split_unknown = request.find("split_unknown").as_bool().value_or(false);
    out.info.continuous_usage = request.find("continuous_usage").as_bool().value_or(false);
    if (request.find("server_block").is(JsonType::number)) {
        facts.read("server_block", out.info.server_block.emplace());
    }
    facts.read("max_concurrency", out.info.max_concurrency);
    const JsonValue against = request.find("against");  // absent as well
    const JsonValue tokenizer = facts.get("tokenizer");
    const JsonValue form = request.find("template");    // absent in runs of before it was there
    const JsonValue dataset = request.find("dataset");  // as well
    read_goodput(facts, facts.get("goodput"), out.goodput);
    if (tokenizer.is(JsonType::object)) {
        facts.enter(tokenizer);
        facts.read("file", out.info.tokenizer_id);
    }
    if (against.is(JsonType::object)) {
        AgainstFacts& second = out.against.emplace();
        facts.enter(against);
        facts.read("model", second.model);
        facts.read("overhead_pre", second.overhead.pre);
        facts.read("overhead_post", second.overhead.post);
    }
    if (form.is(JsonType::object)) {
        facts.enter(form);
        facts.digest("digest", out.template_digest.emplace());
    }
    if (dataset.is(JsonType::object)) {
        facts.enter(dataset);
        facts.digest("digest", out.dataset_digest.emplace());
    }
}

void read_calibration_facts(JsonValue calibration, RunFacts& out, JsonMembers& facts) {
    TaintLimits& limits = out.calibration.limits;
    facts.enter(calibration);
    if (facts.known("date")) {
        facts.read("date", out.calibration.date);
    } else {
        facts.read("why_not", out.calibration.why_not);
    }
    facts.read("drift_ns", limits.drift_ns);
    facts.read("rank_ns", limits.rank_ns);
    facts.read("receive_delay_ns", limits.receive_delay_ns);
    if (calibration.find("measured_ns").present()) {  // absent in older runs
        facts.read("measured_ns", out.calibration.measured_ns);
        facts.read("drift_most_ns", limits.drift_most_ns);
        out.calibration.taken_share = calibration.find("taken_share").as_double().value_or(0);
    }
    if (calibration.find("wire_ns").present()) {  // as well
        facts.read("wire_ns", limits.wire_ns);
    }
    if (calibration.find("error_ns").present()) {  // as well
        facts.read("error_ns", limits.error_ns);
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
    out.arguments = texts_of(facts.get("arguments"), "arguments", facts);
    out.ended = facts.known("end");
    out.rows_fired = root.find("end").find("rows_fired").as_u64();
    if (facts.known("records")) {
        facts.read("records", out.records_path);
    }
    for (JsonValue label = facts.get("labels").first(); label.present(); label = label.next()) {
        out.info.labels.emplace_back(label.key(), label.as_string().value_or(""));
    }
    const JsonValue trace = facts.get("trace");
    const JsonValue plan = facts.get("plan");
    const JsonValue request = facts.get("request");
    const JsonValue calibration = facts.get("calibration");
    read_segments(facts.get("segments"), out, facts);
    read_plan(trace, plan, out, facts);
    read_request(request, out, facts);
    out.is_live = request.find("live").is(JsonType::object);
    read_description(trace, plan, request, out, facts);
    read_calibration_facts(calibration, out, facts);
    read_rules(root, plan, out, facts);
    read_cache_probe(root.find("cache_probe"), out.info.cache_probe);
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

std::int64_t clock_ns(JsonMembers& members, const char* key) {
    std::int64_t ns = 0;
    members.read(key, ns);
    if (ns > clock_ns_max || ns < -clock_ns_max) {
        members.fail(ErrorCode::out_of_range, key);
        return 0;
    }
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

void write_merged_shard(JsonWriter& json, const MergedShard& shard) {
    json.begin_object();
    json.key("index").unsigned_integer(shard.index);
    json.key("folder").string(shard.folder);
    json.key("run_id").string(shard.run_id);
    json.key("ended").boolean(shard.ended);
    json.key("rows").unsigned_integer(shard.rows);
    json.key("probes").unsigned_integer(shard.probes);
    json.key("rows_later").unsigned_integer(shard.rows_later);
    json.key("interrupted").boolean(shard.interrupted);
    write_optional_text(json, "stopped_when", shard.stopped_when);
    json.key("not_reported").unsigned_integer(shard.not_reported);
    json.key("rows_left").unsigned_integer(shard.rows_left);
    json.key("all_known").boolean(shard.all_known);
    json.key("verdict").string(shard.verdict);
    write_texts(json, "verdict_reasons", shard.reasons);
    json.key("zero_utc_ns").integer(shard.zero_utc_ns);
    json.key("clock");
    if (shard.clock) {
        json.begin_object();
        json.key("offset_ns").integer(shard.clock->offset_ns);
        json.key("error_ns").integer(shard.clock->error_ns);
        json.end_object();
    } else {
        json.null();
    }
    json.end_object();
}

std::optional<Error> read_merged_shard(JsonValue from, MergedShard& out) {
    JsonMembers members(from);
    members.read("folder", out.folder);
    members.read("run_id", out.run_id);
    out.ended = members.get("ended").as_bool().value_or(false);
    members.read_up_to("rows", UINT32_MAX, out.rows);
    // These four are younger than the others.
    out.probes = from.find("probes").as_u64().value_or(0);
    out.rows_later =
        std::min<std::uint64_t>(from.find("rows_later").as_u64().value_or(0), out.rows);
    out.interrupted = from.find("interrupted").as_bool().value_or(false);
    out.stopped_when = std::string(from.find("stopped_when").as_string().value_or(""));
    members.read_up_to("not_reported", UINT32_MAX, out.not_reported);
    members.read_up_to("rows_left", UINT32_MAX, out.rows_left);
    out.all_known = members.get("all_known").as_bool().value_or(false);
    members.read("verdict", out.verdict);
    out.zero_utc_ns = clock_ns(members, "zero_utc_ns");
    const JsonValue reasons = members.get("verdict_reasons");
    for (JsonValue one = reasons.first(); one.present(); one = one.next()) {
        out.reasons.emplace_back(one.as_string().value_or(""));
    }
    const JsonValue clock = members.get("clock");
    if (clock.is(JsonType::object)) {
        JsonMembers found(clock);
        out.clock = ShardClock{clock_ns(found, "offset_ns"), clock_ns(found, "error_ns")};
        if (found.error()) {
            return found.error();
        }
    }
    return members.error();
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
    json.key("merged").begin_object();
    json.key("count").unsigned_integer(run.count);
    json.key("rows").unsigned_integer(run.rows);
    json.key("rows_missing").unsigned_integer(run.rows_missing);
    json.key("clock_error_max_ns").integer(run.clock_error_max_ns);
    json.key("shards").begin_array();
    for (const MergedShard& shard : run.shards) {
        write_merged_shard(json, shard);
    }
    json.end_array().end_object();
}

Result<std::optional<MergedRun>> read_merged(JsonValue merged) {
    if (!merged.present() || merged.is(JsonType::null)) {
        return std::optional<MergedRun>();
    }
    JsonMembers members(merged);
    MergedRun out;
    members.read_up_to("count", count_max, out.count);
    members.read_up_to("rows", UINT32_MAX, out.rows);
    members.read_up_to("rows_missing", UINT32_MAX, out.rows_missing);
    out.clock_error_max_ns = clock_ns(members, "clock_error_max_ns");
    const JsonValue shards = members.get("shards");
    if (members.error()) {
        return *members.error();
    }
    for (JsonValue one = shards.first(); one.present(); one = one.next()) {
        MergedShard& shard = out.shards.emplace_back();
        shard.index = static_cast<std::uint32_t>(out.shards.size() - 1);
        if (const auto error = read_merged_shard(one, shard)) {
            return *error;
        }
    }
    if (out.shards.size() != out.count) {
        return Error{ErrorCode::out_of_range, 0, "shards"};
    }
    return std::optional(std::move(out));
}

}  // namespace driftless
