// The preflight against a simulated server: it learns model, overhead and split, and that every
// word is one token; it says why where it cannot.
#include "engine/preflight/preflight.hpp"

#include <gtest/gtest.h>

#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {
namespace {

PreflightPlan plan_of(Api api, PromptKind kind, const WordTable& words) {
    PreflightPlan plan;
    plan.host = "simulated";
    plan.dialect = &dialect_of(api);
    plan.api_path = plan.dialect->default_path;
    plan.body.prompt = kind;
    plan.words = &words;
    plan.run_id = "sim";
    return plan;
}

// The template's tokens are found on the right side of the prompt, and all 512 words count as one.
TEST(Preflight, LearnsTheOverheadAndItsSplit) {
    mock::CoreOptions server;
    server.overhead = {5, 3};
    SimDriver driver(1, Weather{}, server);
    Loop loop(driver, 8);
    Preflight preflight(loop, plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in()));
    ASSERT_TRUE(preflight.run()) << preflight.failure().text;
    const PreflightFindings& found = preflight.findings();
    EXPECT_EQ(found.overhead.pre, 5u);
    EXPECT_EQ(found.overhead.post, 3u);
    EXPECT_EQ(found.overhead_source, "tokenize");
    EXPECT_EQ(found.words_asked, 512);
    EXPECT_EQ(found.words_counted, 512);
    EXPECT_TRUE(found.words_exact);
    EXPECT_FALSE(found.model.empty());
    EXPECT_TRUE(found.has_cached_tokens);
}

// Token ids have no overhead, and 4,096 of them count as 4,096.
TEST(Preflight, CountsTokenIds) {
    SimDriver driver(2, Weather{}, mock::CoreOptions{});
    Loop loop(driver, 8);
    const WordTable ids = WordTable::token_ids(1000);
    Preflight preflight(loop, plan_of(Api::openai_completions, PromptKind::ids, ids));
    ASSERT_TRUE(preflight.run()) << preflight.failure().text;
    EXPECT_EQ(preflight.findings().overhead.pre, 0u);
    EXPECT_EQ(preflight.findings().words_counted, 4096);
    EXPECT_TRUE(preflight.findings().words_exact);
}

// A server that is not there, and one that hangs: one line with the reason, and no socket is left.
TEST(Preflight, SaysWhyItFailed) {
    for (const bool hangs : {false, true}) {
        Weather weather;
        weather.refuse_connect = hangs ? 0 : 1;
        weather.hang_connect = hangs ? 1 : 0;
        SimDriver driver(3, weather, mock::CoreOptions{});
        {
            Loop loop(driver, 8);
            Preflight preflight(loop,
                                plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in()));
            ASSERT_FALSE(preflight.run());
            EXPECT_EQ(preflight.failure().error.code,
                      hangs ? ErrorCode::timed_out : ErrorCode::refused);
            EXPECT_NE(preflight.failure().text.find("cannot reach"), std::string::npos);
        }
        EXPECT_EQ(driver.in_flight(), 0u);
        EXPECT_EQ(driver.sockets_open(), 0u);
    }
}

// The user's interruption ends it at once.
TEST(Preflight, EndsWhenTheUserStops) {
    Weather weather;
    weather.hang_connect = 1;
    SimDriver driver(4, weather, mock::CoreOptions{});
    Loop loop(driver, 8);
    const std::atomic<int> stop{1};
    PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
    plan.stop_requests = &stop;
    const Instant begun = driver.now();
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    EXPECT_LT((driver.now() - begun).ns, seconds(1).ns);
}

}  // namespace
}  // namespace driftless::sim
