/// What tests of the preflight share: plans, servers of the mock's, and one that is asked.
#pragma once

#include <optional>
#include <string>

#include "engine/server/preflight.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

inline PreflightPlan plan_of(Api api, PromptKind kind, const WordTable& words) {
    PreflightPlan plan;
    plan.server.host = "simulated";
    plan.dialect = &dialect_of(api);
    plan.api_path = plan.dialect->default_path;
    plan.body.prompt = kind;
    plan.words = &words;
    plan.server.run_id = "sim";
    return plan;
}

/// Asks one server in fair weather.
struct Asked {
    explicit Asked(const mock::CoreOptions& server, Api api = Api::openai_chat,
                   PromptKind kind = PromptKind::text,
                   const WordTable& words = WordTable::built_in(),
                   std::optional<Overhead> given = {}) {
        SimDriver driver(5, Weather{}, server);
        Loop loop(driver, 8);
        PreflightPlan plan = plan_of(api, kind, words);
        plan.overhead = given;
        Preflight preflight(loop, plan);
        ok = preflight.run();
        found = preflight.findings();
        failure = preflight.failure();
    }
    std::string notes() const {
        std::string all;
        for (const std::string& note : found.notes) {
            all += note + "\n";
        }
        return all;
    }
    bool ok = false;
    PreflightFindings found;
    PreflightFailure failure;
};

inline mock::CoreOptions server_with(mock::TokenizeForm form, std::uint32_t pre,
                                     std::uint32_t post) {
    mock::CoreOptions server;
    server.tokenize = form;
    server.overhead = {pre, post};
    return server;
}

}  // namespace driftless::sim
