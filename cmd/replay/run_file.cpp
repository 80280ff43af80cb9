#include "cmd/replay/run_file.hpp"

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

// Clauses; several may hold.
static std::string why_not(StampRule rule, const DriverFacts& driver, const LaneCounts& lanes) {
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

StampFacts stamp_facts(StampRule rule, const DriverFacts& driver, Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    StampFacts facts;
    facts.transmit = driver.transmit_stamps;
    facts.receive = driver.receive_stamps;
    facts.reason = why_not(rule, driver, lanes);
    facts.clock = run.clock();
    return facts;
}

// `put` finds these by the types of their values, so that they are in no namespace of the file.

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

static void put_value(JsonWriter& json, const TypedBudget& budget) {
    json.string(text_of(budget));
}

// What a run tells in run.json, for those who read it.

static void tell_trace(const Replay& run, RunFacts& facts) {
    const Trace& trace = run.workload.trace;
    RunDescription& told = facts.info.run;
    facts.info.trace = trace.name;
    facts.trace_digest = trace.digest;
    told.trace_paths = run.options().workload.files.paths;
    told.trace_rows = trace.rows.size();
    told.trace_dependencies = trace.dependencies.size();
}

static void tell_plan(const Replay& run, const std::optional<RunEnd>& end, RunFacts& facts) {
    const WorkloadFlags& flags = run.options().workload;
    const Workload& workload = run.workload;
    const Plan& plan = workload.plan;
    RunDescription& told = facts.info.run;
    told.seed = flags.plan.seed;
    told.cache_salt = run.invocation.cache_salt;
    told.speed = flags.speed_text;
    told.start_ns = flags.plan.start_ns;
    told.end_ns = flags.plan.end_ns;
    told.duration_ns = flags.plan.duration_ns;
    told.limit = flags.plan.limit;
    told.spread = flags.plan.spread;
    told.arrival = arrival_facts(flags, workload);
    told.sessions = session_choices.name_of(flags.files.sessions);
    facts.has_users = flags.users.users > 0;
    told.users = flags.users.users;
    told.for_ns = facts.has_users ? flags.users.for_ns : std::nullopt;
    facts.rows = plan.rows.size();
    if (workload.waiting) {
        told.trees = workload.waiting->trees;
        facts.least_ns = workload.waiting->figures.least_ns;
    }
    told.input_tokens = known_if(plan.inputs_unknown == 0, plan.input_tokens);
    facts.output_tokens = known_if(plan.outputs_unknown == 0, plan.output_tokens);
    facts.rows_not_foretold = plan.foretold.rows_unknown;
    facts.expected_cached_tokens = known_if(plan.foretold.rows > 0, plan.foretold.cached_tokens);
    facts.longest_row_tokens =
        workload.share ? workload.share->longest_row_tokens : longest_row(workload.trace, plan);
    told.last_due_ns = last_due_ns(workload.waiting, plan);
    facts.schedule_digest = plan.schedule_digest;
    if (end) {
        facts.prompts_digest = end->prompts_digest;
        facts.clamped_rows = end->clamped_rows;
    }
}

static void tell_against(const Replay& run, RunFacts& facts) {
    if (run.server.against) {
        const PreflightFindings& found = *run.server.against;
        facts.against = {shown_url(run.options().server.targets.back()), found.model,
                         found.overhead, found.overhead_source,
                         run.sends() && split_unknown(found)};
    }
}

static void tell_request(const Replay& run, RunFacts& facts) {
    const ReplayOptions& options = run.options();
    const RequestFlags& request = options.request;
    const Server& server = run.server;
    SummaryInfo& info = facts.info;
    for (const ReplayTarget& target : options.server.targets) {
        info.run.urls.push_back(shown_url(target));
    }
    if (options.server.connect_to) {
        facts.connect_to = place_text(*options.server.connect_to);
    }
    info.backend = request.dialect->name;
    if (request.described) {
        facts.template_file = request.template_file;
        facts.template_digest = request.described->form.digest;
    }
    info.model_id = server.findings.model;
    tell_against(run, facts);
    info.run.prompt = prompt_choices.name_of(server.prompt);
    facts.words = run.parts->words().size();
    facts.words_digest = run.parts->words().digest();
    info.tokenizer_id = server.words.selected ? options.prompts.tokenizer : "";
    facts.is_live = run.workload.live.has_value();
    if (server.words.text) {
        facts.dataset_digest = server.words.text->corpus.digest();
    }
    info.run.output = output_choices.name_of(request.output);
    facts.stream = request.stream;
    info.continuous_usage = request.continuous_usage;
    facts.overhead = server.findings.overhead;
    info.split_unknown = run.sends() && split_unknown(server.findings);
    info.server_block = run.workload.server_block;
    if (options.sending.inflight_max) {
        info.max_concurrency = run.sends() ? run.host.inflight_max : 0;
    }
    facts.goodput = options.results.goodput;
}

// What no program of ours reads again: for people.

static void put_dataset(JsonWriter& json, const Replay& run) {
    const LoadedCorpus& text = *run.server.words.text;
    const CorpusFigures& figures = text.figures;
    put(json, {{"file", run.options().prompts.dataset},
               {"column", or_null(text.column)},
               {"whole", text.is_whole},
               {"texts", figures.texts},
               {"empty_texts", figures.empty_texts},
               {"bytes", figures.bytes},
               {"bytes_left_out", figures.left_out_bytes},
               {"sections_left_out", figures.sections_left_out},
               {"words_put_in", figures.words_put_in},
               {"pieces", text.corpus.pieces()},
               {"tokens", text.corpus.tokens()}});
}

/// Warnings are behind its own notes.
static void put_preflight(JsonWriter& json, const Replay& run) {
    const PreflightFindings& found = run.server.findings;
    put(json, {{"probe_ns", known_if(found.probe_ns >= 0, found.probe_ns)}});
    std::vector<std::string> notes = found.notes;
    notes.insert(notes.end(), run.warnings.begin(), run.warnings.end());
    put(json, {{"notes", notes}});
}

static void put_found(JsonWriter& json, const PreflightFindings& found) {
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
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
               {"first_words", found.first_words.size()}});
}

