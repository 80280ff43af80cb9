#include "cmd/replay/run_file.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cmd/version.hpp"
#include "engine/io/sockets.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
    return text;
}

const char* name_of(OutputRule rule) {
    switch (rule) {
        case OutputRule::exact:
            return "exact";
        case OutputRule::cap:
            return "cap";
        case OutputRule::free:
            return "free";
    }
    return "";
}

const char* name_of(PromptKind kind) {
    return kind == PromptKind::text ? "text" : "ids";
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
    strings(json, "paths", file.options->files.paths);
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
    json.key("copies").unsigned_integer(load.copies);
    json.key("copies_within_ns").integer(load.within_ns);
    json.end_object();
}

void write_plan(JsonWriter& json, const RunFile& file) {
    const Plan& plan = *file.plan;
    const ReplayOptions& options = *file.options;
    json.key("plan").begin_object();
    json.key("seed").unsigned_integer(options.plan.seed);
    json.key("cache_salt");
    options.cache_salt.empty() ? json.null() : json.string(options.cache_salt);
    json.key("speed").string(options.speed_text);
    json.key("start_ns").optional_integer(options.plan.start_ns);
    json.key("end_ns").optional_integer(options.plan.end_ns);
    json.key("duration_ns").optional_integer(options.plan.duration_ns);
    json.key("spread").boolean(options.plan.spread);
    json.key("rows").unsigned_integer(plan.rows.size());
    json.key("rows_outside").unsigned_integer(plan.rows_outside);
    json.key("burst_rows_max").unsigned_integer(plan.burst_rows_max);
    json.key("input_tokens").unsigned_integer(plan.input_tokens);
    json.key("output_tokens").unsigned_integer(plan.output_tokens);
    json.key("expected_cached_tokens").unsigned_integer(plan.expected_cached_tokens);
    json.key("last_due_ns").integer(plan.last_due_ns);
    json.key("schedule_digest").string(hex(plan.schedule_digest));
    json.key("prompts_digest");
    file.end ? json.string(hex(file.end->prompts_digest)) : json.null();
    json.key("clamped_rows");
    file.end ? json.unsigned_integer(file.end->clamped_rows) : json.null();
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
    json.key("file").string(file.options->tokenizer);
    json.key("kind").string(figures.kind);
    json.key("vocabulary").unsigned_integer(figures.vocabulary);
    json.key("candidates").unsigned_integer(figures.candidates);
    json.key("strict").unsigned_integer(figures.strict);
    json.end_object();
}

