/// What run.json says of a run, and of shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/host/host.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/json/members.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// RunFacts: what `run.json` says of a run to those who come later: `report`, `replay --resume` and
// `replay --from`; also to the summary of the run itself. Plain values. Nothing in them is secret.
//
// `walk_run` is the order of the file, and names each key that is read: by it the file is written
// (cmd/replay/run_file.cpp) and read. What nobody reads is at the places called `unread`, by
// the first of its keys; only the writer knows it.

/// Readings of both clocks at time 0.
struct ClockAnchors {
    std::int64_t zero_monotonic_ns = 0;  ///< CLOCK_MONOTONIC
    std::int64_t zero_utc_ns = 0;        ///< CLOCK_REALTIME of the same instant
    std::int64_t error_ns = 0;           ///< how far apart the two readings may be
};
/// "2026-11-21T03:45:12.123456789Z".
std::string utc_text(std::int64_t utc_ns);
/// Its whole seconds by a format of strftime.
std::string utc_text(std::int64_t utc_ns, const char* format);
void walk(auto& fields, IsOf<ClockAnchors> auto& clock) {
    fields.value("zero_monotonic_ns", 1, clock.zero_monotonic_ns);
    fields.value("zero_utc_ns", 1, clock.zero_utc_ns);
    std::string text = utc_text(clock.zero_utc_ns);
    fields.value("zero_utc", 2, text);
    fields.value("error_ns", 1, clock.error_ns);
}

/// What calibration allowed a run; without one, why there is none, and what the bar allowed.
struct CalibrationFacts {
    std::string date;
    std::string why_not;           ///< empty: there is one
    std::int64_t measured_ns = 0;  ///< time that this run took for it before time 0; 0: from a file
    double taken_share = 0;        ///< of the engine's CPU, by others while it was measured
    TaintLimits limits;
    /// Of figures that an earlier run has measured and kept: what the run that uses them sees must
    /// not contradict them. In no file.
    struct Kept {
        std::string path;  ///< empty: they are not such
        std::int64_t wake_p99_ns = 0;
    } kept;
};
void walk(auto& fields, IsOf<CalibrationFacts> auto& facts) {
    fields.text("date", 1, facts.date);
    fields.text("why_not", 2, facts.why_not);
    fields.value("drift_ns", 1, facts.limits.drift_ns);
    fields.value("measured_ns", 2, facts.measured_ns);
    fields.value("taken_share", 2, facts.taken_share);
    fields.value("rank_ns", 1, facts.limits.rank_ns);
    fields.value("drift_most_ns", 2, facts.limits.drift_most_ns);
    fields.value("receive_delay_ns", 1, facts.limits.receive_delay_ns);
    fields.value("wire_ns", 2, facts.limits.wire_ns);
    fields.value("error_ns", 2, facts.limits.error_ns);
}
/// "calibrated for 1.9 s before this run", "calibrated at 2026-11-21T03:45:12Z".
std::string how_calibrated(const CalibrationFacts& calibration);

/// One stretch of a run: from its start, or from a `--resume`, until it ended or was killed. The
/// stamps of all segments count from the time 0 of the run; that of a later segment lies before it.
struct RunSegment {
    std::string run_id;                ///< begins the X-Request-Id of its requests
    std::vector<std::string> command;  ///< as typed, keys masked
    ClockAnchors clock;
    std::int64_t first_due_ns = 0;       ///< of the first row that it was to send
    std::uint64_t rows = 0;              ///< that it was to send
    std::uint64_t rows_interrupted = 0;  ///< of the segments before it, found without an end
    std::string driver = "io_uring";     ///< older ones do not say: there was no other
};
void walk(auto& fields, IsOf<RunSegment> auto& segment) {
    fields.value("run_id", 1, segment.run_id);
    fields.value("command", 1, segment.command);
    walk(fields, segment.clock);
    fields.value("first_due_ns", 1, segment.first_due_ns);
    fields.value("rows", 1, segment.rows);
    fields.value("rows_interrupted", 1, segment.rows_interrupted);
    fields.value("driver", 2, segment.driver);
}

