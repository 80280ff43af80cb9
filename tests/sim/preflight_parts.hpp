/// What tests of the preflight share: plans, servers of the mock's, and one that is asked.
#pragma once

#include "engine/server/preflight.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/test.hpp"

namespace driftless::sim {

inline PreflightPlan plan_of(Api api, PromptKind kind, const WordTable& words) {
    PreflightPlan plan{.server = {.host = "simulated"}, .dialect = &dialect_of(api)};
    plan.api_path = plan.dialect->default_path;
    plan.body.prompt = kind;
    plan.words = &words;
    plan.server.run_id = "sim";
    return plan;
}

inline PreflightPlan chat_plan() {
    return plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
}

inline std::string notes_of(const PreflightFindings& found) {
    std::string all;
    for (const std::string& note : found.notes) {
        all += note + "\n";
    }
    return all;
}

/// Asks one server, by default in fair weather; every socket is closed behind it.
struct Asked {
    explicit Asked(const mock::CoreOptions& server, Api api = Api::openai_chat,
                   PromptKind kind = PromptKind::text,
                   const WordTable& words = WordTable::built_in())
        : Asked(server, plan_of(api, kind, words)) {}
    /// A server that gives these answers in turn.
    Asked(const std::vector<CannedAnswer>& answers, const PreflightPlan& plan,
          const Weather& weather = {})
        : Asked(mock::CoreOptions{}, plan, weather, {&answers, 1.0, 0, true}) {}
    Asked(const mock::CoreOptions& server, const PreflightPlan& plan, const Weather& weather = {},
          const Script& script = {}, std::uint64_t seed = 5, TlsWorld* tls = nullptr) {
        SimDriver driver(seed, weather, server, script, {}, tls);
        {
            Loop loop(driver, 8);
            const Instant begun = driver.now();
            Preflight preflight(loop, plan);
            ok = preflight.run();
            found = preflight.findings();
            failure = preflight.failure();
            took = driver.now() - begun;
        }
        EXPECT_EQ(std::tuple(driver.in_flight(), driver.sockets_open()), std::tuple(0u, 0u));
        EXPECT_EQ(driver.misread(), 0u) << seed;
        bytes = driver.bytes_delivered();
    }
    /// What was found, of one that succeeds.
    PreflightFindings sound() const {
        EXPECT_TRUE(ok) << failure.text;
        return found;
    }
    bool ok = false;
    PreflightFindings found;
    PreflightFailure failure;
    Duration took;
    std::uint64_t bytes = 0;  ///< that servers said
};

inline mock::CoreOptions server_with(mock::TokenizeForm form, std::uint32_t pre,
                                     std::uint32_t post) {
    return mock::CoreOptions{.overhead = {pre, post}, .tokenize = form};
}

}  // namespace driftless::sim
