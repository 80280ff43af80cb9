// The preflight against servers that refuse, ignore or leave out something: it finds what they
// obey, waits where it may, and claims nothing that it has not seen.
#include <gtest/gtest.h>

#include "tests/sim/preflight_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

// Without /tokenize and for a model that is not known: every split is found by what the server took
// from its cache, whatever its blocks are, also where it tells hits alone.
TEST(Preflight, FindsTheSplitByCachedTokens) {
    for (const std::uint32_t block : {1u, 16u, 64u, 512u}) {
        for (const std::uint32_t post : {0u, 1u, 5u, 18u, 19u}) {
            mock::CoreOptions server = server_with(mock::TokenizeForm::none, 19 - post, post);
            server.cache_block_tokens = block;
            server.cached_reported =
                post == 5 ? mock::CachedReported::hits : mock::CachedReported::always;
            const Asked asked(server);
            ASSERT_TRUE(asked.ok) << asked.failure.text;
            EXPECT_EQ(asked.found.split_source, "cached_tokens") << block << " " << post;
            EXPECT_EQ(asked.found.overhead.pre, 19 - post) << block;
            EXPECT_EQ(asked.found.overhead.post, post) << block;
            EXPECT_EQ(asked.found.server_block, block);
        }
    }
}

// Completions have no template, so the same probe finds what a tokenizer puts around a text. Where
// nothing is cached, one token is taken for a BOS, and the place of several is unknown.
TEST(Preflight, FindsTheSplitOfCompletions) {
    for (const Overhead overhead : {Overhead{1, 0}, Overhead{0, 1}, Overhead{2, 1}}) {
        mock::CoreOptions server =
            server_with(mock::TokenizeForm::none, overhead.pre, overhead.post);
        server.cache_block_tokens = 16;
        const Asked asked(server, Api::openai_completions);
        ASSERT_TRUE(asked.ok) << asked.failure.text;
        EXPECT_EQ(asked.found.split_source, "cached_tokens");
        EXPECT_EQ(asked.found.overhead.pre, overhead.pre);
        EXPECT_EQ(asked.found.overhead.post, overhead.post);
        server.cached_reported = mock::CachedReported::never;
        const Asked unreported(server, Api::openai_completions);
        const bool one = overhead.pre + overhead.post == 1;
        EXPECT_EQ(unreported.found.split_source, one ? "bos" : "none");
        EXPECT_EQ(unreported.found.split_known, one);
        EXPECT_EQ(unreported.found.overhead.pre, overhead.pre + overhead.post);
    }
    const Asked bare(server_with(mock::TokenizeForm::none, 0, 0), Api::openai_completions);
    EXPECT_TRUE(bare.found.split_known);
}

// A cache that holds nothing, one that is not told, and a context too short to share a block: the
// split stays unknown, and is said to be.
TEST(Preflight, ClaimsNoSplitThatItHasNotSeen) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 14);
    server.cache_block_tokens = 0;
    const Asked uncached(server);
    ASSERT_TRUE(uncached.ok) << uncached.failure.text;
    EXPECT_FALSE(uncached.found.split_known);
    EXPECT_EQ(uncached.found.split_source, "none");
    EXPECT_EQ(uncached.found.overhead.pre, 19u);
    server.cache_block_tokens = 16;
    server.model.context_tokens = 59;
    EXPECT_FALSE(Asked(server).found.split_known);
    server.model.context_tokens = 60;
    EXPECT_TRUE(Asked(server).found.split_known);
}

// The member of the length that a server obeys is found; one that was asked for is kept.
TEST(Preflight, FindsTheLengthThatIsObeyed) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    EXPECT_EQ(Asked(server).found.length_member, "");
    EXPECT_EQ(Asked(server).found.length_made, 8);
    server.model.knows_new_length = false;
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.length_member, "max_tokens");
    EXPECT_EQ(asked.found.length_made, 8);
    EXPECT_TRUE(says(asked.notes(), "obeys max_tokens"));
    SimDriver driver(5, Weather{}, server);
    Loop loop(driver, 8);
    PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
    plan.body.length_member = "max_completion_tokens";
    Preflight preflight(loop, plan);
    ASSERT_TRUE(preflight.run());
    EXPECT_EQ(preflight.findings().length_member, "max_completion_tokens");
    EXPECT_EQ(preflight.findings().length_made, 16);
    std::string notes;
    for (const std::string& note : preflight.findings().notes) {
        notes += note;
    }
    EXPECT_TRUE(says(notes, "end as long_output"));
}

// `min_tokens` of the extra body binds probes, too: vLLM refuses a length below it.
TEST(Preflight, ProbesWithNoLessThanTheExtraBodyWants) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    SimDriver driver(5, Weather{}, server);
    Loop loop(driver, 8);
    PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
    plan.body.extra_body = R"({"min_tokens":12})";
    Preflight preflight(loop, plan);
    ASSERT_TRUE(preflight.run()) << preflight.failure().text;
    EXPECT_EQ(preflight.findings().length_asked, 12);
}

