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
#include "proto/json/put.hpp"
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

// `put` finds these by the types of their values, so that they stand in no namespace of the file.

static void put_value(JsonWriter& json, const EngineFacts& facts) {
    put_object(json, {{"instructions", facts.why_no_instructions.empty()},
                      {"instructions_reason", or_null(facts.why_no_instructions)},
                      {"realtime", facts.realtime},
                      {"pages_present", facts.memory.present},
                      {"pages_locked", facts.memory.locked},
                      {"pages_reason", or_null(facts.memory.why_not)},
                      {"huge_page_bytes", facts.memory.huge_bytes}});
}

static void put_value(JsonWriter& json, const TlsFacts& peer) {
    put_object(json, {{"name", peer.name},
                      {"trust", peer.trust},
                      {"version", peer.version},
                      {"cipher", peer.cipher},
                      {"handshakes", peer.handshakes},
                      {"resumed", peer.resumed}});
}

static void put_value(JsonWriter& json, const VerifyFindings& verified) {
    put_object(json, {{"rows", verified.rows},
                      {"tokens", verified.tokens},
                      {"pairs", verified.pairs},
                      {"shared_tokens", verified.shared_tokens},
                      {"shared_beyond", verified.shared_beyond}});
}

static void put_value(JsonWriter& json, const ClockDifference& difference) {
    put_object(json, {{"offset_ns", difference.offset_ns},
                      {"error_ns", difference.error_ns},
                      {"round_trip_ns", difference.round_trip_ns}});
}

static void put_value(JsonWriter& json, const MeetingFacts& meeting) {
    put_object(json, {{"at", meeting.at},
                      {"role", meeting.role},
                      {"zero_utc_ns", meeting.zero_utc_ns},
                      {"clock", JsonPairs{{"before", meeting.before},
                                          {"after", meeting.after},
                                          {"kernel_error_ns", meeting.kernel_error_ns}}}});
}

static void put_value(JsonWriter& json, const RunMarks& marks) {
    put_object(json, {{"resident_bytes_max", marks.resident_max},
                      {"body_region_bytes", marks.body_region},
                      {"body_bytes_max", marks.body_max},
                      {"row_header_bytes", marks.row_fields},
                      {"event_ring_bytes", marks.event_ring},
                      {"event_ring_bytes_max", marks.event_ring_max},
                      {"block_cache_bytes", marks.block_cache},
                      {"block_cache_hits", marks.block_cache_hits},
                      {"block_cache_misses", marks.block_cache_misses},
                      {"frame_bytes", marks.frames},
                      {"frames_max", marks.frames_max},
                      {"connections_max", marks.lanes_max}});
}

static void put_value(JsonWriter& json, const IdleFigures& idle) {
    put_object(json, {{"tree_jumps", idle.tree_jumps},
                      {"tree_skipped_ns", idle.tree_skipped_ns},
                      {"system_jumps", idle.system_jumps},
                      {"system_skipped_ns", idle.system_skipped_ns}});
}

static void put_value(JsonWriter& json, const StampFacts& stamps) {
    put_object(json, {{"transmit", stamps.transmit},
                      {"receive", stamps.receive},
                      {"reason", or_null(stamps.reason)},
                      {"wire", stamps.wire},
                      {"missing", stamps.missing},
                      {"refused", stamps.refused},
                      {"stray", stamps.stray},
                      {"clock_offset_ns", stamps.clock_offset_ns},
                      {"clock_error_ns", stamps.clock_error_ns},
                      {"clock_steps", stamps.clock_steps}});
}

static void put_value(JsonWriter& json, const LoadFigures& load) {
    put_object(json, {{"rows_read", load.rows_read},
                      {"trees_read", load.admission.families},
                      {"trees_too_long", load.admission.too_long},
                      {"trees_admitted", load.admission.kept},
                      {"sessions", load.families},
                      {"sessions_sampled", load.families_sampled},
                      {"rows_sampled", load.rows_sampled},
                      {"share", load.share == Sharing::none      ? "none"
                                : load.share == Sharing::session ? "session"
                                                                 : "all"},
                      {"rows_sharing", load.rows_sharing},
                      {"copies", load.copies},
                      {"copies_within_ns", load.within_ns}});
}

