/// Replays that send nothing: `--dry-run`, and the requests written as a trace (`--save-prompts`).

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cmd/base/files.hpp"
#include "cmd/replay/replay.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/timing_notes.hpp"
#include "engine/plan/compressed_files.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// Of the rows that this process would send: a shard's plan keeps the sums of the whole.
static std::string tokens_of(const Workload& workload, std::uint32_t TraceRow::* length) {
    std::uint64_t sum = 0;
    bool is_whole = true;
    for (const Planned& planned : workload.plan.rows) {
        const std::uint32_t tokens = workload.trace.rows[planned.row].*length;
        sum += tokens;
        is_whole = is_whole && tokens > 0;
    }
    return is_whole   ? std::to_string(sum)
           : sum == 0 ? "unknown"
                      : "at least " + std::to_string(sum);
}

/// What the rows would hit of which that is known.
static std::string hits_text(const ForetoldHits& hits) {
    if (hits.rows == 0) {
        return "hits of a prefix cache are not known: the prompts are recorded text";
    }
    const std::string text = fmt::format(
        "an infinite prefix cache would hit {} prompt tokens ({:.2f} %)", hits.cached_tokens,
        100.0 * static_cast<double>(hits.cached_tokens) /
            static_cast<double>(std::max<std::uint64_t>(hits.input_tokens, 1)));
    return text + (hits.rows_unknown == 0 ? std::string()
                                          : " of the " + std::to_string(hits.rows) +
                                                " rows that are not recorded text");
}

/// What run.json says of rows that were armed and not sent.
static std::string json_of(const Replay& run, const PromptSums& sums) {
    RunProgress progress;
    progress.end.emplace();
    progress.end->prompts_digest = sums.digest;
    progress.end->against_digest = sums.against_digest;
    progress.end->clamped_rows = sums.clamped_rows;
    return to_json(run, progress);
}

int execute_dry_run(Replay& run) {
    run.quiet.end();  // its output is the result
    const std::string& out = run.options().results.out;
    const OrExit<PromptSums> summed = sum_prompts(*run.parts);
    if (!summed) {
        return summed.exit_code();
    }
    const PromptSums& sums = summed.value();
    const PreflightFindings& findings = run.server.findings;
    const Workload& workload = run.workload;
    const Plan& plan = workload.plan;
    if (workload.waiting) {
        print_line(
            "dry run: %zu rows; nothing was sent. The length of a run and the number of open "
            "requests depend on the answers: %s",
            plan.rows.size(), length_of_closed(*workload.waiting).c_str());
    } else {
        print_line("dry run: %zu rows over %.3f s, at most %u at one instant; nothing was sent",
                   plan.rows.size(), static_cast<double>(plan.last_due_ns) / 1e9,
                   plan_to_estimate(workload).burst_rows_max);
    }
    print_line("dry run: %s prompt tokens in %llu request bytes, %s output tokens",
               tokens_of(workload, &TraceRow::input_length).c_str(),
               static_cast<unsigned long long>(sums.request_bytes),
               tokens_of(workload, &TraceRow::output_length).c_str());
    print_line("dry run: %s%s", workload.share ? "all shards together: " : "",
               hits_text(plan.foretold).c_str());
    print_line("dry run: overhead %u+%u (%s); %llu rows are shorter", findings.overhead.pre,
               findings.overhead.post, findings.overhead_source.c_str(),
               static_cast<unsigned long long>(sums.clamped_rows));
    print_line("dry run: schedule digest %016llx, prompts digest %016llx",
               static_cast<unsigned long long>(plan.schedule_digest),
               static_cast<unsigned long long>(sums.digest));
    if (out.empty()) {
        return exit_done;
    }
    const Result<NewFolder> taken = take_new_folder(out);
    if (!taken) {
        return fail_folder(out, taken.error());
    }
    const Result<void> written = write_whole_file(out + "/run.json", json_of(run, sums));
    if (!written) {
        if (taken.value().made_by_a_run) {
            (void)::rmdir(out.c_str());
        }
        return fail_host((out + "/run.json").c_str(), written.error());
    }
    return exit_done;
}

static constexpr std::size_t write_bytes = std::size_t{256} << 10;

static int fail(const std::string& file, const Error& error) {
    return fail_new_file("--save-prompts", file, error);
}

/// The plan's rows in the order in which they are due, which is that of the armer.
static std::vector<WrittenRow> planned_rows(const Plan& plan) {
    std::vector<WrittenRow> rows;
    rows.reserve(plan.rows.size());
    for (const Planned& planned : plan.rows) {
        rows.push_back({planned.row, planned.due_ns});
    }
    return rows;
}

/// Whom bodies are made for. Two servers that files describe are told apart by those files.
static std::string api_of(const Dialect& dialect) {
    return dialect.form == nullptr ? dialect.name
                                   : dialect.name + (":" + hex_text(dialect.form->digest));
}

static std::string_view body_of(const RowUnderway& request) {
    return request.bytes.substr(request.bytes.find("\r\n\r\n") + 4);
}

int save_prompts(Replay& run) {
    const ReplayOptions& options = run.options();
    const std::string& file = options.prompts.save_prompts;
    const Workload& workload = run.workload;
    if (file.empty()) {
        return exit_done;
    }
    RequestPass pass(*run.parts, workload.plan, Schedule(workload.plan), "save");
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
    Result<void> written;
    pass.arm_all([&](const RowUnderway& request) {
        CHECK(writer.next(text, body_of(request)));
        if (text.size() >= write_bytes) {
            written = sink.value().write(text);
            text.clear();
        }
        return bool(written);
    });
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

int check_bodies(Replay& run) {
    const ReplayOptions& options = run.options();
    const Trace& trace = run.workload.trace;
    struct stat facts{};
    if (!options.prompts.save_prompts.empty() &&
        ::lstat(options.prompts.save_prompts.c_str(), &facts) == 0) {
        return refuse(exit_usage,
                      "driftless: --save-prompts %s: already exists; name a new file or remove it",
                      options.prompts.save_prompts.c_str());
    }
    if (trace.body_ends.empty()) {
        return exit_done;
    }
    if (const std::string api = api_of(*options.request.dialect);
        !trace.recorded && trace.body_api != api) {
        const bool by_file = trace.body_api.starts_with(options.request.dialect->name);
        return refuse(exit_usage,
                      "driftless: the trace has bodies saved for --api %s, not %s; %s, or replay "
                      "the original trace",
                      trace.body_api.c_str(), api.c_str(),
                      by_file ? "give the --template that they were made with" : "use that API");
    }
    if (trace.copy_rows > 0) {
        return refuse(
            exit_usage,
            "driftless: --replicate: copies must share nothing, but copies of whole bodies or "
            "recorded requests are equal; replicate a trace of lengths and block ids, or ask for "
            "at most the %u rows of this one (--limit %u)",
            trace.copy_rows, trace.copy_rows);
    }
    if (options.server.verify_prompts > 0) {
        return refuse(exit_usage,
                      "driftless: --verify-prompts: the trace has whole bodies, not prompts to "
                      "build; verify the trace that they were made from");
    }
    return exit_done;
}

}  // namespace driftless
