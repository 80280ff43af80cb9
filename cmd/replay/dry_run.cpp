#include "cmd/replay/dry_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/replay/resume/same_run.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/workload/waiting.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/whole_file.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

namespace {

/// Of the rows that this process would send: a shard's plan keeps the sums of the whole.
std::string tokens_of(const Workload& workload, std::uint32_t TraceRow::* length) {
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
std::string hits_text(const ForetoldHits& hits) {
    if (hits.rows == 0) {
        return "hits of a prefix cache are not known: the prompts are recorded text";
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "an infinite prefix cache would hit %llu prompt tokens (%.2f %%)",
                  static_cast<unsigned long long>(hits.cached_tokens),
                  100.0 * static_cast<double>(hits.cached_tokens) /
                      static_cast<double>(std::max<std::uint64_t>(hits.input_tokens, 1)));
    return text + (hits.rows_unknown == 0 ? std::string()
                                          : " of the " + std::to_string(hits.rows) +
                                                " rows that are not recorded text");
}

/// What run.json says of rows that were armed and not sent.
std::string json_of(const ReplayParts& parts, const HostFacts& host, const PromptSums& sums) {
    RunProgress progress;
    progress.end.emplace();
    progress.end->prompts_digest = sums.digest;
    progress.end->against_digest = sums.against_digest;
    progress.end->clamped_rows = sums.clamped_rows;
    return to_json({parts, host, {}, {}, {}, {}}, progress);
}

}  // namespace

int execute_dry_run(ReplayParts& parts, const HostFacts& host) {
    const std::string& out = parts.invocation().options.results.out;
    const OrExit<PromptSums> summed = sum_prompts(parts);
    if (!summed) {
        return summed.exit_code();
    }
    const PromptSums& sums = summed.value();
    const PreflightFindings& findings = parts.server().findings;
    const Workload& workload = parts.workload();
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
    const Result<void> written = write_whole_file(out + "/run.json", json_of(parts, host, sums));
    if (!written) {
        if (taken.value().made_by_a_run) {
            (void)::rmdir(out.c_str());
        }
        return fail_host((out + "/run.json").c_str(), written.error());
    }
    return exit_done;
}

}  // namespace driftless