static void put_value(JsonWriter& json, const RecordedFigures& recorded) {
    json.begin_object();
    put(json, {{"rows", recorded.requests}, {"unknown_lengths", recorded.unbounded}});
    for (const FixName& name : recorded_fix_names()) {
        put(json, {{name.key, recorded.fixes.*name.count}});
    }
    json.end_object();
}

static void put_value(JsonWriter& json, const RunEnd& end) {
    put_object(json, {{"rows_fired", end.rows_fired},
                      {"records", end.records},
                      {"interrupted", end.interrupted},
                      {"stopped_when", end.stopped_when},
                      {"connects", end.connects},
                      {"connect_failures", end.connect_failures},
                      {"stale_retries", end.stale_retries},
                      {"closed_idle", end.closed_idle},
                      {"retired_idle", end.retired_idle},
                      {"idle_limit_ns", end.idle_limit_ns},
                      {"system_calls", end.system_calls},
                      {"operations", end.operations},
                      {"no_buffers", end.no_buffers},
                      {"overflows", end.overflows},
                      {"stepped_aside", end.stepped_aside},
                      {"guard_ns", end.guard_ns},
                      {"margin_ns", end.margin_ns},
                      {"measured_from_ns", end.measured_from_ns},
                      {"idle_caps", end.idle},
                      {"memory", end.marks},
                      {"kernel_stamps", end.stamps},
                      {"tls", end.tls},
                      {"verdict", end.verdict},
                      {"verdict_reasons", end.verdict_reasons},
                      {"exit_code", end.exit_code}});
}

static void put_value(JsonWriter& json, const ClockAnchors& clock) {
    put_object(json, {{"zero_monotonic_ns", clock.zero_monotonic_ns},
                      {"zero_utc_ns", clock.zero_utc_ns},
                      {"zero_utc", utc_text(clock.zero_utc_ns)},
                      {"error_ns", clock.error_ns}});
}

static void put_value(JsonWriter& json, const RunSegment& segment) {
    put_object(json, {{"run_id", segment.run_id},
                      {"command", segment.command},
                      {"zero_monotonic_ns", segment.clock.zero_monotonic_ns},
                      {"zero_utc_ns", segment.clock.zero_utc_ns},
                      {"zero_utc", utc_text(segment.clock.zero_utc_ns)},
                      {"error_ns", segment.clock.error_ns},
                      {"first_due_ns", segment.first_due_ns},
                      {"rows", segment.rows},
                      {"rows_interrupted", segment.rows_interrupted},
                      {"driver", segment.driver}});
}

static void put_value(JsonWriter& json, const TypedBudget& budget) {
    json.string(text_of(budget.rate, budget.uncached));
}

