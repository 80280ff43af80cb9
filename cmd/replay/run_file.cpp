#include "cmd/replay/run_file.hpp"

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "cmd/replay/workload.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

EngineFacts settle_engine(const ThreadMeter& meter, bool realtime) {
    return {meter.why_no_instructions(), settle_memory(), realtime};
}

namespace {

// Clauses; several may hold.
std::string why_not(StampRule rule, const DriverFacts& driver, const LaneCounts& lanes) {
    if (rule == StampRule::none) {
        return "--stamps none";
    }
    std::string why = rule == StampRule::wire ? "--stamps wire" : "";
    const auto add = [&](const char* reason) {
        why += (why.empty() ? "" : "; ") + std::string(reason);
    };
    if (lanes.lanes_without_stamps > 0) {
        add("the kernel stamps only TCP packets, not Unix sockets");
    }
    if (rule == StampRule::full && !driver.receive_stamps) {
        add("the kernel refuses receive stamps");
    }
    if (lanes.stamps_refused > 0) {
        add("the clock was set during the run");
    } else if (lanes.wire_missing > 0) {
        add("some kernel stamps are missing");
    }
    return why;
}

}  // namespace

StampSupport stamps_of(StampRule rule) {
    return {rule != StampRule::none, rule == StampRule::full};
}

StampFacts stamp_facts(StampRule rule, const DriverFacts& driver, Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    StampFacts facts;
    facts.transmit = driver.transmit_stamps;
    facts.receive = driver.receive_stamps;
    facts.reason = why_not(rule, driver, lanes);
    facts.wire = lanes.wire_stamps;
    facts.missing = lanes.wire_missing;
    facts.refused = lanes.stamps_refused;
    facts.stray = lanes.stamps_stray;
    facts.clock_offset_ns = run.clock().offset_ns;
    facts.clock_error_ns = run.clock().error_ns;
    facts.clock_steps = run.clock().steps;
    return facts;
}