/// One of the shards that a replay was dealt to, each a process with a run of its own.
struct ShardFacts {
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::string from;             ///< "--shard", or the variable that said so
    std::uint64_t plan_rows = 0;  ///< of the whole plan; `rows` of the run are its own
    /// By the exchanges with shard 0, before and after the run, else by the kernel's own word.
    std::optional<ShardClock> clock = {};
    bool met_after = false;  ///< shard 0 knows when it ended: it was there until then
};
void walk(auto& fields, IsOf<ShardFacts> auto& shard) {
    fields.value("index", 1, shard.index);
    fields.value("count", 1, shard.count);
    fields.value("from", 2, shard.from);
    fields.value("plan_rows", 1, shard.plan_rows);
}

/// How far a clock is from another one, by an exchange of stamps.
struct ClockDifference {
    std::int64_t offset_ns = 0;      ///< our clock less theirs: above 0 where ours is ahead
    std::int64_t error_ns = 0;       ///< the truth is within this, either way
    std::int64_t round_trip_ns = 0;  ///< on the way, both ways
};
void walk(auto& fields, IsOf<ClockDifference> auto& difference) {
    fields.value("offset_ns", 1, difference.offset_ns);
    fields.value("error_ns", 1, difference.error_ns);
    fields.value("round_trip_ns", 2, difference.round_trip_ns);
}

/// The clock of a shard: compared with that of shard 0, and what the kernel says of it.
struct MetClock {
    std::optional<ClockDifference> before;  ///< the run
    std::optional<ClockDifference> after;
    std::optional<std::int64_t> kernel_error_ns;  ///< of this host's clock to UTC
};
void walk(auto& fields, IsOf<MetClock> auto& clock) {
    fields.value("before", 2, clock.before);
    fields.value("after", 2, clock.after);
    fields.value("kernel_error_ns", 2, clock.kernel_error_ns);
}

/// How the processes of one plan came to one time 0.
struct MeetingFacts {
    std::string at;                ///< HOST:PORT, or the instant of `--start-at`
    std::string role;              ///< "host" (shard 0), "guest" or "start-at"
    std::int64_t zero_utc_ns = 0;  ///< time 0 on the CLOCK_REALTIME of shard 0
    MetClock clock;
};
void walk(auto& fields, IsOf<MeetingFacts> auto& meeting) {
    fields.value("at", 2, meeting.at);
    fields.value("role", 2, meeting.role);
    fields.value("zero_utc_ns", 2, meeting.zero_utc_ns);
    fields.value("clock", 2, meeting.clock);
}

/// The second server of a dual-fire run.
struct AgainstFacts {
    std::string url;
    std::string model;
    Overhead overhead;
    std::string overhead_source;
    bool split_unknown = false;
};
void walk(auto& fields, IsOf<AgainstFacts> auto& second) {
    fields.value("url", 2, second.url);
    fields.value("model", 1, second.model);
    fields.value("overhead_pre", 1, second.overhead.pre);
    fields.value("overhead_post", 1, second.overhead.post);
    fields.value("overhead_source", 2, second.overhead_source);
    fields.value("split_unknown", 2, second.split_unknown);
}

/// Goodput rules as run.json has them: those of groups apart.
struct GoodputFacts {
    GoodputLimits common;
    GoodputRules groups;  ///< their keys by their texts; who reads them parses these
};
void walk(auto& fields, IsOf<GoodputRule> auto& rule) {
    auto text = rule.key.value_or(GroupKey()).text;
    fields.value("key", 1, text);
    fields.value("value", 1, rule.value);
    walk(fields, rule.limits);
    if constexpr (!std::is_const_v<std::remove_reference_t<decltype(rule)>>) {
        rule.key.emplace().text = std::move(text);
    }
}
void walk(auto& fields, IsOf<GoodputFacts> auto& goodput) {
    walk(fields, goodput.common);
    fields.value("groups", 2, goodput.groups);
}