namespace {

/// Limits of all rows, and of groups.
void put_goodput(JsonWriter& json, const GoodputRules& rules) {
    MemberWriter fields(json);
    json.begin_object();
    const GoodputLimits common = common_limits(rules);
    walk(fields, common);
    json.key("groups").begin_array();
    for (const GoodputRule& rule : rules) {
        if (rule.key) {
            json.begin_object();
            put(json, {{"key", rule.key->text}, {"value", rule.value}});
            walk(fields, rule.limits);
            json.end_object();
        }
    }
    json.end_array().end_object();
}

/// What the text is; null where there is none.
void put_dataset(JsonWriter& json, const std::string& dataset,
                 const std::optional<LoadedCorpus>& text) {
    if (!text) {
        json.null();
        return;
    }
    const CorpusFigures& figures = text->figures;
    put_object(json, {{"file", dataset},
                      {"column", or_null(text->column)},
                      {"whole", text->is_whole},
                      {"texts", figures.texts},
                      {"empty_texts", figures.empty_texts},
                      {"bytes", figures.bytes},
                      {"bytes_left_out", figures.left_out_bytes},
                      {"sections_left_out", figures.sections_left_out},
                      {"words_put_in", figures.words_put_in},
                      {"pieces", text->corpus.pieces()},
                      {"tokens", text->corpus.tokens()},
                      {"digest", hex_text(text->corpus.digest())}});
}

/// Null where there was none. Warnings stand behind its own notes.
void put_preflight(JsonWriter& json, const Replay& run) {
    const PreflightFindings& found = run.server.findings;
    if (!run.sends() || !run.options().server.preflight) {
        json.null();
        return;
    }
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
    json.begin_object();
    put(json, {{"model", found.model},
               {"models", found.models},
               {"server", found.server},
               {"owned_by", found.owned_by},
               {"keep_alive_timeout_s", found.keep_alive.timeout_s},
               {"keep_alive_max", found.keep_alive.max},
               {"max_model_len", known(found.max_model_len)},
               {"max_input_tokens", known(found.max_input_tokens)},
               {"overhead_source", found.overhead_source},
               {"split_known", found.split_known},
               {"split_source", found.split_source},
               {"server_block", known(found.server_block)},
               {"server_block_source", or_null(found.server_block_source)},
               {"has_tokenize", found.tokenize.has_value()},
               {"tokenize_form", found.tokenize},
               {"has_usage", found.has_usage},
               {"has_cached_tokens", found.has_cached_tokens},
               {"has_token_ids", found.has_token_ids},
               {"has_end_mark", found.has_end_mark},
               {"ignore_eos", found.ignore_eos},
               {"stream_options", found.stream_options},
               {"length_asked", known(found.length_asked)},
               {"length_made", known(found.length_made)},
               {"stream_chunks", known(found.stream_chunks)},
               {"stream_receives", known(found.stream_receives)},
               {"headers_before_token", found.headers_before_token},
               {"words_asked", known(found.words_asked)},
               {"words_counted",
                found.words_asked < 0 ? std::optional<std::int64_t>{} : found.words_counted},
               {"words_exact", found.words == WordVerdict::exact},
               {"words_verdict", found.words},
               {"word_questions", found.word_questions},
               {"word_joins", found.joins},
               {"words_dropped", found.dropped_words},
               {"first_words_asked", found.first_words_asked},
               {"first_words", found.first_words.size()},
               {"requests", found.requests},
               {"probe_ns", known(found.probe_ns)}});
    std::vector<std::string> notes = found.notes;
    notes.insert(notes.end(), run.warnings.begin(), run.warnings.end());
    put(json, {{"notes", notes}});
    json.end_object();
}

/// Which part of the plan this process sent; null: all of it.
void put_shard(JsonWriter& json, const ShardFlags& flags,
               const std::optional<WorkloadShare>& share) {
    if (!share) {
        json.null();
        return;
    }
    put_object(json, {{"index", share->place.index},
                      {"count", share->place.count},
                      {"from", flags.from},
                      {"plan_rows", share->plan_rows}});
}

/// Null where there are none.
void put_users(JsonWriter& json, const UserRules& rules, const std::optional<GrowRules>& grow) {
    if (rules.users == 0) {
        json.null();
        return;
    }
    json.begin_object();
    put(json, {{"count", rules.users},
               {"of", rules.single_rows ? "rows" : "trees"},
               {"first", rules.first()},
               {"grow", grow ? std::optional(text_of(*grow)) : std::nullopt},
               {"ramp_ns", rules.ramp_ns},
               {"order", tree_choices.name_of(rules.order)},
               {"recycle", rules.recycle},
               {"recycle_share", share_system_choices.name_of(rules.shares_system)},
               {"barrier", tree_barrier_choices.name_of(rules.tree_barrier)},
               {"for_ns", rules.for_ns},
               {"drain_ns", rules.for_ns ? std::optional(rules.drain()) : std::nullopt},
               {"on_failure", text_of(rules.failures)},
               {"on_429", wait_for_429_choices.name_of(rules.failures.waits_for_429)},
               {"tree_idle_cap_ns", rules.idle.tree_ns},
               {"system_idle_cap_ns", rules.idle.system_ns}});
    json.key("start_within").begin_array();
    json.number(rules.start.from).number(rules.start.to).end_array();
    put(json, {{"start_by", start_by_turns_choices.name_of(rules.start.by_turns)},
               {"prime", prime_one_token_choices.name_of(rules.start.prime_one_token)},
               {"warmup_requests", rules.start.warmup_requests}});
    json.end_object();
}

/// Null where rows do not arrive at a rate.
void put_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload) {
    const std::optional<ArrivalFacts> facts = arrival_facts(flags, workload);
    if (!facts) {
        json.null();
        return;
    }
    put_object(json, {{"rate", facts->rate},
                      {"asked_rate", facts->asked_rate},
                      {"law", facts->law},
                      {"of", facts->of},
                      {"planned_rate", facts->planned_rate},
                      {"seed", flags.plan.seed}});
}

