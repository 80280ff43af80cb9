#include "cmd/replay/run_file_parts.hpp"

#include "cmd/flags/option_values.hpp"
#include "cmd/flags/rate_values.hpp"
#include "cmd/replay/pacing.hpp"

namespace driftless {

namespace {

void write_bounds(JsonWriter& json, const GoodputLimits& limits) {
    json.key("ttft_ns").optional_integer(limits.ttft_ns);
    json.key("ttft_due_ns").optional_integer(limits.ttft_due_ns);
    json.key("tpot_ns").optional_integer(limits.tpot_ns);
    json.key("e2e_ns").optional_integer(limits.e2e_ns);
}

}  // namespace

void write_goodput(JsonWriter& json, const GoodputRules& rules) {
    json.key("goodput").begin_object();
    write_bounds(json, common_limits(rules));
    json.key("groups").begin_array();
    for (const GoodputRule& rule : rules) {
        if (rule.key) {
            json.begin_object();
            json.key("key").string(rule.key->text);
            json.key("value").string(rule.value);
            write_bounds(json, rule.limits);
            json.end_object();
        }
    }
    json.end_array().end_object();
}

void write_preflight(JsonWriter& json, const Server& server,
                     const std::vector<std::string>& warnings) {
    const PreflightFindings& found = server.findings;
    json.key("preflight");
    if (!server.preflight_done) {
        json.null();
        return;
    }
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
    json.begin_object();
    json.key("model").string(found.model);
    strings(json, "models", found.models);
    json.key("server").string(found.server);
    json.key("owned_by").string(found.owned_by);
    json.key("keep_alive_timeout_s").optional_integer(found.keep_alive.timeout_s);
    json.key("keep_alive_max").optional_integer(found.keep_alive.max);
    json.key("max_model_len").optional_integer(known(found.max_model_len));
    json.key("max_input_tokens").optional_integer(known(found.max_input_tokens));
    json.key("overhead_source").string(found.overhead_source);
    json.key("split_known").boolean(found.split_known);
    json.key("split_source").string(found.split_source);
    json.key("server_block").optional_integer(known(found.server_block));
    json.key("server_block_source");
    found.server_block_source.empty() ? json.null() : json.string(found.server_block_source);
    json.key("has_tokenize").boolean(found.tokenize.has_value());
    json.key("tokenize_form");
    found.tokenize ? json.string(name_of(*found.tokenize)) : json.null();
    json.key("has_usage").boolean(found.has_usage);
    json.key("has_cached_tokens").boolean(found.has_cached_tokens);
    json.key("has_token_ids").boolean(found.has_token_ids);
    json.key("has_end_mark");
    found.has_end_mark ? json.boolean(*found.has_end_mark) : json.null();
    json.key("ignore_eos").boolean(found.ignore_eos);
    json.key("stream_options").boolean(found.stream_options);
    json.key("length_asked").optional_integer(known(found.length_asked));
    json.key("length_made").optional_integer(known(found.length_made));
    json.key("stream_chunks").optional_integer(known(found.stream_chunks));
    json.key("stream_receives").optional_integer(known(found.stream_receives));
    json.key("headers_before_token").boolean(found.headers_before_token);
    json.key("words_asked").optional_integer(known(found.words_asked));
    json.key("words_counted")
        .optional_integer(found.words_asked < 0 ? std::optional<std::int64_t>{}
                                                : found.words_counted);
    json.key("words_exact").boolean(found.words == WordVerdict::exact);
    json.key("words_verdict").string(name_of(found.words));
    json.key("word_questions").unsigned_integer(found.word_questions);
    json.key("word_joins").unsigned_integer(found.joins);
    strings(json, "words_dropped", found.dropped_words);
    json.key("first_words_asked").unsigned_integer(found.first_words_asked);
    json.key("first_words").unsigned_integer(found.first_words.size());
    json.key("requests").unsigned_integer(found.requests);
    json.key("probe_ns").optional_integer(known(found.probe_ns));
    std::vector<std::string> notes = found.notes;
    notes.insert(notes.end(), warnings.begin(), warnings.end());
    strings(json, "notes", notes);
    json.end_object();
}

void write_cache_probe(JsonWriter& json, const CacheProbe& probe) {
    json.key("cache_probe").begin_object();
    json.key("state").string(name_of(probe.state));
    json.key("why");
    probe.why.empty() ? json.null() : json.string(probe.why);
    json.key("tokens").unsigned_integer(probe.tokens);
    json.key("cached_tokens").unsigned_integer(probe.cached_tokens);
    json.key("reset");
    probe.reset.empty() ? json.null() : json.string(probe.reset);
    json.end_object();
}

void write_verified(JsonWriter& json, const std::optional<VerifyFindings>& verified) {
    json.key("verified");
    if (!verified) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows").unsigned_integer(verified->rows);
    json.key("tokens").unsigned_integer(verified->tokens);
    json.key("pairs").unsigned_integer(verified->pairs);
    json.key("shared_tokens").unsigned_integer(verified->shared_tokens);
    json.key("shared_beyond").unsigned_integer(verified->shared_beyond);
    json.end_object();
}

namespace {

void write_difference(JsonWriter& json, const char* key,
                      const std::optional<ClockDifference>& difference) {
    json.key(key);
    if (!difference) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("offset_ns").integer(difference->offset_ns);
    json.key("error_ns").integer(difference->error_ns);
    json.key("round_trip_ns").integer(difference->round_trip_ns);
    json.end_object();
}

}  // namespace

void write_shard(JsonWriter& json, const ShardFlags& flags,
                 const std::optional<WorkloadShare>& share) {
    json.key("shard");
    if (!share) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("index").unsigned_integer(share->place.index);
    json.key("count").unsigned_integer(share->place.count);
    json.key("from").string(flags.from);
    json.key("plan_rows").unsigned_integer(share->plan_rows);
    json.end_object();
}

void write_meeting(JsonWriter& json, const std::optional<MeetingFacts>& meeting,
                   const std::string& earlier) {
    json.key("meeting");
    if (!meeting) {
        json.raw(earlier.empty() ? "null" : earlier);
        return;
    }
    json.begin_object();
    json.key("at").string(meeting->at);
    json.key("role").string(meeting->role);
    json.key("zero_utc_ns").integer(meeting->zero_utc_ns);
    json.key("clock").begin_object();
    write_difference(json, "before", meeting->before);
    write_difference(json, "after", meeting->after);
    json.key("kernel_error_ns").optional_integer(meeting->kernel_error_ns);
    json.end_object();
    json.end_object();
}

void write_users(JsonWriter& json, const UserRules& rules, const std::optional<GrowRules>& grow) {
    json.key("users");
    if (rules.users == 0) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("count").unsigned_integer(rules.users);
    json.key("of").string(rules.single_rows ? "rows" : "trees");
    json.key("first").unsigned_integer(rules.first());
    json.key("grow");
    grow ? json.string(text_of(*grow)) : json.null();
    json.key("ramp_ns").integer(rules.ramp_ns);
    json.key("order").string(name_of(rules.order));
    json.key("recycle").boolean(rules.recycle);
    json.key("recycle_share").string(rules.shares_system ? "system" : "none");
    json.key("barrier").string(rules.tree_barrier ? "tree" : "stream");
    json.key("for_ns").optional_integer(rules.for_ns);
    json.key("drain_ns");
    rules.for_ns ? json.integer(rules.drain()) : json.null();
    json.key("on_failure").string(text_of(rules.failures));
    json.key("on_429").string(rules.failures.waits_for_429 ? "wait" : "record");
    json.key("tree_idle_cap_ns").optional_integer(rules.idle.tree_ns);
    json.key("system_idle_cap_ns").optional_integer(rules.idle.system_ns);
    json.key("start_within").begin_array();
    json.number(rules.start.from).number(rules.start.to).end_array();
    json.key("start_by").string(rules.start.by_turns ? "turns" : "timeline");
    json.key("prime").string(rules.start.prime_one_token ? "one-token" : "exact");
    json.key("warmup_requests").unsigned_integer(rules.start.warmup_requests);
    json.end_object();
}

void write_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload) {
    json.key("arrivals");
    const std::optional<ArrivalFacts> facts = arrival_facts(flags, workload);
    if (!facts) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rate").string(facts->rate);
    json.key("asked_rate");
    facts->asked_rate ? json.number(*facts->asked_rate) : json.null();
    json.key("law").string(facts->law);
    json.key("of").string(facts->of);
    json.key("planned_rate");
    facts->planned_rate ? json.number(*facts->planned_rate) : json.null();
    json.key("seed").unsigned_integer(flags.plan.seed);
    json.end_object();
}