/// The books of a run that has ended.
struct EndFacts {
    std::optional<std::uint64_t> rows_fired;  ///< in all segments
    std::uint64_t records = 0;
    bool interrupted = false;
    std::optional<StoppedWhen> stopped_when = {};  ///< `--stop-when`
    OptionalNs measured_from_ns = {};  ///< begin of the measurement; or it did not come to that
    std::string verdict;
    std::vector<std::string> verdict_reasons;
};
/// By a MemberWriter alone, those that are read: a merged run has no others.
void walk(auto& fields, IsOf<EndFacts> auto& end) {
    const auto unread = [&](const char* first) {
        if constexpr (requires { fields.unread(first); }) {
            fields.unread(first);
        }
    };
    fields.value("rows_fired", 2, end.rows_fired);
    fields.value("records", 2, end.records);
    fields.value("interrupted", 2, end.interrupted);
    fields.value("stopped_when", 2, end.stopped_when);
    unread("connects");
    fields.value("measured_from_ns", 2, end.measured_from_ns);
    unread("idle_caps");
    fields.value("verdict", 2, end.verdict);
    fields.value("verdict_reasons", 2, end.verdict_reasons);
    unread("exit_code");
}

struct RunFacts {
    std::int64_t schema = 0;             ///< of its records (record.hpp)
    std::vector<std::string> arguments;  ///< of `replay`: TRACE.., then `--flag=value`
    std::string records_path;            ///< empty: requests.jsonl in the folder
    std::string records_in(const std::string& folder) const {
        return records_path.empty() ? folder + "/requests.jsonl" : records_path;
    }
    std::vector<RunSegment> segments;  ///< at least one
    /// What moved its bytes: "io_uring"; of a run that was resumed perhaps "io_uring, then epoll".
    std::string drivers() const;
    bool ended = false;  ///< it closed its books
    EndFacts end;        ///< by those books

    std::vector<std::string> rule_texts;      ///< TOML of the sets of `--rules`
    std::vector<std::string> metrics_tables;  ///< TOML of `--metrics-table`

    std::uint64_t trace_digest = 0;
    std::uint64_t schedule_digest = 0;
    std::optional<std::uint64_t>
        prompts_digest;      ///< of all rows; unknown where a run was cut short
    std::uint64_t rows = 0;  ///< selected
    OptionalNs least_ns;     ///< that rows which wait for others take at least
    // Of those rows, once each; nothing where the trace does not say.
    std::optional<std::uint64_t> output_tokens;
    std::optional<std::uint64_t> expected_cached_tokens;
    std::uint64_t rows_not_foretold = 0;  ///< whose cached tokens cannot be told before
    std::int64_t longest_row_tokens = 0;
    std::optional<std::uint64_t> clamped_rows;  ///< known at the end
    // Requests before them: of the preflight, of --verify-prompts; nothing: there was none.
    std::optional<std::uint64_t> preflight_requests;
    std::optional<std::uint64_t> verified_rows;
    std::uint64_t probes() const {
        return preflight_requests.value_or(0) + verified_rows.value_or(0);
    }
    bool is_live = false;    ///< prompts held its own answers
    bool has_users = false;  ///< ... which users play: how many requests they send is not known

    // What prompts are made of, beside the rows: it stands in for a digest that is not known.
    std::optional<std::uint64_t> dataset_digest;  ///< of the text of `--dataset`
    std::uint64_t words = 0;
    std::uint64_t words_digest = 0;
    std::string template_file;  ///< of `--api template`
    std::optional<std::uint64_t> template_digest;
    bool stream = true;
    std::optional<std::string> connect_to;
    Overhead overhead;
    std::optional<AgainstFacts> against;  ///< of dual fire alone
    std::optional<ShardFacts> shard;      ///< of a shard alone
    std::optional<MeetingFacts> meeting;  ///< of its first segment
    /// Other processes sent rows of the plan, too.
    bool is_part() const { return shard && shard->count > 1; }
    /// Rows leave when others have ended, or users are free: in which order, the run decides.
    bool in_run_order() const { return info.run.sessions == "closed" || has_users; }
    ShardRole shard_role() const {
        const bool merged = info.merged && info.merged->count > 1;
        return {.others_send = is_part() || (merged && info.merged->not_reported() > 0),
                .merged = merged,
                .forecast_apart = (is_part() || merged) && in_run_order()};
    }
    /// Of two servers, those of the one that puts more in front.
    Overhead largest_overhead() const {
        const bool is_first = !against || against->overhead.pre <= overhead.pre;
        return is_first ? overhead : against->overhead;
    }