/// Which requests their clients give up; null: none.
void put_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules, std::uint64_t seed) {
    if (!rules) {
        json.null();
        return;
    }
    put_object(json, {{"share", rules->share},
                      {"from_ns", rules->from_ns},
                      {"to_ns", rules->to_ns},
                      {"seed", seed}});
}

/// Null where nothing waits.
void put_gaps(JsonWriter& json, const WorkloadFlags& flags, const std::optional<Waiting>& waiting) {
    if (!waiting || flags.users.single_rows) {
        json.null();
        return;
    }
    put_object(json, {{"rule", gap_choices.name_of(flags.gap.value_or(GapRule::end_to_start))},
                      {"cap_ns", flags.gap_cap_ns},
                      {"gaps", waiting->gaps.gaps},
                      {"capped", waiting->gaps.capped},
                      {"derived_ns", waiting->gaps.derived_ns},
                      {"kept_ns", waiting->gaps.kept_ns}});
}

void put_trace(JsonWriter& json, const Replay& run) {
    const Workload& workload = run.workload;
    const Trace& trace = workload.trace;
    json.begin_object();
    put(json, {{"paths", run.options().workload.files.paths},
               {"name", trace.name},
               {"format", trace.format},
               {"time_unit", trace.time_unit},
               {"block_size", trace.block_size},
               {"tail_rule", trace.tail_rule == TailRule::ceil ? "ceil" : "floor"},
               {"rows", trace.rows.size()},
               {"dependencies", trace.dependencies.size()},
               {"bytes", trace.bytes},
               {"digest", hex_text(trace.digest)},
               {"rows_unsorted", trace.rows_unsorted},
               {"surplus_ids", trace.surplus_ids},
               {"rows_uncovered", trace.rows_uncovered},
               {"unknown_keys", trace.unknown_keys},
               {"zero_outputs", trace.zero_outputs},
               {"notes", workload.notes}});
    json.end_object();
}

/// Of the prompts to each side; equal ones got the same bytes. Null without --against, and where
/// not all were built.
void put_side_digests(JsonWriter& json, const Plan& plan, const std::optional<RunEnd>& end) {
    if (!plan.dual || !end || !end->prompts_digest || !end->against_digest) {
        json.null();
        return;
    }
    put_object(json, {{"a", hex_text(*end->prompts_digest - *end->against_digest)},
                      {"b", hex_text(*end->against_digest)}});
}

std::optional<std::string> hex_or_null(const std::optional<std::uint64_t>& digest) {
    return digest ? std::optional(hex_text(*digest)) : std::nullopt;
}

void put_plan(JsonWriter& json, const Replay& run, const std::optional<RunEnd>& end) {
    const Invocation& invocation = run.invocation;
    const WorkloadFlags& flags = invocation.options.workload;
    const Workload& workload = run.workload;
    const Plan& plan = workload.plan;
    const WaitFigures waits = workload.waiting ? workload.waiting->figures : WaitFigures();
    json.begin_object();
    put(json, {{"seed", flags.plan.seed},
               {"cache_salt", or_null(invocation.cache_salt)},
               {"speed", flags.speed_text},
               {"start_ns", flags.plan.start_ns},
               {"end_ns", flags.plan.end_ns},
               {"duration_ns", flags.plan.duration_ns},
               {"limit", flags.plan.limit},
               {"spread", flags.plan.spread}});
    put_arrivals(json.key("arrivals"), flags, workload);
    put(json, {{"sessions", session_choices.name_of(flags.files.sessions)}});
    put_users(json.key("users"), flags.users, flags.grow);
    put(json, {{"rows", plan.rows.size()},
               {"trees", workload.waiting ? std::optional(workload.waiting->trees) : std::nullopt},
               {"rows_waiting", waits.rows},
               {"rows_waiting_outside", waits.outside}});
    put_gaps(json.key("gaps"), flags, workload.waiting);
    put(json, {{"least_ns", known_if(workload.waiting.has_value(), waits.least_ns)},
               {"rows_outside", plan.rows_outside},
               {"burst_rows_max", plan.burst_rows_max},
               {"input_tokens", known_if(plan.inputs_unknown == 0, plan.input_tokens)},
               {"output_tokens", known_if(plan.outputs_unknown == 0, plan.output_tokens)},
               {"rows_not_foretold", plan.foretold.rows_unknown},
               {"expected_cached_tokens",
                known_if(plan.foretold.rows > 0, plan.foretold.cached_tokens)}});
    put(json, {{"longest_row_tokens", workload.share ? workload.share->longest_row_tokens
                                                     : longest_row(workload.trace, plan)},
               {"last_due_ns", last_due_ns(workload.waiting, plan)},
               {"schedule_digest", hex_text(plan.schedule_digest)},
               {"prompts_digest", hex_or_null(end ? end->prompts_digest : std::nullopt)}});
    put_side_digests(json.key("side_digests"), plan, end);
    put(json, {{"clamped_rows", end ? std::optional(end->clamped_rows) : std::nullopt}});
    json.end_object();
}