namespace {

/// The key "engine".
void write_engine(JsonWriter& json, const EngineFacts& facts) {
    json.key("engine").begin_object();
    json.key("instructions").boolean(facts.why_no_instructions.empty());
    write_optional_text(json, "instructions_reason", facts.why_no_instructions);
    json.key("realtime").boolean(facts.realtime);
    json.key("pages_present").boolean(facts.memory.present);
    json.key("pages_locked").boolean(facts.memory.locked);
    write_optional_text(json, "pages_reason", facts.memory.why_not);
    json.key("huge_page_bytes").unsigned_integer(facts.memory.huge_bytes);
    json.end_object();
}

/// Key and value of `dataset`: what the text is; null where there is none.
void write_text(JsonWriter& json, const std::string& dataset,
                const std::optional<LoadedCorpus>& text) {
    json.key("dataset");
    if (!text) {
        json.null();
        return;
    }
    const CorpusFigures& figures = text->figures;
    char digest[17];
    std::snprintf(digest, sizeof(digest), "%016llx",
                  static_cast<unsigned long long>(text->corpus.digest()));
    json.begin_object();
    json.key("file").string(dataset);
    write_optional_text(json, "column", text->column);
    json.key("whole").boolean(text->is_whole);
    json.key("texts").unsigned_integer(figures.texts);
    json.key("empty_texts").unsigned_integer(figures.empty_texts);
    json.key("bytes").unsigned_integer(figures.bytes);
    json.key("bytes_left_out").unsigned_integer(figures.left_out_bytes);
    json.key("sections_left_out").unsigned_integer(figures.sections_left_out);
    json.key("words_put_in").unsigned_integer(figures.words_put_in);
    json.key("pieces").unsigned_integer(text->corpus.pieces());
    json.key("tokens").unsigned_integer(text->corpus.tokens());
    json.key("digest").string(digest);
    json.end_object();
}

/// The key "tls", an array.
void write_tls(JsonWriter& json, const std::vector<TlsFacts>& peers) {
    json.key("tls").begin_array();
    for (const TlsFacts& peer : peers) {
        json.begin_object();
        json.key("name").string(peer.name);
        json.key("trust").string(peer.trust);
        json.key("version").string(peer.version);
        json.key("cipher").string(peer.cipher);
        json.key("handshakes").unsigned_integer(peer.handshakes);
        json.key("resumed").unsigned_integer(peer.resumed);
        json.end_object();
    }
    json.end_array();
}

void write_bounds(JsonWriter& json, const GoodputLimits& limits) {
    json.key("ttft_ns").optional(limits.ttft_ns);
    json.key("ttft_due_ns").optional(limits.ttft_due_ns);
    json.key("tpot_ns").optional(limits.tpot_ns);
    json.key("e2e_ns").optional(limits.e2e_ns);
}

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

/// Key and value of `preflight`: an object, or null where there was none. Warnings stand behind
/// its own notes.
void write_preflight(JsonWriter& json, const Replay& run) {
    const PreflightFindings& found = run.server.findings;
    json.key("preflight");
    if (!run.sends() || !run.options().server.preflight) {
        json.null();
        return;
    }
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
    json.begin_object();
    json.key("model").string(found.model);
    write_texts(json, "models", found.models);
    json.key("server").string(found.server);
    json.key("owned_by").string(found.owned_by);
    json.key("keep_alive_timeout_s").optional(found.keep_alive.timeout_s);
    json.key("keep_alive_max").optional(found.keep_alive.max);
    json.key("max_model_len").optional(known(found.max_model_len));
    json.key("max_input_tokens").optional(known(found.max_input_tokens));
    json.key("overhead_source").string(found.overhead_source);
    json.key("split_known").boolean(found.split_known);
    json.key("split_source").string(found.split_source);
    json.key("server_block").optional(known(found.server_block));
    write_optional_text(json, "server_block_source", found.server_block_source);
    json.key("has_tokenize").boolean(found.tokenize.has_value());
    json.key("tokenize_form");
    found.tokenize ? json.string(name_of(*found.tokenize)) : json.null();
    json.key("has_usage").boolean(found.has_usage);
    json.key("has_cached_tokens").boolean(found.has_cached_tokens);
    json.key("has_token_ids").boolean(found.has_token_ids);
    json.key("has_end_mark").optional(found.has_end_mark);
    json.key("ignore_eos").boolean(found.ignore_eos);
    json.key("stream_options").boolean(found.stream_options);
    json.key("length_asked").optional(known(found.length_asked));
    json.key("length_made").optional(known(found.length_made));
    json.key("stream_chunks").optional(known(found.stream_chunks));
    json.key("stream_receives").optional(known(found.stream_receives));
    json.key("headers_before_token").boolean(found.headers_before_token);
    json.key("words_asked").optional(known(found.words_asked));
    json.key("words_counted")
        .optional(found.words_asked < 0 ? std::optional<std::int64_t>{} : found.words_counted);
    json.key("words_exact").boolean(found.words == WordVerdict::exact);
    json.key("words_verdict").string(name_of(found.words));
    json.key("word_questions").unsigned_integer(found.word_questions);
    json.key("word_joins").unsigned_integer(found.joins);
    write_texts(json, "words_dropped", found.dropped_words);
    json.key("first_words_asked").unsigned_integer(found.first_words_asked);
    json.key("first_words").unsigned_integer(found.first_words.size());
    json.key("requests").unsigned_integer(found.requests);
    json.key("probe_ns").optional(known(found.probe_ns));
    std::vector<std::string> notes = found.notes;
    notes.insert(notes.end(), run.warnings.begin(), run.warnings.end());
    write_texts(json, "notes", notes);
    json.end_object();
}

/// Key and value of `cache_probe`.
void write_cache_probe(JsonWriter& json, const CacheProbe& probe) {
    json.key("cache_probe").begin_object();
    json.key("state").string(name_of(probe.state));
    write_optional_text(json, "why", probe.why);
    json.key("tokens").unsigned_integer(probe.tokens);
    json.key("cached_tokens").unsigned_integer(probe.cached_tokens);
    write_optional_text(json, "reset", probe.reset);
    json.end_object();
}

/// Key and value of `verified`: an object, or null where nothing was.
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

/// `shard`: which part of the plan this process sent; null: all of it.
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

/// `meeting`, else `earlier` (JSON), else null: the run began by itself.
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
    json.key("kernel_error_ns").optional(meeting->kernel_error_ns);
    json.end_object();
    json.end_object();
}

