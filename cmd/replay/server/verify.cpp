#include "cmd/replay/server/verify.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"

namespace driftless {

namespace {

constexpr std::size_t verify_timers = 8;
// Text that was cut with another tokenizer than the server's shows in the first long row.
constexpr std::uint32_t dataset_rows = 4;

int refuse(const ReplayOptions& options, const std::string& why) {
    std::fprintf(stderr, "driftless: %s: %s\n",
                 options.server.verify_prompts > 0 ? "--verify-prompts" : "--dataset", why.c_str());
    return exit_preflight;
}

/// Rows to be verified: as many as asked; a few of a dataset's without being asked, where the
/// server can say.
std::uint32_t rows_to_verify(const ReplayOptions& options, const Server& server) {
    const bool unasked = server.text && server.findings.tokenize.has_value();
    return options.server.verify_prompts == 0 && unasked ? dataset_rows
                                                         : options.server.verify_prompts;
}

void print_findings(const VerifyFindings& found) {
    std::printf("verify: %u prompts are exactly as long as recorded (%llu tokens)", found.rows,
                static_cast<unsigned long long>(found.tokens));
    if (found.pairs > 0) {
        std::printf("; %u pairs share what the trace says (%llu tokens, %llu beyond by chance)",
                    found.pairs, static_cast<unsigned long long>(found.shared_tokens),
                    static_cast<unsigned long long>(found.shared_beyond));
    }
    std::printf("\n");
}

}  // namespace

int verify_prompts(const Server& server, ReplayParts& parts, Driver& driver,
                   const std::string& run_id, std::optional<VerifyFindings>& found) {
    const ReplayOptions& options = parts.options();
    const Workload& workload = parts.workload();
    if (rows_to_verify(options, server) == 0) {
        return exit_done;
    }
    const bool ids = server.prompt == PromptKind::ids;
    if (ids && !server.findings.has_usage) {
        return refuse(options,
                      "prompts go as token ids, and the server reports no usage that would count "
                      "them; remove this flag");
    }
    if (!ids && !server.findings.tokenize) {
        return refuse(
            options,
            "the server has no tokenize endpoint that is understood (/tokenize, /v1/tokenize); "
            "remove this flag: every answer's usage is compared anyway");
    }
    // Ids are truly sent: with the salt of the run, rows would find them in the server's cache.
    PromptOptions apart = prompt_options(options, server);
    apart.cache_salt += " verify " + run_id;
    PromptBuilder others(workload.trace, parts.words(), apart);
    VerifyPlan plan;
    plan.server = asked_server(options, server, run_id);
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
    plan.plan = &workload.plan;
    plan.words = &parts.words();
    plan.prompts = ids ? &others : &parts.prompts();
    plan.rows_max = rows_to_verify(options, server);
    plan.seed = options.workload.plan.seed;
    plan.first_request = server.findings.requests + 1;
    Loop loop(driver, verify_timers);
    Verification verification(loop, plan);
    const bool good = verification.run();
    found = verification.findings();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!good) {
        return refuse(options, found->wrong +
                                   (ids ? "; does something in front of the server change prompts?"
                                          " Remove the flag to run all the same"
                                    : server.text ? "; give the --tokenizer of this very model, or "
                                                    "remove --dataset"
                                                  : "; give the model's --tokenizer, or use --api "
                                                    "openai-completions --prompt ids, or remove "
                                                    "--verify-prompts to run all the same"));
    }
    print_findings(*found);
    return exit_done;
}

}  // namespace driftless
