#include "cmd/replay/save_prompts.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/parts.hpp"
#include "engine/input/sink.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/canonical.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;
constexpr std::uint32_t tokens_a_step = 1 << 20;

int fail(const ReplayOptions& options, const Error& error) {
    std::fprintf(stderr, "driftless: --save-prompts %s: %s failed (%s)\n",
                 options.save_prompts.c_str(), error.doing,
                 error.sys_errno != 0 ? std::strerror(error.sys_errno) : name_of(error.code));
    return error.code == ErrorCode::exists ? exit_usage : exit_host;
}

void append_header(std::string& out, const Trace& trace, const ReplayOptions& options) {
    JsonWriter json(out);
    json.begin_object();
    json.key("schema").string(canonical_schema);
    json.key("version").unsigned_integer(canonical_version);
    json.key("block_size").unsigned_integer(trace.block_size);
    json.key("tail_rule").string(trace.tail_rule == TailRule::ceil ? "ceil" : "floor");
    json.key("source").begin_object();
    json.key("name").string(trace.name);
    json.key("format").string(trace.format);
    json.end_object();
    if (trace.rows_uncovered > 0) {
        json.key("uncovered").boolean(true);
    }
    json.key("body_api").string(options.dialect->name);
    json.end_object();
    out += '\n';
}

void append_row(std::string& out, const Trace& trace, const Planned& planned,
                std::string_view body) {
    const TraceRow& row = trace.rows[planned.row];
    JsonWriter json(out);
    json.begin_object();
    json.key("at_ns").integer(planned.due_ns);
    if (row.input_length > 0) {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (row.ids_count > 0) {
        json.key("hash_ids").begin_array();
        for (const std::uint64_t id : trace.ids_of(row)) {
            json.unsigned_integer(id);
        }
        json.end_array();
        json.key("name_space").unsigned_integer(row.name_space);
    }
    if (row.session != no_session) {
        json.key("session").string(trace.sessions[row.session]);
        json.key("session_number").unsigned_integer(row.session);
    }
    if (row.turn != 0) {
        json.key("turn").unsigned_integer(row.turn);
    }
    json.key("body").raw(body);
    json.end_object();
    out += '\n';
}

std::string_view body_of(const ArmedRequest& request) {
    return request.bytes.substr(request.bytes.find("\r\n\r\n") + 4);
}

}  // namespace

int save_prompts(const ReplayOptions& options, const Workload& workload, const Server& server) {
    if (options.save_prompts.empty()) {
        return exit_done;
    }
    ReplayParts parts(options, workload, server, "save");
    const Result<void> opened = parts.open();
    if (!opened) {
        return fail(options, opened.error());
    }
    Result<OutputSink> sink = OutputSink::create(options.save_prompts);
    if (!sink) {
        return fail(options, sink.error());
    }
    std::string text;
    append_header(text, workload.trace, options);
    Armer& armer = parts.armer();
    Result<void> written;
    while (written && armer.step(Instant{}, INT64_MAX, tokens_a_step)) {
        while (written && armer.front() != nullptr) {
            const ArmedRequest request = armer.take_front();
            append_row(text, workload.trace, workload.plan.rows[request.planned], body_of(request));
            armer.give_back(request);
            if (text.size() >= write_bytes) {
                written = sink.value().write(text);
                text.clear();
            }
        }
    }
    if (written) {
        written = sink.value().write(text);
    }
    if (written) {
        written = sink.value().finish();
    }
    if (!written) {
        return fail(options, written.error());
    }
    std::printf("prompts: %zu bodies saved in %s\n", workload.plan.rows.size(),
                options.save_prompts.c_str());
    return exit_done;
}

int check_bodies(const ReplayOptions& options, const Trace& trace) {
    struct stat facts{};
    if (!options.save_prompts.empty() && ::lstat(options.save_prompts.c_str(), &facts) == 0) {
        std::fprintf(stderr,
                     "driftless: --save-prompts %s: exists already; name a new file or remove it\n",
                     options.save_prompts.c_str());
        return exit_usage;
    }
    if (trace.body_ends.empty()) {
        return exit_done;
    }
    if (!trace.recorded && trace.body_api != options.dialect->name) {
        std::fprintf(stderr,
                     "driftless: the trace holds bodies that were saved for --api %s, not %s; say "
                     "so, or replay the trace that they were made from\n",
                     trace.body_api.c_str(), options.dialect->name);
        return exit_usage;
    }
    if (options.load.copies > 1) {
        std::fprintf(stderr,
                     "driftless: --replicate: copies share nothing, but whole bodies and recorded "
                     "requests say the same; replicate a trace of lengths and block ids\n");
        return exit_usage;
    }
    if (options.verify_prompts > 0) {
        std::fprintf(stderr,
                     "driftless: --verify-prompts: the trace holds whole bodies, not prompts that "
                     "are built; verify the trace that they were made from\n");
        return exit_usage;
    }
    return exit_done;
}

}  // namespace driftless
