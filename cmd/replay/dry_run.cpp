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
#include "cmd/whole_file.hpp"
#include "engine/io/sockets.hpp"

namespace driftless {

namespace {

struct Tokens {
    std::uint64_t input = 0;
    std::uint64_t output = 0;
};

/// Of the rows that this process would send: a shard's plan keeps the sums of the whole.
Tokens tokens_of(const Workload& workload) {
    const Plan& plan = workload.plan;
    if (!workload.share) {
        return {plan.input_tokens, plan.output_tokens};
    }
    Tokens own;
    for (const Planned& planned : plan.rows) {
        own.input += workload.trace.rows[planned.row].input_length;
        own.output += workload.trace.rows[planned.row].output_length;
    }
    return own;
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
        std::printf(
            "dry run: %zu rows; nothing was sent. The length of a run and the number of open "
            "requests depend on the answers: %s\n",
            plan.rows.size(), length_of_closed(*workload.waiting).c_str());
    } else {
        std::printf("dry run: %zu rows over %.3f s, at most %u at one instant; nothing was sent\n",
                    plan.rows.size(), static_cast<double>(plan.last_due_ns) / 1e9,
                    plan_to_estimate(workload).burst_rows_max);
    }
    const Tokens tokens = tokens_of(workload);
    std::printf("dry run: %llu prompt tokens in %llu request bytes, %llu output tokens\n",
                static_cast<unsigned long long>(tokens.input),
                static_cast<unsigned long long>(sums.request_bytes),
                static_cast<unsigned long long>(tokens.output));
    std::printf("dry run: %san infinite prefix cache would hit %llu prompt tokens (%.2f %%)\n",
                workload.share ? "all shards together: " : "",
                static_cast<unsigned long long>(plan.expected_cached_tokens),
                100.0 * static_cast<double>(plan.expected_cached_tokens) /
                    static_cast<double>(std::max<std::uint64_t>(plan.input_tokens, 1)));
    std::printf("dry run: overhead %u+%u (%s); %llu rows are shorter\n", findings.overhead.pre,
                findings.overhead.post, findings.overhead_source.c_str(),
                static_cast<unsigned long long>(sums.clamped_rows));
    std::printf("dry run: schedule digest %016llx, prompts digest %016llx\n",
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