void write_request(JsonWriter& json, const RunFile& file) {
    const ReplayOptions& options = *file.options;
    json.key("request").begin_object();
    json.key("urls").begin_array();
    for (const ReplayTarget& target : options.targets) {
        json.string(to_text(target.url) + target.api_path);
    }
    json.end_array();
    json.key("api").string(options.dialect->name);
    json.key("prompt").string(name_of(file.prompt));
    json.key("words").unsigned_integer(file.words);
    json.key("words_digest").string(hex(file.words_digest));
    write_tokenizer(json, file);
    json.key("output").string(name_of(options.output));
    json.key("continuous_usage").boolean(options.continuous_usage);
    json.key("overhead_pre").unsigned_integer(file.overhead.pre);
    json.key("overhead_post").unsigned_integer(file.overhead.post);
    json.key("timeout_connect_ns").integer(options.timeouts.connect_ns);
    json.key("timeout_first_byte_ns").integer(options.timeouts.first_byte_ns);
    json.key("timeout_idle_ns").integer(options.timeouts.idle_ns);
    json.key("timeout_total_ns").integer(options.timeouts.total_ns);
    json.key("grace_ns").integer(options.grace_ns);
    json.key("inflight_max").unsigned_integer(file.inflight_max);
    json.key("connections");
    options.connections ? json.unsigned_integer(*options.connections) : json.null();
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
    json.key("max_model_len").optional_integer(known(found->max_model_len));
    json.key("overhead_source").string(found->overhead_source);
    json.key("split_known").boolean(found->split_known);
    json.key("has_tokenize").boolean(found->tokenize.has_value());
    json.key("tokenize_form");
    found->tokenize ? json.string(name_of(*found->tokenize)) : json.null();
    json.key("has_usage").boolean(found->has_usage);
    json.key("has_cached_tokens").boolean(found->has_cached_tokens);
    json.key("ignore_eos").boolean(found->ignore_eos);
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

void write_clock(JsonWriter& json, const std::optional<ClockAnchors>& clock) {
    json.key("clock");
    if (!clock) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("zero_monotonic_ns").integer(clock->zero_monotonic_ns);
    json.key("zero_utc_ns").integer(clock->zero_utc_ns);
    json.key("zero_utc").string(utc_text(clock->zero_utc_ns));
    json.key("error_ns").integer(clock->error_ns);
    json.end_object();
}

void write_marks(JsonWriter& json, const RunMarks& marks) {
    json.key("memory").begin_object();
    json.key("resident_bytes_max").unsigned_integer(marks.resident_max);
    json.key("body_region_bytes").unsigned_integer(marks.body_region);
    json.key("body_bytes_max").unsigned_integer(marks.body_max);
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

void write_end(JsonWriter& json, const std::optional<RunEnd>& end) {
    json.key("end");
    if (!end) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rows_fired").unsigned_integer(end->rows_fired);
    json.key("records").unsigned_integer(end->records);
    json.key("interrupted").boolean(end->interrupted);
    json.key("connects").unsigned_integer(end->connects);
    json.key("connect_failures").unsigned_integer(end->connect_failures);
    json.key("stale_retries").unsigned_integer(end->stale_retries);
    json.key("closed_idle").unsigned_integer(end->closed_idle);
    json.key("system_calls").unsigned_integer(end->system_calls);
    json.key("operations").unsigned_integer(end->operations);
    json.key("no_buffers").unsigned_integer(end->no_buffers);
    json.key("overflows").unsigned_integer(end->overflows);
    json.key("guard_ns").integer(end->guard_ns);
    json.key("margin_ns").integer(end->margin_ns);
    write_marks(json, end->marks);
    write_stamps(json, end->stamps);
    json.key("verdict").string(end->verdict);
    strings(json, "verdict_reasons", end->verdict_reasons);
    json.key("exit_code").integer(end->exit_code);
    json.end_object();
}

}  // namespace

std::string utc_text(std::int64_t utc_ns) {
    const time_t whole = utc_ns / ns_per_second;
    tm parts{};
    (void)::gmtime_r(&whole, &parts);
    char text[64];
    std::snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                  static_cast<long long>(utc_ns % ns_per_second));
    return text;
}

std::string to_json(const RunFile& file) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(record_schema);
    json.key("version").string(version());
    json.key("run_id").string(file.run_id);
    strings(json, "command", file.command);
    named(json, "labels", file.options->labels);
    write_clock(json, file.clock);
    write_trace(json, file);
    write_load(json, file.load);
    write_plan(json, file);
    write_request(json, file);
    write_preflight(json, file.findings);
    write_verified(json, file.verified);
    write_host(json, file);
    if (file.engine) {
        write_engine(json, *file.engine);
    }
    write_end(json, file.end);
    json.end_object();
    text += '\n';
    return text;
}

Result<void> write_whole_file(const std::string& path, const std::string& text) {
    const std::string fresh = path + ".new";
    const int number = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (number < 0) {
        return error_from_errno(errno, "create a file");
    }
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t got = ::write(number, text.data() + written, text.size() - written);
        if (got < 0 && errno != EINTR) {
            const Error error = error_from_errno(errno, "write a file");
            ::close(number);
            (void)::unlink(fresh.c_str());
            return error;
        }
        written += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    const bool closed = ::fsync(number) == 0;
    ::close(number);
    if (!closed || ::rename(fresh.c_str(), path.c_str()) != 0) {
        return error_from_errno(errno, "write a file");
    }
    return {};
}

}  // namespace driftless