static void put_users(JsonWriter& json, const WorkloadFlags& flags) {
    const UserRules& rules = flags.users;
    const auto& grow = flags.grow;
    put(json, {{"of", rules.single_rows ? "rows" : "trees"},
               {"first", rules.first()},
               {"grow", grow ? std::optional(text_of(*grow)) : std::nullopt},
               {"ramp_ns", rules.ramp_ns},
               {"order", tree_choices.name_of(rules.order)},
               {"recycle", rules.recycle},
               {"recycle_share", share_system_choices.name_of(rules.shares_system)},
               {"barrier", tree_barrier_choices.name_of(rules.tree_barrier)}});
}

static void put_users_end(JsonWriter& json, const UserRules& rules) {
    put(json, {{"drain_ns", rules.for_ns ? std::optional(rules.drain()) : std::nullopt},
               {"on_failure", text_of(rules.failures)},
               {"on_429", wait_for_429_choices.name_of(rules.failures.waits_for_429)},
               {"tree_idle_cap_ns", rules.idle.tree_ns},
               {"system_idle_cap_ns", rules.idle.system_ns}});
    json.key("start_within").begin_array();
    json.number(rules.start.from).number(rules.start.to).end_array();
    put(json, {{"start_by", start_by_turns_choices.name_of(rules.start.by_turns)},
               {"prime", prime_one_token_choices.name_of(rules.start.prime_one_token)},
               {"warmup_requests", rules.start.warmup_requests}});
}