/// `users`: null where there are none.
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
    json.key("order").string(tree_choices.name_of(rules.order));
    json.key("recycle").boolean(rules.recycle);
    json.key("recycle_share").string(share_system_choices.name_of(rules.shares_system));
    json.key("barrier").string(tree_barrier_choices.name_of(rules.tree_barrier));
    json.key("for_ns").optional(rules.for_ns);
    json.key("drain_ns");
    rules.for_ns ? json.integer(rules.drain()) : json.null();
    json.key("on_failure").string(text_of(rules.failures));
    json.key("on_429").string(wait_for_429_choices.name_of(rules.failures.waits_for_429));
    json.key("tree_idle_cap_ns").optional(rules.idle.tree_ns);
    json.key("system_idle_cap_ns").optional(rules.idle.system_ns);
    json.key("start_within").begin_array();
    json.number(rules.start.from).number(rules.start.to).end_array();
    json.key("start_by").string(start_by_turns_choices.name_of(rules.start.by_turns));
    json.key("prime").string(prime_one_token_choices.name_of(rules.start.prime_one_token));
    json.key("warmup_requests").unsigned_integer(rules.start.warmup_requests);
    json.end_object();
}

/// The key `arrivals`: null where rows do not arrive at a rate.
void write_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload) {
    json.key("arrivals");
    const std::optional<ArrivalFacts> facts = arrival_facts(flags, workload);
    if (!facts) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rate").string(facts->rate);
    json.key("asked_rate").optional(facts->asked_rate);
    json.key("law").string(facts->law);
    json.key("of").string(facts->of);
    json.key("planned_rate").optional(facts->planned_rate);
    json.key("seed").unsigned_integer(flags.plan.seed);
    json.end_object();
}

/// `abandon`: which requests their clients give up; null: none.
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

/// `gaps`: null where nothing waits.
void write_gaps(JsonWriter& json, const WorkloadFlags& flags,
                const std::optional<Waiting>& waiting) {
    json.key("gaps");
    if (!waiting || flags.users.single_rows) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rule").string(gap_choices.name_of(flags.gap.value_or(GapRule::end_to_start)));
    json.key("cap_ns").optional(flags.gap_cap_ns);
    json.key("gaps").unsigned_integer(waiting->gaps.gaps);
    json.key("capped").unsigned_integer(waiting->gaps.capped);
    json.key("derived_ns").integer(waiting->gaps.derived_ns);
    json.key("kept_ns").integer(waiting->gaps.kept_ns);
    json.end_object();
}

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
    write_optional_text(json, "reason", stamps.reason);
    json.key("wire").unsigned_integer(stamps.wire);
    json.key("missing").unsigned_integer(stamps.missing);
    json.key("refused").unsigned_integer(stamps.refused);
    json.key("stray").unsigned_integer(stamps.stray);
    json.key("clock_offset_ns").integer(stamps.clock_offset_ns);
    json.key("clock_error_ns").integer(stamps.clock_error_ns);
    json.key("clock_steps").unsigned_integer(stamps.clock_steps);
    json.end_object();
}

/// Key and value of `end`: an object, or null while the run has not ended.
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
    json.key("idle_limit_ns").optional(end->idle_limit_ns);
    json.key("system_calls").unsigned_integer(end->system_calls);
    json.key("operations").unsigned_integer(end->operations);
    json.key("no_buffers").unsigned_integer(end->no_buffers);
    json.key("overflows").unsigned_integer(end->overflows);
    json.key("stepped_aside").unsigned_integer(end->stepped_aside);
    json.key("guard_ns").integer(end->guard_ns);
    json.key("margin_ns").integer(end->margin_ns);
    json.key("measured_from_ns").optional(end->measured_from_ns);
    write_idle(json, end->idle);
    write_marks(json, end->marks);
    write_stamps(json, end->stamps);
    write_tls(json, end->tls);
    json.key("verdict").string(end->verdict);
    write_texts(json, "verdict_reasons", end->verdict_reasons);
    json.key("exit_code").integer(end->exit_code);
    json.end_object();
}