    GoodputRules goodput;
    CalibrationFacts calibration;
    HostFacts host;    ///< that it began on; of an older run perhaps empty
    SummaryInfo info;  ///< all but the verdict
};

void walk(auto& fields, IsOf<HostFacts> auto& host) {
    fields.value("kernel", 2, host.kernel);
    fields.value("machine", 2, host.machine);
    fields.value("cpu_model", 2, host.cpu_model);
    fields.value("cpus_online", 2, host.cpus_online);
    fields.value("cpus_allowed", 2, host.cpus_allowed);
    fields.value("memory_bytes", 2, host.memory_bytes);
    fields.value("virtual_machine", 2, host.virtual_machine);
}

void walk_trace(auto& fields, auto& facts) {
    auto& run = facts.info.run;
    fields.value("paths", 2, run.trace_paths);
    fields.value("name", 1, facts.info.trace);
    fields.unread("format");
    fields.value("rows", 2, run.trace_rows);
    fields.value("dependencies", 2, run.trace_dependencies);
    fields.unread("bytes");
    fields.digest("digest", 1, facts.trace_digest);
    fields.unread("rows_unsorted");
}

void walk_plan(auto& fields, auto& facts) {
    auto& run = facts.info.run;
    fields.value("seed", 1, run.seed);
    fields.text("cache_salt", 1, run.cache_salt);
    fields.value("speed", 2, run.speed);
    fields.value("start_ns", 2, run.start_ns);
    fields.value("end_ns", 2, run.end_ns);
    fields.value("duration_ns", 2, run.duration_ns);
    fields.value("limit", 2, run.limit);
    fields.value("spread", 2, run.spread);
    fields.value("arrivals", 2, run.arrival);
    fields.value("sessions", 2, run.sessions);
    fields.in_known("users", 2, facts.has_users, [&] {
        fields.value("count", 2, run.users);
        fields.unread("of");
        fields.value("for_ns", 2, run.for_ns);
        fields.unread("drain_ns");
    });
    fields.value("rows", 1, facts.rows);
    fields.value("trees", 2, run.trees);
    fields.unread("rows_waiting");
    fields.value("least_ns", 2, facts.least_ns);
    fields.unread("rows_outside");
    fields.value("input_tokens", 2, run.input_tokens);
    fields.value("output_tokens", 2, facts.output_tokens);
    fields.value("rows_not_foretold", 2, facts.rows_not_foretold);
    fields.value("expected_cached_tokens", 2, facts.expected_cached_tokens);
    fields.value("longest_row_tokens", 2, facts.longest_row_tokens);
    fields.value("last_due_ns", 2, run.last_due_ns);
    fields.digest("schedule_digest", 1, facts.schedule_digest);
    fields.digest("prompts_digest", 1, facts.prompts_digest);
    fields.unread("side_digests");
    fields.value("clamped_rows", 1, facts.clamped_rows);
}

