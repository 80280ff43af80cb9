#include "cmd/replay/run_json/run_file.hpp"

#include <cstdio>

#include "cmd/replay/credentials.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/run_json/run_file_end.hpp"
#include "cmd/replay/workload/dataset.hpp"
#include "cmd/trace_values.hpp"
#include "cmd/version.hpp"
#include "cmd/whole_file.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
    return text;
}

void strings(JsonWriter& json, const char* key, const std::vector<std::string>& values) {
    json.key(key).begin_array();
    for (const std::string& value : values) {
        json.string(value);
    }
    json.end_array();
}

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
    const Trace& trace = *file.trace;
    json.key("trace").begin_object();
    strings(json, "paths", file.options->workload.files.paths);
    json.key("name").string(trace.name);
    json.key("format").string(trace.format);
    json.key("time_unit").string(trace.time_unit);
    json.key("block_size").unsigned_integer(trace.block_size);
    json.key("tail_rule").string(trace.tail_rule == TailRule::ceil ? "ceil" : "floor");
    json.key("rows").unsigned_integer(trace.rows.size());
    json.key("bytes").unsigned_integer(trace.bytes);
    json.key("digest").string(hex(trace.digest));
    json.key("rows_unsorted").unsigned_integer(trace.rows_unsorted);
    json.key("surplus_ids").unsigned_integer(trace.surplus_ids);
    json.key("rows_uncovered").unsigned_integer(trace.rows_uncovered);
    json.key("unknown_keys").unsigned_integer(trace.unknown_keys);
    json.key("zero_outputs").unsigned_integer(trace.zero_outputs);
    strings(json, "notes", file.notes);
    json.end_object();
}