void counts(JsonWriter& json, const char* key, const std::vector<std::uint32_t>& values) {
    json.key(key).begin_array();
    for (const std::uint32_t value : values) {
        json.unsigned_integer(value);
    }
    json.end_array();
}

void named(JsonWriter& json, const char* key,
           const std::vector<std::pair<std::string, std::string>>& values) {
    json.key(key).begin_object();
    for (const auto& [name, value] : values) {
        json.key(name).string(value);
    }
    json.end_object();
}

void write_trace(JsonWriter& json, const Replay& run) {
    const Workload& workload = run.workload;
    const Trace& trace = workload.trace;
    json.key("trace").begin_object();
    write_texts(json, "paths", run.options().workload.files.paths);
    json.key("name").string(trace.name);
    json.key("format").string(trace.format);
    json.key("time_unit").string(trace.time_unit);
    json.key("block_size").unsigned_integer(trace.block_size);
    json.key("tail_rule").string(trace.tail_rule == TailRule::ceil ? "ceil" : "floor");
    json.key("rows").unsigned_integer(trace.rows.size());
    json.key("dependencies").unsigned_integer(trace.dependencies.size());
    json.key("bytes").unsigned_integer(trace.bytes);
    json.key("digest").string(hex_text(trace.digest));
    json.key("rows_unsorted").unsigned_integer(trace.rows_unsorted);
    json.key("surplus_ids").unsigned_integer(trace.surplus_ids);
    json.key("rows_uncovered").unsigned_integer(trace.rows_uncovered);
    json.key("unknown_keys").unsigned_integer(trace.unknown_keys);
    json.key("zero_outputs").unsigned_integer(trace.zero_outputs);
    write_texts(json, "notes", workload.notes);
    json.end_object();
}

void write_load(JsonWriter& json, const LoadFigures& load) {
    json.key("load").begin_object();
    json.key("rows_read").unsigned_integer(load.rows_read);
    json.key("trees_read").unsigned_integer(load.admission.families);
    json.key("trees_too_long").unsigned_integer(load.admission.too_long);
    json.key("trees_admitted").unsigned_integer(load.admission.kept);
    json.key("sessions").unsigned_integer(load.families);
    json.key("sessions_sampled").unsigned_integer(load.families_sampled);
    json.key("rows_sampled").unsigned_integer(load.rows_sampled);
    json.key("share").string(load.share == Sharing::none      ? "none"
                             : load.share == Sharing::session ? "session"
                                                              : "all");
    json.key("rows_sharing").unsigned_integer(load.rows_sharing);
    json.key("copies").unsigned_integer(load.copies);
    json.key("copies_within_ns").integer(load.within_ns);
    json.end_object();
}

/// Of the prompts to each side; equal ones got the same bytes. Null without --against, and where
/// not all were built.
void write_side_digests(JsonWriter& json, const Plan& plan, const std::optional<RunEnd>& end) {
    json.key("side_digests");
    if (!plan.dual || !end || !end->prompts_digest || !end->against_digest) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("a").string(hex_text(*end->prompts_digest - *end->against_digest));
    json.key("b").string(hex_text(*end->against_digest));
    json.end_object();
}

