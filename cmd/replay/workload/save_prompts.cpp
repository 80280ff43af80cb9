#include "cmd/replay/workload/save_prompts.hpp"

#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "engine/input/sink.hpp"
#include "proto/api/api_template.hpp"
#include "proto/core/check.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

namespace {

constexpr std::size_t write_bytes = std::size_t{256} << 10;
constexpr std::uint32_t tokens_a_step = 1 << 20;

int fail(const std::string& file, const Error& error) {
    return fail_new_file("--save-prompts", file, error);
}

/// The plan's rows in the order in which they are due, which is that of the armer.
std::vector<WrittenRow> planned_rows(const Plan& plan) {
    std::vector<WrittenRow> rows;
    rows.reserve(plan.rows.size());
    for (const Planned& planned : plan.rows) {
        rows.push_back({planned.row, planned.due_ns});
    }
    return rows;
}

/// Whom bodies are made for. Two servers that files describe are told apart by those files.
std::string api_of(const Dialect& dialect) {
    if (dialect.form == nullptr) {
        return dialect.name;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%s:%016" PRIx64, dialect.name, dialect.form->digest);
    return text;
}

std::string_view body_of(const RowUnderway& request) {
    return request.bytes.substr(request.bytes.find("\r\n\r\n") + 4);
}

}  // namespace

int save_prompts(ReplayParts& parts) {
    const ReplayOptions& options = parts.invocation().options;
    const std::string& file = options.prompts.save_prompts;
    const Workload& workload = parts.workload();
    if (file.empty()) {
        return exit_done;
    }
    RequestPass pass(parts, workload.plan, Schedule(workload.plan), "save");
    const Result<void> opened = pass.open();
    if (!opened) {
        return fail(file, opened.error());
    }
    Result<OutputSink> sink = OutputSink::create(file);
    if (!sink) {
        return fail(file, sink.error());
    }
    TraceTarget target = canonical_target;
    target.by_time = true;
    TraceWriter writer(workload.trace, target, planned_rows(workload.plan));
    const std::string api = api_of(*options.request.dialect);
    writer.replace_bodies(api);
    std::string text;
    writer.begin(text);
    Armer& armer = pass.armer();
    Schedule& schedule = pass.schedule();
    Result<void> written;
    while (written && armer.step(Instant{}, INT64_MAX, tokens_a_step)) {
        for (const Due* due = schedule.peek(); written && due != nullptr && armer.ready(*due);
             due = schedule.peek()) {
            RowUnderway& request = armer.take(schedule.take());
            CHECK(writer.next(text, body_of(request)));
            armer.discard(request);
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
        return fail(file, written.error());
    }
    for (const std::string& loss : writer.losses()) {
        print_line("loss: %s", loss.c_str());
    }
    print_line("prompts: %zu bodies saved in %s", workload.plan.rows.size(), file.c_str());
    return exit_done;
}

int check_bodies(const ReplayOptions& options, const Trace& trace) {
    struct stat facts{};
    if (!options.prompts.save_prompts.empty() &&
        ::lstat(options.prompts.save_prompts.c_str(), &facts) == 0) {
        complain("driftless: --save-prompts %s: already exists; name a new file or remove it",
                 options.prompts.save_prompts.c_str());
        return exit_usage;
    }
    if (trace.body_ends.empty()) {
        return exit_done;
    }
    if (const std::string api = api_of(*options.request.dialect);
        !trace.recorded && trace.body_api != api) {
        const bool by_file = trace.body_api.starts_with(options.request.dialect->name);
        complain(
            "driftless: the trace has bodies saved for --api %s, not %s; %s, or replay "
            "the original trace",
            trace.body_api.c_str(), api.c_str(),
            by_file ? "give the --template that they were made with" : "use that API");
        return exit_usage;
    }
    if (trace.copy_rows > 0) {
        complain(
            "driftless: --replicate: copies must share nothing, but copies of whole bodies or "
            "recorded requests are equal; replicate a trace of lengths and block ids, or ask for "
            "at most the %u rows of this one (--limit %u)",
            trace.copy_rows, trace.copy_rows);
        return exit_usage;
    }
    if (options.server.verify_prompts > 0) {
        complain(
            "driftless: --verify-prompts: the trace has whole bodies, not prompts to "
            "build; verify the trace that they were made from");
        return exit_usage;
    }
    return exit_done;
}

}  // namespace driftless