void write_load(JsonWriter& json, const LoadFigures& load) {
    json.key("load").begin_object();
    json.key("rows_read").unsigned_integer(load.rows_read);
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

void write_plan(JsonWriter& json, const RunFile& file) {
    const Plan& plan = *file.plan;
    const ReplayOptions& options = *file.options;
    json.key("plan").begin_object();
    json.key("seed").unsigned_integer(options.workload.plan.seed);
    json.key("cache_salt");
    options.prompts.cache_salt.empty() ? json.null() : json.string(options.prompts.cache_salt);
    json.key("speed").string(options.workload.speed_text);
    json.key("start_ns").optional_integer(options.workload.plan.start_ns);
    json.key("end_ns").optional_integer(options.workload.plan.end_ns);
    json.key("duration_ns").optional_integer(options.workload.plan.duration_ns);
    json.key("limit");
    options.workload.plan.limit ? json.unsigned_integer(*options.workload.plan.limit) : json.null();
    json.key("spread").boolean(options.workload.plan.spread);
    json.key("sessions").string(name_of(options.workload.files.sessions));
    json.key("rows").unsigned_integer(plan.rows.size());
    json.key("rows_waiting").unsigned_integer(file.waits.rows);
    json.key("rows_waiting_outside").unsigned_integer(file.waits.outside);
    json.key("least_ns");
    file.closed ? json.integer(file.waits.least_ns) : json.null();
    json.key("rows_outside").unsigned_integer(plan.rows_outside);
    json.key("burst_rows_max").unsigned_integer(plan.burst_rows_max);
    json.key("input_tokens").unsigned_integer(plan.input_tokens);
    json.key("output_tokens").unsigned_integer(plan.output_tokens);
    json.key("expected_cached_tokens").unsigned_integer(plan.expected_cached_tokens);
    json.key("longest_row_tokens").integer(longest_row(*file.trace, plan));
    json.key("last_due_ns").integer(file.closed ? file.waits.last_due_ns : plan.last_due_ns);
    json.key("schedule_digest").string(hex(plan.schedule_digest));
    json.key("prompts_digest");
    file.end&& file.end->prompts_digest ? json.string(hex(*file.end->prompts_digest)) : json.null();
    json.key("clamped_rows");
    file.end ? json.unsigned_integer(file.end->clamped_rows) : json.null();
    json.end_object();
}

void write_recorded(JsonWriter& json, const RunFile& file) {
    json.key("recorded_requests");
    if (!file.recorded) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows").unsigned_integer(file.recorded->requests);
    json.key("unknown_lengths").unsigned_integer(file.recorded->unbounded);
    for (const FixName& name : recorded_fix_names()) {
        json.key(name.key).unsigned_integer(file.recorded->fixes.*name.count);
    }
    json.end_object();
}

void write_tokenizer(JsonWriter& json, const RunFile& file) {
    json.key("tokenizer");
    if (file.tokenizer == nullptr) {
        json.null();
        return;
    }
    const WordFigures& figures = *file.tokenizer;
    json.begin_object();
    json.key("file").string(file.options->prompts.tokenizer);
    json.key("kind").string(figures.kind);
    json.key("vocabulary").unsigned_integer(figures.vocabulary);
    json.key("candidates").unsigned_integer(figures.candidates);
    json.key("strict").unsigned_integer(figures.strict);
    json.end_object();
}

void write_template(JsonWriter& json, const ReplayOptions& options) {
    json.key("template");
    if (!options.request.described) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("file").string(options.request.template_file);
    json.key("digest").string(hex(options.request.described->form.digest));
    json.end_object();
}

void write_request(JsonWriter& json, const RunFile& file) {
    const ReplayOptions& options = *file.options;
    json.key("request").begin_object();
    json.key("urls").begin_array();
    for (const ReplayTarget& target : options.server.targets) {
        json.string(shown_url(target));
    }
    json.end_array();
    json.key("connect_to");
    options.server.connect_to ? json.string(place_text(*options.server.connect_to)) : json.null();
    json.key("api").string(options.request.dialect->name);
    write_template(json, options);
    json.key("model").string(file.model);
    json.key("prompt").string(name_of(file.prompt));
    json.key("words").unsigned_integer(file.words);
    json.key("words_digest").string(hex(file.words_digest));
    write_tokenizer(json, file);
    write_recorded(json, file);
    write_text(json, options, file.text);
    json.key("output").string(name_of(options.request.output));
    json.key("stream").boolean(options.request.stream);
    json.key("continuous_usage").boolean(options.request.continuous_usage);
    json.key("overhead_pre").unsigned_integer(file.overhead.pre);
    json.key("overhead_post").unsigned_integer(file.overhead.post);
    json.key("split_unknown").boolean(file.split_unknown);
    json.key("server_block");
    file.server_block ? json.unsigned_integer(*file.server_block) : json.null();
    json.key("length_member");
    file.length_member.empty() ? json.null() : json.string(file.length_member);
    json.key("timeout_connect_ns").integer(options.sending.timeouts.connect.ns);
    json.key("timeout_first_byte_ns").integer(options.sending.timeouts.first_byte.ns);
    json.key("timeout_idle_ns").integer(options.sending.timeouts.idle.ns);
    json.key("timeout_total_ns").integer(options.sending.timeouts.total.ns);
    json.key("grace_ns").integer(options.sending.grace_ns);
    json.key("inflight_max").unsigned_integer(file.inflight_max);
    json.key("max_concurrency");
    options.sending.inflight_max ? json.unsigned_integer(file.inflight_max) : json.null();
    json.key("goodput").begin_object();
    json.key("ttft_ns").optional_integer(options.results.goodput.ttft_ns);
    json.key("tpot_ns").optional_integer(options.results.goodput.tpot_ns);
    json.key("e2e_ns").optional_integer(options.results.goodput.e2e_ns);
    json.end_object();
    json.key("connections");
    options.sending.connections ? json.unsigned_integer(*options.sending.connections) : json.null();
    json.key("balance").string(name_of(options.sending.balance));
    json.key("connection").string(name_of(options.sending.connection));
    json.end_object();
}

void write_preflight(JsonWriter& json, const PreflightFindings* found) {
    json.key("preflight");
    if (found == nullptr) {
        json.null();
        return;
    }
    const auto known = [](std::int64_t value) {
        return value < 0 ? std::optional<std::int64_t>{} : std::optional<std::int64_t>{value};
    };
    json.begin_object();
    json.key("model").string(found->model);
    strings(json, "models", found->models);
    json.key("server").string(found->server);
    json.key("owned_by").string(found->owned_by);
    json.key("keep_alive_timeout_s").optional_integer(found->keep_alive.timeout_s);
    json.key("keep_alive_max").optional_integer(found->keep_alive.max);
    json.key("max_model_len").optional_integer(known(found->max_model_len));
    json.key("max_input_tokens").optional_integer(known(found->max_input_tokens));
    json.key("overhead_source").string(found->overhead_source);
    json.key("split_known").boolean(found->split_known);
    json.key("split_source").string(found->split_source);
    json.key("server_block").optional_integer(known(found->server_block));
    json.key("server_block_source");
    found->server_block_source.empty() ? json.null() : json.string(found->server_block_source);
    json.key("has_tokenize").boolean(found->tokenize.has_value());
    json.key("tokenize_form");
    found->tokenize ? json.string(name_of(*found->tokenize)) : json.null();
    json.key("has_usage").boolean(found->has_usage);
    json.key("has_cached_tokens").boolean(found->has_cached_tokens);
    json.key("has_token_ids").boolean(found->has_token_ids);
    json.key("ignore_eos").boolean(found->ignore_eos);
    json.key("stream_options").boolean(found->stream_options);
    json.key("length_asked").optional_integer(known(found->length_asked));
    json.key("length_made").optional_integer(known(found->length_made));
    json.key("stream_chunks").optional_integer(known(found->stream_chunks));
    json.key("stream_receives").optional_integer(known(found->stream_receives));
    json.key("headers_before_token").boolean(found->headers_before_token);
    json.key("words_asked").optional_integer(known(found->words_asked));
    json.key("words_counted")
        .optional_integer(found->words_asked < 0 ? std::optional<std::int64_t>{}
                                                 : found->words_counted);
    json.key("words_exact").boolean(found->words == WordVerdict::exact);
    json.key("words_verdict").string(name_of(found->words));
    json.key("word_questions").unsigned_integer(found->word_questions);
    json.key("word_joins").unsigned_integer(found->joins);
    strings(json, "words_dropped", found->dropped_words);
    json.key("first_words_asked").unsigned_integer(found->first_words_asked);
    json.key("first_words").unsigned_integer(found->first_words.size());
    json.key("requests").unsigned_integer(found->requests);
    json.key("probe_ns").optional_integer(known(found->probe_ns));
    strings(json, "notes", found->notes);
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

void write_host(JsonWriter& json, const RunFile& file) {
    const HostFacts& host = file.host;
    json.key("host").begin_object();
    json.key("kernel").string(host.kernel);
    json.key("machine").string(host.machine);
    json.key("cpu_model").string(host.cpu_model);
    json.key("cpus_online").unsigned_integer(host.cpus_online);
    counts(json, "cpus_allowed", host.cpus_allowed);
    json.key("memory_bytes").unsigned_integer(host.memory_bytes);
    json.key("virtual_machine").boolean(host.virtual_machine);
    json.key("engine_cpu").unsigned_integer(file.engine_cpu);
    json.key("engine_cpu_reason").string(file.engine_cpu_reason);
    counts(json, "writer_cpus", file.writer_cpus);
    json.key("wait").string(file.wait);
    json.key("file_limit").unsigned_integer(file.file_limit);
    json.key("compiler").string(__VERSION__);
    json.end_object();
    named(json, "ring", file.ring);
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

std::string to_json(const RunFile& file) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(record_schema);
    json.key("version").string(version());
    const bool resumed = file.segments.size() > 1;
    json.key("run_id").string(resumed ? file.segments.front().run_id : file.run_id);
    strings(json, "command", resumed ? file.segments.front().command : file.command);
    strings(json, "arguments", file.arguments);
    json.key("records");
    file.records_path.empty() ? json.null() : json.string(file.records_path);
    named(json, "labels", file.options->results.labels);
    write_segments(json, file.segments);
    write_trace(json, file);
    write_load(json, file.load);
    write_plan(json, file);
    write_request(json, file);
    write_preflight(json, file.findings);
    write_verified(json, file.verified);
    write_calibration(json, file.calibration);
    write_host(json, file);
    if (file.engine) {
        write_engine(json, *file.engine);
    }
    write_run_end(json, file.end);
    json.end_object();
    escape_unprintable_json(text, 0);
    text += '\n';
    return text;
}

}  // namespace driftless
