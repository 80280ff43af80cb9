#include "cmd/replay/verify.hpp"

#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/stop.hpp"
#include "engine/io/loop.hpp"

namespace driftless {

namespace {

constexpr std::size_t verify_timers = 8;

int refuse(const std::string& why) {
    std::fprintf(stderr, "driftless: --verify-prompts: %s\n", why.c_str());
    return exit_preflight;
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

int verify_prompts(const ReplayOptions& options, const Workload& workload, const Server& server,
                   Driver& driver, const std::string& run_id,
                   std::optional<VerifyFindings>& found) {
    if (options.verify_prompts == 0) {
        return exit_done;
    }
    if (server.prompt == PromptKind::ids) {
        return refuse("prompts go as token ids, which need no verifying; leave the flag out");
    }
    if (!server.findings.tokenize) {
        return refuse(
            "the server has no tokenize endpoint that is understood (/tokenize, /v1/tokenize); "
            "leave the flag out: every answer's usage is compared all the same");
    }
    ReplayParts parts(options, workload, server, run_id);
    VerifyPlan plan;
    plan.server = asked_server(options, server, run_id);
    plan.model = server.findings.model;
    plan.form = *server.findings.tokenize;
    plan.own = server.findings.tokenize_overhead;
    plan.overhead = server.findings.overhead;
    plan.trace = &workload.trace;
    plan.plan = &workload.plan;
    plan.words = &parts.words();
    plan.prompts = &parts.prompts();
    plan.rows_max = options.verify_prompts;
    plan.seed = options.plan.seed;
    plan.first_request = server.findings.requests + 1;
    Loop loop(driver, verify_timers);
    Verification verification(loop, plan);
    const bool good = verification.run();
    found = verification.findings();
    if (stop_requests().load() > 0) {
        return exit_interrupted;
    }
    if (!good) {
        return refuse(found->wrong +
                      "; give the model's --tokenizer, or use --api openai-completions --prompt "
                      "ids, or leave the flag out to run all the same");
    }
    print_findings(*found);
    return exit_done;
}

}  // namespace driftless