void write_plan(JsonWriter& json, const Replay& run, const std::optional<RunEnd>& end) {
    const Invocation& invocation = run.invocation;
    const WorkloadFlags& flags = invocation.options.workload;
    const Workload& workload = run.workload;
    const Plan& plan = workload.plan;
    const WaitFigures waits = workload.waiting ? workload.waiting->figures : WaitFigures();
    json.key("plan").begin_object();
    json.key("seed").unsigned_integer(flags.plan.seed);
    write_optional_text(json, "cache_salt", invocation.cache_salt);
    json.key("speed").string(flags.speed_text);
    json.key("start_ns").optional(flags.plan.start_ns);
    json.key("end_ns").optional(flags.plan.end_ns);
    json.key("duration_ns").optional(flags.plan.duration_ns);
    json.key("limit").optional(flags.plan.limit);
    json.key("spread").boolean(flags.plan.spread);
    write_arrivals(json, flags, workload);
    json.key("sessions").string(session_choices.name_of(flags.files.sessions));
    write_users(json, flags.users, flags.grow);
    json.key("rows").unsigned_integer(plan.rows.size());
    json.key("trees");
    workload.waiting ? json.unsigned_integer(workload.waiting->trees) : json.null();
    json.key("rows_waiting").unsigned_integer(waits.rows);
    json.key("rows_waiting_outside").unsigned_integer(waits.outside);
    write_gaps(json, flags, workload.waiting);
    json.key("least_ns");
    workload.waiting ? json.integer(waits.least_ns) : json.null();
    json.key("rows_outside").unsigned_integer(plan.rows_outside);
    json.key("burst_rows_max").unsigned_integer(plan.burst_rows_max);
    json.key("input_tokens");
    plan.inputs_unknown == 0 ? json.unsigned_integer(plan.input_tokens) : json.null();
    json.key("output_tokens");
    plan.outputs_unknown == 0 ? json.unsigned_integer(plan.output_tokens) : json.null();
    json.key("rows_not_foretold").unsigned_integer(plan.foretold.rows_unknown);
    json.key("expected_cached_tokens");
    plan.foretold.rows > 0 ? json.unsigned_integer(plan.foretold.cached_tokens) : json.null();
    json.key("longest_row_tokens");
    json.integer(workload.share ? workload.share->longest_row_tokens
                                : longest_row(workload.trace, plan));
    json.key("last_due_ns").integer(last_due_ns(workload.waiting, plan));
    json.key("schedule_digest").string(hex_text(plan.schedule_digest));
    json.key("prompts_digest");
    end && end->prompts_digest ? json.string(hex_text(*end->prompts_digest)) : json.null();
    write_side_digests(json, plan, end);
    json.key("clamped_rows");
    end ? json.unsigned_integer(end->clamped_rows) : json.null();
    json.end_object();
}

/// Null where prompts hold the words of the trace alone.
void write_live(JsonWriter& json, const std::optional<LiveTurns>& live, const KeptWords& kept) {
    json.key("live");
    if (!live) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("keep").string(text_of(kept));
    json.key("conversations").unsigned_integer(live->figures.conversations);
    json.key("turns").unsigned_integer(live->figures.turns);
    json.key("edited").unsigned_integer(live->figures.edited);
    json.end_object();
}

void write_recorded(JsonWriter& json, const std::optional<RecordedFigures>& recorded) {
    json.key("recorded_requests");
    if (!recorded) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows").unsigned_integer(recorded->requests);
    json.key("unknown_lengths").unsigned_integer(recorded->unbounded);
    for (const FixName& name : recorded_fix_names()) {
        json.key(name.key).unsigned_integer(recorded->fixes.*name.count);
    }
    json.end_object();
}

void write_tokenizer(JsonWriter& json, const std::string& path,
                     const std::optional<SelectedWords>& selected) {
    json.key("tokenizer");
    if (!selected) {
        json.null();
        return;
    }
    const WordFigures& figures = selected->figures;
    json.begin_object();
    json.key("file").string(path);
    json.key("kind").string(figures.kind);
    json.key("vocabulary").unsigned_integer(figures.vocabulary);
    json.key("candidates").unsigned_integer(figures.candidates);
    json.key("strict").unsigned_integer(figures.strict);
    json.end_object();
}

void write_template(JsonWriter& json, const RequestFlags& request) {
    json.key("template");
    if (!request.described) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("file").string(request.template_file);
    json.key("digest").string(hex_text(request.described->form.digest));
    json.end_object();
}

void write_budget(JsonWriter& json, const char* key, const std::optional<TypedBudget>& budget) {
    json.key(key);
    budget ? json.string(text_of(budget->rate, budget->uncached)) : json.null();
}