/// Which requests their clients give up; null: none.
static void put_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules,
                        std::uint64_t seed) {
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
static void put_gaps(JsonWriter& json, const WorkloadFlags& flags,
                     const std::optional<Waiting>& waiting) {
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

/// Of the prompts to each side; equal ones got the same bytes. Null without --against, and where
/// not all were built.
static void put_side_digests(JsonWriter& json, const Plan& plan, const std::optional<RunEnd>& end) {
    if (!plan.dual || !end || !end->prompts_digest || !end->against_digest) {
        json.null();
        return;
    }
    put_object(json, {{"a", hex_text(*end->prompts_digest - *end->against_digest)},
                      {"b", hex_text(*end->against_digest)}});
}

static void put_placement(JsonWriter& json, const Replay& run) {
    const bool sends = run.sends();
    const HostChoice& choice = run.host;
    put(json, {{"engine_cpu", choice.engine_cpu.cpu},
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
}

static void put_counts(JsonWriter& json, const RunEnd& end) {
    put(json, {{"connects", end.lanes.connects},
               {"connect_failures", end.lanes.connect_failures},
               {"stale_retries", end.lanes.stale_retries},
               {"closed_idle", end.lanes.closed_idle},
               {"retired_idle", end.lanes.retired_idle},
               {"idle_limit_ns", end.idle_limit_ns},
               {"system_calls", end.driver.enters},
               {"operations", end.driver.submits},
               {"no_buffers", end.driver.no_buffers},
               {"overflows", end.driver.overflows},
               {"stepped_aside", end.stepped_aside},
               {"guard_ns", end.guard_ns},
               {"margin_ns", end.margin_ns}});
}

static void put_stamps(JsonWriter& json, const StampFacts& stamps, const LaneCounts& lanes) {
    put_object(json, {{"transmit", stamps.transmit},
                      {"receive", stamps.receive},
                      {"reason", or_null(stamps.reason)},
                      {"wire", lanes.wire_stamps},
                      {"missing", lanes.wire_missing},
                      {"refused", lanes.stamps_refused},
                      {"stray", lanes.stamps_stray},
                      {"clock_offset_ns", stamps.clock.offset_ns},
                      {"clock_error_ns", stamps.clock.error_ns},
                      {"clock_steps", stamps.clock.steps}});
}

/// Writes what is at a place of `walk_run`, which names the first key; false: it is none of
/// these.
static bool put_unread_work(std::string_view first, JsonWriter& json, const Replay& run,
                            const RunProgress& progress) {
    const Workload& workload = run.workload;
    const WorkloadFlags& flags = run.options().workload;
    const Trace& trace = workload.trace;
    if (first == "format") {
        put(json, {{"format", trace.format},
                   {"time_unit", trace.time_unit},
                   {"block_size", trace.block_size},
                   {"tail_rule", trace.tail_rule == TailRule::ceil ? "ceil" : "floor"}});
    } else if (first == "bytes") {
        put(json, {{"bytes", trace.bytes}});
    } else if (first == "rows_unsorted") {
        put(json, {{"rows_unsorted", trace.rows_unsorted},
                   {"surplus_ids", trace.surplus_ids},
                   {"rows_uncovered", trace.rows_uncovered},
                   {"unknown_keys", trace.unknown_keys},
                   {"zero_outputs", trace.zero_outputs},
                   {"notes", workload.notes}});
    } else if (first == "load") {
        put(json, {{"load", workload.load}});
    } else if (first == "of") {
        put_users(json, flags);
    } else if (first == "drain_ns") {
        put_users_end(json, flags.users);
    } else if (first == "rows_waiting") {
        const WaitFigures waits = workload.waiting ? workload.waiting->figures : WaitFigures();
        put(json, {{"rows_waiting", waits.rows}, {"rows_waiting_outside", waits.outside}});
        put_gaps(json.key("gaps"), flags, workload.waiting);
    } else if (first == "rows_outside") {
        put(json, {{"rows_outside", workload.plan.rows_outside},
                   {"burst_rows_max", workload.plan.burst_rows_max}});
    } else if (first == "side_digests") {
        put_side_digests(json.key("side_digests"), workload.plan, progress.end);
    } else {
        return false;
    }
    return true;
}

static bool put_unread_request(std::string_view first, JsonWriter& json, const Replay& run) {
    const SendingFlags& sending = run.options().sending;
    if (first == "kind") {
        const WordFigures& figures = run.server.words.selected->figures;
        put(json, {{"kind", figures.kind},
                   {"vocabulary", figures.vocabulary},
                   {"candidates", figures.candidates},
                   {"strict", figures.strict}});
    } else if (first == "recorded_requests") {
        put(json, {{"recorded_requests", run.workload.recorded}});
    } else if (first == "keep") {
        put(json, {{"keep", text_of(run.options().request.live_keep)},
                   {"conversations", run.workload.live->figures.conversations},
                   {"turns", run.workload.live->figures.turns},
                   {"edited", run.workload.live->figures.edited}});
    } else if (first == "file") {
        put_dataset(json, run);
    } else if (first == "length_member") {
        put(json, {{"length_member", or_null(run.sends() ? run.server.body.length_member : "")},
                   {"timeout_connect_ns", sending.timeouts.connect.ns},
                   {"timeout_first_byte_ns", sending.timeouts.first_byte.ns},
                   {"timeout_idle_ns", sending.timeouts.idle.ns},
                   {"timeout_total_ns", sending.timeouts.total.ns},
                   {"grace_ns", sending.grace_ns},
                   {"inflight_max", run.sends() ? run.host.inflight_max : 0}});
    } else if (first == "budget_input") {
        put(json,
            {{"budget_input", sending.budget_input}, {"budget_output", sending.budget_output}});
        put_abandon(json.key("abandon"), sending.abandon, run.options().workload.plan.seed);
    } else if (first == "connections") {
        put(json, {{"connections", sending.connections},
                   {"balance", sending.balance},
                   {"connection", sending.connection}});
    } else {
        return false;
    }
    return true;
}

static bool put_unread_rest(std::string_view first, JsonWriter& json, const Replay& run,
                            const RunProgress& progress) {
    const std::vector<RunSegment>& segments = progress.segments;
    if (first == "version") {
        const bool resumed = segments.size() > 1;
        const Invocation& call = run.invocation;
        put(json, {{"version", version()},
                   {"run_id", resumed ? segments.front().run_id : call.run_id},
                   {"command", resumed ? segments.front().command : call.command}});
    } else if (first == "clock") {  // what a run without `--resume` has alone
        put(json,
            {{"clock", segments.empty() ? std::nullopt : std::optional(segments.front().clock)}});
    } else if (first == "model") {
        put_found(json, run.server.findings);
    } else if (first == "probe_ns") {
        put_preflight(json, run);
    } else if (first == "tokens") {
        put(json, {{"tokens", run.verified->tokens},
                   {"pairs", run.verified->pairs},
                   {"shared_tokens", run.verified->shared_tokens},
                   {"shared_beyond", run.verified->shared_beyond}});
    } else if (first == "engine_cpu") {
        put_placement(json, run);
    } else if (first == "ring") {
        const DriverFacts driver = run.sends() ? run.driver->facts() : DriverFacts();
        put(json, {{"ring", put_named(driver.features)}});
        if (progress.engine) {
            put(json, {{"engine", *progress.engine}});
        }
    } else if (first == "connects") {
        put_counts(json, *progress.end);
    } else if (first == "idle_caps") {
        put(json, {{"idle_caps", progress.end->idle}, {"memory", progress.end->marks}});
        put_stamps(json.key("kernel_stamps"), progress.end->stamps, progress.end->lanes);
        put(json, {{"tls", progress.end->tls}});
    } else if (first == "exit_code") {
        put(json, {{"exit_code", progress.end->exit_code}});
    } else {
        return false;
    }
    return true;
}

namespace {

class RunWriter : public MemberWriter {
  public:
    RunWriter(JsonWriter& json, const Replay& run, const RunProgress& progress)
        : MemberWriter(json), run_(run), progress_(progress) {}

    void in(std::string_view key, int, auto inner) {
        json_.key(key).begin_object();
        inner();
        json_.end_object();
    }
    void in_known(std::string_view key, int since, bool known, auto inner) {
        known ? in(key, since, inner) : void(json_.key(key).null());
    }
    void goodput(std::string_view key, int since, const GoodputRules& rules) {
        GoodputFacts goodput{common_limits(rules), rules};
        std::erase_if(goodput.groups, [](const GoodputRule& rule) { return !rule.key; });
        value(key, since, goodput);
    }
    void unread(std::string_view first) {
        CHECK(put_unread_work(first, json_, run_, progress_) ||
              put_unread_request(first, json_, run_) ||
              put_unread_rest(first, json_, run_, progress_));
    }

  private:
    const Replay& run_;
    const RunProgress& progress_;
};

}  // namespace

RunFacts facts_of(const Replay& run, const RunProgress& progress) {
    const ReplayOptions& options = run.options();
    RunFacts facts;
    facts.schema = record_schema;
    facts.arguments = run.invocation.arguments;
    facts.records_path = run.invocation.records_path;
    facts.info.labels = options.results.labels;
    facts.rule_texts = options.rules.chosen.texts;
    facts.metrics_tables = options.metrics.table_texts;
    facts.segments = progress.segments;
    tell_trace(run, facts);
    if (const auto& share = run.workload.share) {
        facts.shard = ShardFacts{.index = share->place.index,
                                 .count = share->place.count,
                                 .from = options.shard.from,
                                 .plan_rows = share->plan_rows};
    }
    facts.meeting = progress.meeting;
    tell_plan(run, progress.end, facts);
    tell_request(run, facts);
    if (run.sends() && options.server.preflight) {
        facts.preflight_requests = run.server.findings.requests;
    }
    if (run.verified) {
        facts.verified_rows = run.verified->rows;
    }
    facts.info.cache_probe = run.cache;
    facts.calibration = run.calibration;
    facts.host = run.facts;
    facts.ended = progress.end.has_value();
    facts.end = progress.end.value_or(RunEnd());
    settle(facts);
    return facts;
}

std::string to_json(const Replay& run, const RunProgress& progress) {
    std::string text;
    JsonWriter json(text);
    RunWriter fields(json, run, progress);
    const RunFacts facts = facts_of(run, progress);
    json.begin_object();
    walk_run(fields, facts);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