// 429 is waited out, as long as Retry-After says; five of them end it.
TEST(Preflight, WaitsWhereRequestsAreLimited) {
    const auto asked = [](std::vector<CannedAnswer> answers) {
        SimDriver driver(1, Weather{}, mock::CoreOptions{}, {&answers, 1.0, 0, true});
        Loop loop(driver, 8);
        PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
        const Instant begun = driver.now();
        Preflight preflight(loop, plan);
        EXPECT_FALSE(preflight.run());
        return std::pair(preflight.findings().requests, driver.now() - begun);
    };
    const std::string busy = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n";
    const CannedAnswer limited{"busy", busy + "\r\n", "", milliseconds(1), true};
    const CannedAnswer patient{"busy", busy + "Retry-After: 3\r\n\r\n", "", milliseconds(1), true};
    const CannedAnswer gone{"gone", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "",
                            milliseconds(1), true};
    const auto always = asked({limited});
    EXPECT_EQ(always.first, 5u);
    EXPECT_GT(always.second, seconds(15));  // 1, 2, 4 and 8 s
    const auto once = asked({patient, gone});
    EXPECT_EQ(once.first, 2u);
    EXPECT_GT(once.second, seconds(3));
    EXPECT_LT(once.second, seconds(4));
}

// What was answered while the server was loading does not count against the limit of 429s.
TEST(Preflight, CountsBusyAnswersApartFromLoadingOnes) {
    const std::string empty = "Content-Length: 0\r\n\r\n";
    const auto answer = [&empty](const std::string& status) {
        return CannedAnswer{status, "HTTP/1.1 " + status + "\r\n" + empty, "", milliseconds(1),
                            true};
    };
    std::vector<CannedAnswer> answers(6, answer("503 Service Unavailable"));
    answers.push_back(answer("429 Too Many Requests"));
    answers.push_back(answer("404 Not Found"));
    SimDriver driver(1, Weather{}, mock::CoreOptions{}, {&answers, 1.0, 0, true});
    Loop loop(driver, 8);
    PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
    plan.wait_ready = seconds(60);
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    EXPECT_EQ(preflight.findings().requests, 8u);
    EXPECT_EQ(preflight.failure().status, 404);
}

// Without --model the first of the list names the run, also where requests name none.
TEST(Preflight, TakesTheListedModelForEveryDialect) {
    for (const Api api : {Api::sglang, Api::tgi, Api::llamacpp, Api::openai_chat}) {
        const Asked asked(server_with(mock::TokenizeForm::none, 5, 3), api);
        ASSERT_FALSE(asked.found.models.empty());
        EXPECT_EQ(asked.found.model, asked.found.models.front());
        EXPECT_FALSE(says(asked.notes(), "does not list"));
    }
}

// A gateway without a worker lists no model: --wait-ready waits for the one that is asked, and what
// is refused without it names the flag.
TEST(Preflight, WaitsUntilTheModelIsServed) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: ";
    const std::string empty = R"({"object":"list","data":[]})";
    const std::string other = R"({"object":"list","data":[{"id":"b"}]})";
    const auto list = [&head](const std::string& body) {
        return CannedAnswer{"models", head + std::to_string(body.size()) + "\r\n\r\n" + body, "",
                            milliseconds(1), true};
    };
    const std::vector<CannedAnswer> answers{list(empty), list(empty), list(other)};
    const auto asked = [&answers](const char* model, Duration patience) {
        SimDriver driver(1, Weather{}, mock::CoreOptions{}, {&answers, 1.0, 0, true});
        Loop loop(driver, 8);
        PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
        plan.body.model = model;
        plan.wait_ready = patience;
        Preflight preflight(loop, plan);
        (void)preflight.run();  // the page of models is no answer to a prompt
        return std::pair(preflight.findings(), preflight.failure().text);
    };
    const auto waited = asked("", seconds(60));
    EXPECT_EQ(waited.first.model, "b");
    const auto gave_up = asked("", milliseconds(100));
    EXPECT_EQ(gave_up.first.requests, 2u);  // at 0 s and at 0.5 s
    EXPECT_TRUE(says(gave_up.second, "lists no model, also after"));
    EXPECT_EQ(asked("b", seconds(60)).first.models, std::vector<std::string>{"b"});
    const PreflightFindings alias = asked("a", seconds(60)).first;  // a list may never have it
    EXPECT_LT(alias.requests, 20u);
    EXPECT_EQ(alias.notes.front(), "the server does not list the model a");
}

}  // namespace
}  // namespace driftless::sim
