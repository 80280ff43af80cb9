#include "cmd/replay/server/verify.hpp"

#include <cstdio>
#include <optional>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"
#include "engine/plan/dual_fire.hpp"

namespace driftless {

namespace {

constexpr std::size_t verify_timers = 8;
// Text that was cut with another tokenizer than the server's shows in the first long row.
constexpr std::uint32_t dataset_rows = 4;

int refuse(const ServerFlags& flags, const std::string& why) {
    complain("driftless: %s: %s", flags.verify_prompts > 0 ? "--verify-prompts" : "--dataset",
             why.c_str());
    return exit_preflight;
}

/// Rows to be verified: as many as asked; a few of a dataset's without being asked, where the
/// server can say.
std::uint32_t rows_to_verify(const ServerFlags& flags, const Server& server) {
    const bool unasked = server.words.text && server.findings.tokenize.has_value();
    return flags.verify_prompts == 0 && unasked ? dataset_rows : flags.verify_prompts;
}

void print_findings(const VerifyFindings& found) {
    std::printf("verify: %u prompts are exactly as long as recorded (%llu tokens)", found.rows,
                static_cast<unsigned long long>(found.tokens));
    if (found.pairs > 0) {
        std::printf("; %u pairs share as recorded (%llu tokens, %llu more by chance)", found.pairs,
                    static_cast<unsigned long long>(found.shared_tokens),
                    static_cast<unsigned long long>(found.shared_beyond));
    }
    std::printf("\n");
}

}  // namespace

OrExit<std::optional<VerifyFindings>> verify_prompts(ReplayParts& parts, Driver& driver) {
    const Invocation& invocation = parts.invocation();
    const ReplayOptions& options = invocation.options;
    const ServerFlags& flags = options.server;
    const Server& server = parts.server();
    const Workload& workload = parts.workload();
    const std::uint32_t rows = rows_to_verify(flags, server);
    if (rows == 0) {
        return std::optional<VerifyFindings>();
    }
    const bool ids = server.prompt == PromptKind::ids;
    if (ids && !server.findings.has_usage) {
        return refuse(flags,
                      "prompts are sent as token ids, and the server reports no usage to count "
                      "them; remove this flag");
    }
    if (!ids && !server.findings.tokenize) {
        return refuse(flags,
                      "the server has no known tokenize endpoint (/tokenize, /v1/tokenize); remove "
                      "this flag: every answer's usage is compared anyway");
    }
    // Ids are truly sent: with the salt of the run, rows would find them in the server's cache.
    PromptOptions apart = prompt_options(invocation, server);
    apart.cache_salt += " verify " + invocation.run_id;
    PromptBuilder others(workload.trace, parts.words(), apart);
    VerifyPlan plan;
    plan.server = asked_server(invocation, server);
    plan.model = server.body.model;
    if (ids) {
        plan.dialect = options.request.dialect;
        plan.api_path = options.server.targets.front().api_path;
        plan.body = server.body;
        plan.answer_tokens = server.findings.least_answer;
    } else {
        plan.form = *server.findings.tokenize;
        plan.own = server.findings.tokenize_overhead;
    }
    plan.overhead = server.findings.overhead;
    plan.trace = &workload.trace;
    const std::optional<Plan> own =  // of side a, the server that is asked
        workload.plan.dual ? std::optional(plan_of_side(workload.trace, workload.plan, Side::a))
                           : std::nullopt;
    plan.plan = own ? &*own : &workload.plan;
    plan.words = &parts.words();
    plan.prompts = ids ? &others : &parts.prompts();
    plan.rows_max = rows;
    plan.seed = options.workload.plan.seed;
    plan.first_request = server.findings.requests + 1;
    Loop loop(driver, verify_timers);
    Verification verification(loop, plan);
    const bool good = verification.run();
    const VerifyFindings found = verification.findings();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!good) {
        return refuse(
            flags,
            found.wrong +
                (ids ? "; check whether a proxy changes prompts, or remove the flag to run anyway"
                 : server.words.text
                     ? "; give this model's own --tokenizer, or remove --dataset"
                     : "; give the model's --tokenizer, or use --api openai-completions --prompt "
                       "ids, or remove --verify-prompts to run anyway"));
    }
    print_findings(found);
    return std::optional<VerifyFindings>(found);
}

}  // namespace driftless