void write_limits(JsonWriter& json, const ReplayOptions& options, std::uint32_t inflight_max) {
    const SendingFlags& sending = options.sending;
    json.key("timeout_connect_ns").integer(sending.timeouts.connect.ns);
    json.key("timeout_first_byte_ns").integer(sending.timeouts.first_byte.ns);
    json.key("timeout_idle_ns").integer(sending.timeouts.idle.ns);
    json.key("timeout_total_ns").integer(sending.timeouts.total.ns);
    json.key("grace_ns").integer(sending.grace_ns);
    json.key("inflight_max").unsigned_integer(inflight_max);
    json.key("max_concurrency");
    sending.inflight_max ? json.unsigned_integer(inflight_max) : json.null();
    write_budget(json, "budget_input", sending.budget_input);
    write_budget(json, "budget_output", sending.budget_output);
    write_abandon(json, sending.abandon, options.workload.plan.seed);
    write_goodput(json, options.results.goodput);
    json.key("connections").optional(sending.connections);
    json.key("balance").string(name_of(sending.balance));
    json.key("connection").string(name_of(sending.connection));
}

/// The second server of dual fire; null where there is none.
void write_against(JsonWriter& json, const ReplayOptions& options, const Server& server,
                   bool sends) {
    json.key("against");
    if (!server.against) {
        json.null();
        return;
    }
    const PreflightFindings& found = *server.against;
    json.begin_object();
    json.key("url").string(shown_url(options.server.targets.back()));
    json.key("model").string(found.model);
    json.key("overhead_pre").unsigned_integer(found.overhead.pre);
    json.key("overhead_post").unsigned_integer(found.overhead.post);
    json.key("overhead_source").string(found.overhead_source);
    json.key("split_unknown").boolean(sends && split_unknown(found));
    json.end_object();
}

void write_request(JsonWriter& json, const Replay& run) {
    const ReplayOptions& options = run.options();
    const RequestFlags& request = options.request;
    const Server& server = run.server;
    const bool sends = run.sends();
    const std::string length_member = sends ? server.body.length_member : "";
    const std::optional<std::uint32_t> server_block = run.workload.server_block;
    json.key("request").begin_object();
    json.key("urls").begin_array();
    for (const ReplayTarget& target : options.server.targets) {
        json.string(shown_url(target));
    }
    json.end_array();
    json.key("connect_to");
    options.server.connect_to ? json.string(place_text(*options.server.connect_to)) : json.null();
    json.key("api").string(request.dialect->name);
    write_template(json, request);
    json.key("model").string(server.findings.model);
    write_against(json, options, server, sends);
    json.key("prompt").string(prompt_choices.name_of(server.prompt));
    json.key("words").unsigned_integer(run.parts->words().size());
    json.key("words_digest").string(hex_text(run.parts->words().digest()));
    write_tokenizer(json, options.prompts.tokenizer, server.words.selected);
    write_recorded(json, run.workload.recorded);
    write_live(json, run.workload.live, run.options().request.live_keep);
    write_text(json, options.prompts.dataset, server.words.text);
    json.key("output").string(output_choices.name_of(request.output));
    json.key("stream").boolean(request.stream);
    json.key("continuous_usage").boolean(request.continuous_usage);
    json.key("overhead_pre").unsigned_integer(server.findings.overhead.pre);
    json.key("overhead_post").unsigned_integer(server.findings.overhead.post);
    json.key("split_unknown").boolean(sends && split_unknown(server.findings));
    json.key("server_block").optional(server_block);
    write_optional_text(json, "length_member", length_member);
    write_limits(json, options, sends ? run.host.inflight_max : 0);
    json.end_object();
}

void write_host(JsonWriter& json, const Replay& run) {
    const HostFacts& host = run.facts;
    const bool sends = run.sends();
    const HostChoice& choice = run.host;
    json.key("host").begin_object();
    json.key("kernel").string(host.kernel);
    json.key("machine").string(host.machine);
    json.key("cpu_model").string(host.cpu_model);
    json.key("cpus_online").unsigned_integer(host.cpus_online);
    counts(json, "cpus_allowed", host.cpus_allowed);
    json.key("memory_bytes").unsigned_integer(host.memory_bytes);
    json.key("virtual_machine").boolean(host.virtual_machine);
    json.key("engine_cpu").unsigned_integer(choice.engine_cpu.cpu);
    json.key("engine_cpu_reason").string(choice.engine_cpu.reason);
    json.key("engines").unsigned_integer(sends ? choice.engines() : 0);
    counts(json, "other_engine_cpus", choice.other_cpus);
    counts(json, "writer_cpus", choice.writer_cpus);
    json.key("writer_gives_way").boolean(choice.writer.gives_way);
    json.key("placement").string(choice.placement);
    json.key("server_is_here").boolean(choice.server_is_here);
    json.key("wait").string(sends ? name_of(choice.wait) : "");
    json.key("scheduling").string(sends ? name_of(choice.granted.scheduling) : "");
    json.key("slice_ns").integer(choice.granted.slice_ns);
    json.key("file_limit").unsigned_integer(choice.file_limit);
    json.key("compiler").string(__VERSION__);
    const DriverFacts driver = sends ? run.driver->facts() : DriverFacts();
    json.key("driver").string(sends ? name_of(driver.kind) : "");
    write_optional_text(json, "driver_reason", choice.why_not_ring);
    json.end_object();
    named(json, "ring", driver.features);
}