/// Null where prompts hold the words of the trace alone.
void put_live(JsonWriter& json, const std::optional<LiveTurns>& live, const KeptWords& kept) {
    if (!live) {
        json.null();
        return;
    }
    put_object(json, {{"keep", text_of(kept)},
                      {"conversations", live->figures.conversations},
                      {"turns", live->figures.turns},
                      {"edited", live->figures.edited}});
}

void put_tokenizer(JsonWriter& json, const std::string& path,
                   const std::optional<SelectedWords>& selected) {
    if (!selected) {
        json.null();
        return;
    }
    const WordFigures& figures = selected->figures;
    put_object(json, {{"file", path},
                      {"kind", figures.kind},
                      {"vocabulary", figures.vocabulary},
                      {"candidates", figures.candidates},
                      {"strict", figures.strict}});
}

void put_template(JsonWriter& json, const RequestFlags& request) {
    if (!request.described) {
        json.null();
        return;
    }
    put_object(json, {{"file", request.template_file},
                      {"digest", hex_text(request.described->form.digest)}});
}

void write_limits(JsonWriter& json, const ReplayOptions& options, std::uint32_t inflight_max) {
    const SendingFlags& sending = options.sending;
    put(json, {{"timeout_connect_ns", sending.timeouts.connect.ns},
               {"timeout_first_byte_ns", sending.timeouts.first_byte.ns},
               {"timeout_idle_ns", sending.timeouts.idle.ns},
               {"timeout_total_ns", sending.timeouts.total.ns},
               {"grace_ns", sending.grace_ns},
               {"inflight_max", inflight_max},
               {"max_concurrency", known_if(sending.inflight_max.has_value(), inflight_max)},
               {"budget_input", sending.budget_input},
               {"budget_output", sending.budget_output}});
    put_abandon(json.key("abandon"), sending.abandon, options.workload.plan.seed);
    put_goodput(json.key("goodput"), options.results.goodput);
    put(json, {{"connections", sending.connections},
               {"balance", sending.balance},
               {"connection", sending.connection}});
}

/// The second server of dual fire; null where there is none.
void put_against(JsonWriter& json, const ReplayOptions& options, const Server& server, bool sends) {
    if (!server.against) {
        json.null();
        return;
    }
    const PreflightFindings& found = *server.against;
    put_object(json, {{"url", shown_url(options.server.targets.back())},
                      {"model", found.model},
                      {"overhead_pre", found.overhead.pre},
                      {"overhead_post", found.overhead.post},
                      {"overhead_source", found.overhead_source},
                      {"split_unknown", sends && split_unknown(found)}});
}