void write_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules, std::uint64_t seed) {
    json.key("abandon");
    if (!rules) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("share").number(rules->share);
    json.key("from_ns").integer(rules->from_ns);
    json.key("to_ns").integer(rules->to_ns);
    json.key("seed").unsigned_integer(seed);
    json.end_object();
}

void write_gaps(JsonWriter& json, const WorkloadFlags& flags,
                const std::optional<Waiting>& waiting) {
    json.key("gaps");
    if (!waiting || flags.users.single_rows) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rule").string(name_of(flags.gap.value_or(GapRule::end_to_start)));
    json.key("cap_ns").optional_integer(flags.gap_cap_ns);
    json.key("gaps").unsigned_integer(waiting->gaps.gaps);
    json.key("capped").unsigned_integer(waiting->gaps.capped);
    json.key("derived_ns").integer(waiting->gaps.derived_ns);
    json.key("kept_ns").integer(waiting->gaps.kept_ns);
    json.end_object();
}

namespace {

void write_marks(JsonWriter& json, const RunMarks& marks) {
    json.key("memory").begin_object();
    json.key("resident_bytes_max").unsigned_integer(marks.resident_max);
    json.key("body_region_bytes").unsigned_integer(marks.body_region);
    json.key("body_bytes_max").unsigned_integer(marks.body_max);
    json.key("row_header_bytes").unsigned_integer(marks.row_fields);
    json.key("event_ring_bytes").unsigned_integer(marks.event_ring);
    json.key("event_ring_bytes_max").unsigned_integer(marks.event_ring_max);
    json.key("block_cache_bytes").unsigned_integer(marks.block_cache);
    json.key("block_cache_hits").unsigned_integer(marks.block_cache_hits);
    json.key("block_cache_misses").unsigned_integer(marks.block_cache_misses);
    json.key("frame_bytes").unsigned_integer(marks.frames);
    json.key("frames_max").unsigned_integer(marks.frames_max);
    json.key("connections_max").unsigned_integer(marks.lanes_max);
    json.end_object();
}

/// What caps on idle time have done; null without users.
void write_idle(JsonWriter& json, const std::optional<IdleFigures>& idle) {
    json.key("idle_caps");
    if (!idle) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("tree_jumps").unsigned_integer(idle->tree_jumps);
    json.key("tree_skipped_ns").integer(idle->tree_skipped_ns);
    json.key("system_jumps").unsigned_integer(idle->system_jumps);
    json.key("system_skipped_ns").integer(idle->system_skipped_ns);
    json.end_object();
}

void write_stamps(JsonWriter& json, const StampFacts& stamps) {
    json.key("kernel_stamps").begin_object();
    json.key("transmit").string(stamps.transmit);
    json.key("receive").boolean(stamps.receive);
    json.key("reason");
    stamps.reason.empty() ? json.null() : json.string(stamps.reason);
    json.key("wire").unsigned_integer(stamps.wire);
    json.key("missing").unsigned_integer(stamps.missing);
    json.key("refused").unsigned_integer(stamps.refused);
    json.key("stray").unsigned_integer(stamps.stray);
    json.key("clock_offset_ns").integer(stamps.clock_offset_ns);
    json.key("clock_error_ns").integer(stamps.clock_error_ns);
    json.key("clock_steps").unsigned_integer(stamps.clock_steps);
    json.end_object();
}

}  // namespace