void walk_request(auto& fields, auto& facts) {
    auto& info = facts.info;
    bool has_template = facts.template_digest.has_value();
    bool has_tokenizer = !info.tokenizer_id.empty();
    bool has_dataset = facts.dataset_digest.has_value();
    fields.value("urls", 2, info.run.urls);
    fields.value("connect_to", 2, facts.connect_to);
    fields.value("api", 1, info.backend);
    fields.in_known("template", 2, has_template, [&] {
        fields.value("file", 2, facts.template_file);
        fields.digest("digest", 1, facts.template_digest);
    });
    fields.value("model", 1, info.model_id);
    fields.value("against", 2, facts.against);
    fields.value("prompt", 1, info.run.prompt);
    fields.value("words", 2, facts.words);
    fields.digest("words_digest", 1, facts.words_digest);
    fields.in_known("tokenizer", 1, has_tokenizer, [&] {
        fields.value("file", 1, info.tokenizer_id);
        fields.unread("kind");
    });
    fields.unread("recorded_requests");
    fields.in_known("live", 2, facts.is_live, [&] { fields.unread("keep"); });
    fields.in_known("dataset", 2, has_dataset, [&] {
        fields.unread("file");
        fields.digest("digest", 1, facts.dataset_digest);
    });
    fields.value("output", 2, info.run.output);
    fields.value("stream", 2, facts.stream);
    fields.value("continuous_usage", 2, info.continuous_usage);
    fields.value("overhead_pre", 1, facts.overhead.pre);
    fields.value("overhead_post", 1, facts.overhead.post);
    fields.value("split_unknown", 2, info.split_unknown);
    fields.value("server_block", 2, info.server_block);
    fields.unread("length_member");
    fields.value("max_concurrency", 1, info.max_concurrency);
    fields.unread("budget_input");
    fields.goodput("goodput", 1, facts.goodput);
    fields.unread("connections");
}

void walk_run(auto& fields, auto& facts) {
    bool has_preflight = facts.preflight_requests.has_value();
    bool is_verified = facts.verified_rows.has_value();
    fields.value("schema", 2, facts.schema);
    fields.unread("version");
    fields.value("arguments", 1, facts.arguments);
    fields.text("records", 1, facts.records_path);
    fields.by_name("labels", 1, facts.info.labels);
    fields.value("rules", 2, facts.rule_texts);
    fields.value("metrics_tables", 2, facts.metrics_tables);
    fields.unread("clock");
    fields.value("segments", 1, facts.segments);
    fields.in("trace", 1, [&] { walk_trace(fields, facts); });
    fields.unread("load");
    fields.value("shard", 2, facts.shard);
    fields.value("meeting", 2, facts.meeting);
    fields.in("plan", 1, [&] { walk_plan(fields, facts); });
    fields.in("request", 1, [&] { walk_request(fields, facts); });
    fields.in_known("preflight", 2, has_preflight, [&] {
        fields.unread("model");
        fields.value("requests", 2, facts.preflight_requests);
        fields.unread("probe_ns");
    });
    fields.in_known("verified", 2, is_verified, [&] {
        fields.value("rows", 2, facts.verified_rows);
        fields.unread("tokens");
    });
    fields.value("cache_probe", 2, facts.info.cache_probe);
    fields.value("calibration", 1, facts.calibration);
    fields.in("host", 2, [&] {
        walk(fields, facts.host);
        fields.unread("engine_cpu");
    });
    fields.unread("ring");
    fields.in_known("end", 1, facts.ended, [&] { walk(fields, facts.end); });
}

/// Reads the text of run.json. What a merged run says of its shards is in `info.merged`. Errors:
/// bad_json, missing, out_of_range; `doing` is the key.
Result<RunFacts> read_run_facts(JsonDocument& document, std::string_view text);
/// What is there, also of a dry run and of a file that lacks keys. Nothing: it is not JSON.
std::optional<RunFacts> read_partly(JsonDocument& document, std::string_view text);

/// Fills in what follows from the rest in `info`.
void settle(RunFacts& facts);

/// The verdict of a run under the limits that it had, calibrated or not. A cache that was warm is
/// among its reasons.
Judgement judge_run(const CalibrationFacts& calibration, const SummaryFigures& figures,
                    const ClientTotals& client, const CacheProbe& cache);

// What run.json says of shards: of the one that a run is (`shard`, `meeting`), and of those that a
// merged run was made of (`merged`). Read and written here; pure.

/// Nothing where `shard` is null or absent. Errors: bad_json, missing, out_of_range; `doing` is the
/// key.
Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting);

/// The key `merged` with its object.
void write_merged(JsonWriter& json, const MergedRun& run);
/// Reads it back. Nothing where it is null or absent. Errors: as above.
Result<std::optional<MergedRun>> read_merged(JsonValue merged);

}  // namespace driftless