void put_request(JsonWriter& json, const Replay& run) {
    const ReplayOptions& options = run.options();
    const RequestFlags& request = options.request;
    const Server& server = run.server;
    const bool sends = run.sends();
    const std::string length_member = sends ? server.body.length_member : "";
    const std::optional<std::uint32_t> server_block = run.workload.server_block;
    const auto put_url = [](JsonWriter& to, const ReplayTarget& one) { to.string(shown_url(one)); };
    json.begin_object();
    put(json, {{"urls", put_each(options.server.targets, put_url)},
               {"connect_to", options.server.connect_to
                                  ? std::optional(place_text(*options.server.connect_to))
                                  : std::nullopt},
               {"api", request.dialect->name}});
    put_template(json.key("template"), request);
    put(json, {{"model", server.findings.model}});
    put_against(json.key("against"), options, server, sends);
    put(json, {{"prompt", prompt_choices.name_of(server.prompt)},
               {"words", run.parts->words().size()},
               {"words_digest", hex_text(run.parts->words().digest())}});
    put_tokenizer(json.key("tokenizer"), options.prompts.tokenizer, server.words.selected);
    put(json, {{"recorded_requests", run.workload.recorded}});
    put_live(json.key("live"), run.workload.live, run.options().request.live_keep);
    put_dataset(json.key("dataset"), options.prompts.dataset, server.words.text);
    put(json, {{"output", output_choices.name_of(request.output)},
               {"stream", request.stream},
               {"continuous_usage", request.continuous_usage},
               {"overhead_pre", server.findings.overhead.pre},
               {"overhead_post", server.findings.overhead.post},
               {"split_unknown", sends && split_unknown(server.findings)},
               {"server_block", server_block},
               {"length_member", or_null(length_member)}});
    write_limits(json, options, sends ? run.host.inflight_max : 0);
    json.end_object();
}

void put_host(JsonWriter& json, const Replay& run) {
    const HostFacts& host = run.facts;
    const bool sends = run.sends();
    const HostChoice& choice = run.host;
    json.begin_object();
    put(json, {{"kernel", host.kernel},
               {"machine", host.machine},
               {"cpu_model", host.cpu_model},
               {"cpus_online", host.cpus_online},
               {"cpus_allowed", host.cpus_allowed},
               {"memory_bytes", host.memory_bytes},
               {"virtual_machine", host.virtual_machine},
               {"engine_cpu", choice.engine_cpu.cpu},
               {"engine_cpu_reason", choice.engine_cpu.reason},
               {"engines", sends ? choice.engines() : 0},
               {"other_engine_cpus", choice.other_cpus},
               {"writer_cpus", choice.writer_cpus},
               {"writer_gives_way", choice.writer.gives_way},
               {"placement", choice.placement},
               {"server_is_here", choice.server_is_here},
               {"wait", sends ? name_of(choice.wait) : ""},
               {"scheduling", sends ? name_of(choice.granted.scheduling) : ""},
               {"slice_ns", choice.granted.slice_ns},
               {"file_limit", choice.file_limit},
               {"compiler", __VERSION__},
               {"driver", sends ? name_of(choice.driver) : ""},
               {"driver_reason", or_null(choice.why_not_ring)}});
    json.end_object();
}

}  // namespace

std::string to_json(const Replay& run, const RunProgress& progress) {
    const Invocation& invocation = run.invocation;
    const ReplayOptions& options = invocation.options;
    const std::vector<RunSegment>& segments = progress.segments;
    const bool resumed = segments.size() > 1;
    // Of the first segment: what a run without `--resume` has alone.
    const auto clock = segments.empty() ? std::nullopt : std::optional(segments.front().clock);
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    put(json, {{"schema", record_schema},
               {"version", version()},
               {"run_id", resumed ? segments.front().run_id : invocation.run_id},
               {"command", resumed ? segments.front().command : invocation.command},
               {"arguments", invocation.arguments},
               {"records", or_null(invocation.records_path)},
               {"labels", put_named(options.results.labels)},
               {"rules", options.rules.chosen.texts},
               {"metrics_tables", options.metrics.table_texts},
               {"clock", clock},
               {"segments", segments}});
    put_trace(json.key("trace"), run);
    put(json, {{"load", run.workload.load}});
    put_shard(json.key("shard"), options.shard, run.workload.share);
    json.key("meeting");
    if (const std::string& earlier = progress.earlier_meeting; progress.meeting) {
        put_value(json, *progress.meeting);
    } else {
        json.raw(earlier.empty() ? "null" : earlier);
    }
    put_plan(json.key("plan"), run, progress.end);
    put_request(json.key("request"), run);
    put_preflight(json.key("preflight"), run);
    put(json,
        {{"verified", run.verified}, {"cache_probe", run.cache}, {"calibration", run.calibration}});
    put_host(json.key("host"), run);
    const DriverFacts driver = run.sends() ? run.driver->facts() : DriverFacts();
    put(json, {{"ring", put_named(driver.features)}});
    if (progress.engine) {
        put(json, {{"engine", *progress.engine}});
    }
    put(json, {{"end", progress.end}});
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