void write_run_end(JsonWriter& json, const std::optional<RunEnd>& end) {
    json.key("end");
    if (!end) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows_fired").unsigned_integer(end->rows_fired);
    json.key("records").unsigned_integer(end->records);
    json.key("interrupted").boolean(end->interrupted);
    write_stopped_when(json, end->stopped_when);
    json.key("connects").unsigned_integer(end->connects);
    json.key("connect_failures").unsigned_integer(end->connect_failures);
    json.key("stale_retries").unsigned_integer(end->stale_retries);
    json.key("closed_idle").unsigned_integer(end->closed_idle);
    json.key("retired_idle").unsigned_integer(end->retired_idle);
    json.key("idle_limit_ns").optional_integer(end->idle_limit_ns);
    json.key("system_calls").unsigned_integer(end->system_calls);
    json.key("operations").unsigned_integer(end->operations);
    json.key("no_buffers").unsigned_integer(end->no_buffers);
    json.key("overflows").unsigned_integer(end->overflows);
    json.key("stepped_aside").unsigned_integer(end->stepped_aside);
    json.key("guard_ns").integer(end->guard_ns);
    json.key("margin_ns").integer(end->margin_ns);
    json.key("measured_from_ns").optional_integer(end->measured_from_ns);
    write_idle(json, end->idle);
    write_marks(json, end->marks);
    write_stamps(json, end->stamps);
    write_tls(json, end->tls);
    json.key("verdict").string(end->verdict);
    strings(json, "verdict_reasons", end->verdict_reasons);
    json.key("exit_code").integer(end->exit_code);
    json.end_object();
}

}  // namespace driftless