void write_anchors(JsonWriter& json, const ClockAnchors& clock) {
    json.key("zero_monotonic_ns").integer(clock.zero_monotonic_ns);
    json.key("zero_utc_ns").integer(clock.zero_utc_ns);
    json.key("zero_utc").string(utc_text(clock.zero_utc_ns));
    json.key("error_ns").integer(clock.error_ns);
}

/// `clock` is that of the first segment: what a run without `--resume` has alone.
void write_segments(JsonWriter& json, const std::vector<RunSegment>& segments) {
    json.key("clock");
    if (segments.empty()) {
        json.null();
    } else {
        json.begin_object();
        write_anchors(json, segments.front().clock);
        json.end_object();
    }
    json.key("segments").begin_array();
    for (const RunSegment& segment : segments) {
        json.begin_object();
        json.key("run_id").string(segment.run_id);
        write_texts(json, "command", segment.command);
        write_anchors(json, segment.clock);
        json.key("first_due_ns").integer(segment.first_due_ns);
        json.key("rows").unsigned_integer(segment.rows);
        json.key("rows_interrupted").unsigned_integer(segment.rows_interrupted);
        json.end_object();
    }
    json.end_array();
}

void write_calibration(JsonWriter& json, const CalibrationFacts& facts) {
    json.key("calibration").begin_object();
    write_optional_text(json, "date", facts.date);
    write_optional_text(json, "why_not", facts.why_not);
    json.key("drift_ns").integer(facts.limits.drift_ns);
    json.key("measured_ns").integer(facts.measured_ns);
    json.key("taken_share").number(facts.taken_share);
    json.key("rank_ns").integer(facts.limits.rank_ns);
    json.key("drift_most_ns").integer(facts.limits.drift_most_ns);
    json.key("receive_delay_ns").integer(facts.limits.receive_delay_ns);
    json.key("wire_ns").integer(facts.limits.wire_ns);
    json.key("error_ns").integer(facts.limits.error_ns);
    json.end_object();
}

}  // namespace

std::string to_json(const Replay& run, const RunProgress& progress) {
    const Invocation& invocation = run.invocation;
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(record_schema);
    json.key("version").string(version());
    const bool resumed = progress.segments.size() > 1;
    json.key("run_id").string(resumed ? progress.segments.front().run_id : invocation.run_id);
    write_texts(json, "command", resumed ? progress.segments.front().command : invocation.command);
    write_texts(json, "arguments", invocation.arguments);
    write_optional_text(json, "records", invocation.records_path);
    named(json, "labels", invocation.options.results.labels);
    write_texts(json, "rules", invocation.options.rules.chosen.texts);
    write_texts(json, "metrics_tables", invocation.options.metrics.table_texts);
    write_segments(json, progress.segments);
    write_trace(json, run);
    write_load(json, run.workload.load);
    write_shard(json, invocation.options.shard, run.workload.share);
    write_meeting(json, progress.meeting, progress.earlier_meeting);
    write_plan(json, run, progress.end);
    write_request(json, run);
    write_preflight(json, run);
    write_verified(json, run.verified);
    write_cache_probe(json, run.cache);
    write_calibration(json, run.calibration);
    write_host(json, run);
    if (progress.engine) {
        write_engine(json, *progress.engine);
    }
    write_run_end(json, progress.end);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
