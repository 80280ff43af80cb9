#include "cmd/replay/run_file.hpp"

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/rate_values.hpp"
#include "cmd/replay/invocation.hpp"
#include "cmd/replay/pacing.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file_parts.hpp"
#include "cmd/replay/workload.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/utf8.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

namespace {

void write_reason(JsonWriter& json, const char* key, const std::string& reason) {
    json.key(key);
    reason.empty() ? json.null() : json.string(reason);
}

}  // namespace

EngineFacts settle_engine(const ThreadMeter& meter, bool realtime) {
    return {meter.why_no_instructions(), settle_memory(), realtime};
}

void write_engine(JsonWriter& json, const EngineFacts& facts) {
    json.key("engine").begin_object();
    json.key("instructions").boolean(facts.why_no_instructions.empty());
    write_reason(json, "instructions_reason", facts.why_no_instructions);
    json.key("realtime").boolean(facts.realtime);
    json.key("pages_present").boolean(facts.memory.present);
    json.key("pages_locked").boolean(facts.memory.locked);
    write_reason(json, "pages_reason", facts.memory.why_not);
    json.key("huge_page_bytes").unsigned_integer(facts.memory.huge_bytes);
    json.end_object();
}

namespace {

// Clauses; several may hold.
std::string why_not(StampRule rule, const UringDriver& driver, const LaneCounts& lanes) {
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
    if (rule == StampRule::full && !driver.receive_stamps()) {
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

StampFacts stamp_facts(StampRule rule, const UringDriver& driver, Run& run) {
    const LaneCounts& lanes = run.lane_counts();
    StampFacts facts;
    facts.transmit = driver.transmit_stamps();
    facts.receive = driver.receive_stamps();
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

void counts(JsonWriter& json, const char* key, const std::vector<std::uint32_t>& values) {
    json.key(key).begin_array();
    for (const std::uint32_t value : values) {
        json.unsigned_integer(value);
    }
    json.end_array();
}

void named(JsonWriter& json, const char* key, const NamedValues& values) {
    json.key(key).begin_object();
    for (const auto& [name, value] : values) {
        json.key(name).string(value);
    }
    json.end_object();
}

void write_trace(JsonWriter& json, const RunFile& file) {
    const Workload& workload = file.parts.workload();
    const Trace& trace = workload.trace;
    json.key("trace").begin_object();
    strings(json, "paths", file.parts.invocation().options.workload.files.paths);
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
    strings(json, "notes", workload.notes);
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

void write_plan(JsonWriter& json, const RunFile& file, const std::optional<RunEnd>& end) {
    const Invocation& invocation = file.parts.invocation();
    const WorkloadFlags& flags = invocation.options.workload;
    const Workload& workload = file.parts.workload();
    const Plan& plan = workload.plan;
    const WaitFigures waits = workload.waiting ? workload.waiting->figures : WaitFigures();
    json.key("plan").begin_object();
    json.key("seed").unsigned_integer(flags.plan.seed);
    json.key("cache_salt");
    invocation.cache_salt.empty() ? json.null() : json.string(invocation.cache_salt);
    json.key("speed").string(flags.speed_text);
    json.key("start_ns").optional_integer(flags.plan.start_ns);
    json.key("end_ns").optional_integer(flags.plan.end_ns);
    json.key("duration_ns").optional_integer(flags.plan.duration_ns);
    json.key("limit");
    flags.plan.limit ? json.unsigned_integer(*flags.plan.limit) : json.null();
    json.key("spread").boolean(flags.plan.spread);
    write_arrivals(json, flags, workload);
    json.key("sessions").string(name_of(flags.files.sessions));
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
    json.key("connections");
    sending.connections ? json.unsigned_integer(*sending.connections) : json.null();
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
    const PreflightFindings& found = server.against->findings;
    json.begin_object();
    json.key("url").string(shown_url(options.server.targets.back()));
    json.key("model").string(found.model);
    json.key("overhead_pre").unsigned_integer(found.overhead.pre);
    json.key("overhead_post").unsigned_integer(found.overhead.post);
    json.key("overhead_source").string(found.overhead_source);
    json.key("split_unknown").boolean(sends && split_unknown(found));
    json.end_object();
}

void write_request(JsonWriter& json, const RunFile& file) {
    const ReplayOptions& options = file.parts.invocation().options;
    const RequestFlags& request = options.request;
    const Server& server = file.parts.server();
    const bool sends = file.engine.has_value();
    const std::string length_member = sends ? server.body.length_member : "";
    const std::optional<std::uint32_t> server_block = file.parts.served().server_block;
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
    json.key("prompt").string(name_of(server.prompt));
    json.key("words").unsigned_integer(file.parts.words().size());
    json.key("words_digest").string(hex_text(file.parts.words().digest()));
    write_tokenizer(json, options.prompts.tokenizer, server.words.selected);
    write_recorded(json, file.parts.served().recorded);
    write_live(json, file.parts.served().live, file.parts.invocation().options.request.live_keep);
    write_text(json, options.prompts.dataset, server.words.text);
    json.key("output").string(name_of(request.output));
    json.key("stream").boolean(request.stream);
    json.key("continuous_usage").boolean(request.continuous_usage);
    json.key("overhead_pre").unsigned_integer(server.findings.overhead.pre);
    json.key("overhead_post").unsigned_integer(server.findings.overhead.post);
    json.key("split_unknown").boolean(sends && split_unknown(server.findings));
    json.key("server_block");
    server_block ? json.unsigned_integer(*server_block) : json.null();
    json.key("length_member");
    length_member.empty() ? json.null() : json.string(length_member);
    write_limits(json, options, sends ? file.engine->host.inflight_max : 0);
    json.end_object();
}

void write_host(JsonWriter& json, const RunFile& file) {
    const HostFacts& host = file.host;
    const bool sends = file.engine.has_value();
    const HostChoice choice = sends ? file.engine->host : HostChoice();
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
    json.end_object();
    named(json, "ring", sends ? file.engine->ring : NamedValues());
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
        strings(json, "command", segment.command);
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
    json.key("date");
    facts.date.empty() ? json.null() : json.string(facts.date);
    json.key("why_not");
    facts.why_not.empty() ? json.null() : json.string(facts.why_not);
    json.key("drift_ns").integer(facts.limits.drift_ns);
    json.key("measured_ns").integer(facts.measured_ns);
    json.key("taken_share").number(facts.taken_share);
    json.key("rank_ns").integer(facts.limits.rank_ns);
    json.key("drift_most_ns").integer(facts.limits.drift_most_ns);
    json.key("receive_delay_ns").integer(facts.limits.receive_delay_ns);
    json.key("wire_ns").integer(facts.limits.wire_ns);
    json.end_object();
}

}  // namespace

std::string to_json(const RunFile& file, const RunProgress& progress) {
    const Invocation& invocation = file.parts.invocation();
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(record_schema);
    json.key("version").string(version());
    const bool resumed = progress.segments.size() > 1;
    json.key("run_id").string(resumed ? progress.segments.front().run_id : invocation.run_id);
    strings(json, "command", resumed ? progress.segments.front().command : invocation.command);
    strings(json, "arguments", invocation.arguments);
    json.key("records");
    invocation.records_path.empty() ? json.null() : json.string(invocation.records_path);
    named(json, "labels", invocation.options.results.labels);
    strings(json, "rules", invocation.options.rules.chosen.texts);
    strings(json, "metrics_tables", invocation.options.metrics.table_texts);
    write_segments(json, progress.segments);
    write_trace(json, file);
    write_load(json, file.parts.workload().load);
    write_shard(json, invocation.options.shard, file.parts.workload().share);
    write_meeting(json, progress.meeting, progress.earlier_meeting);
    write_plan(json, file, progress.end);
    write_request(json, file);
    write_preflight(json, file.parts.server(), file.warnings);
    write_verified(json, file.verified);
    write_cache_probe(json, file.cache);
    write_calibration(json, file.calibration);
    write_host(json, file);
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
