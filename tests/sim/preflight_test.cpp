// The preflight against a simulated server: it learns model, overhead and split, and that every
// word is one token; it says why where it cannot.
#include "engine/server/preflight.hpp"

#include <gtest/gtest.h>

#include "tests/sim/preflight_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

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
    EXPECT_EQ(found.words, WordVerdict::exact);
    EXPECT_FALSE(found.model.empty());
    EXPECT_TRUE(found.has_cached_tokens);
}

// What the server says of its connections is known before one is opened for a row.
TEST(Preflight, HearsTheLimitsOfConnections) {
    mock::CoreOptions server;
    server.keep_alive_timeout = seconds(5);
    server.keep_alive_requests = 100;
    SimDriver driver(1, Weather{}, server);
    Loop loop(driver, 8);
    Preflight preflight(loop, plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in()));
    ASSERT_TRUE(preflight.run()) << preflight.failure().text;
    EXPECT_EQ(preflight.findings().keep_alive, (KeepAliveLimits{5, 100}));
}

// An object that does not fit is not called none.
TEST(Preflight, SaysWhyTheExtraBodyDoesNotFit) {
    const auto said = [](const char* extra) {
        SimDriver driver(1, Weather{}, mock::CoreOptions{});
        Loop loop(driver, 8);
        PreflightPlan plan = plan_of(Api::sglang, PromptKind::text, WordTable::built_in());
        plan.body.extra_body = extra;
        Preflight preflight(loop, plan);
        EXPECT_FALSE(preflight.run());
        return preflight.failure().text;
    };
    EXPECT_TRUE(says(said(R"({"text":"a"})"), "--extra-body would replace the prompt"));
    EXPECT_TRUE(says(said(R"({"sampling_params":1})"), "the object with the length"));
    EXPECT_TRUE(says(said("{"), "--extra-body is not a JSON object"));
}

// A server that is still loading is asked again every half second, as long as the user is patient.
TEST(Preflight, AsksALoadingServerAgain) {
    const char* loading = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    const std::vector<CannedAnswer> answers{{"loading", loading, "", milliseconds(1), true}};
    SimDriver driver(1, Weather{}, mock::CoreOptions{}, {&answers, 1.0, 0, true});
    Loop loop(driver, 8);
    PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
    plan.wait_ready = seconds(2);
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    EXPECT_EQ(preflight.findings().requests, 5u);  // the first at 0 s, the last at 2 s
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
    EXPECT_EQ(preflight.findings().words, WordVerdict::exact);
}

// Each server's way of tokenising is found by trying. The template is seen by two of them; the
// others count the text alone, usage gives the overhead, and cached tokens its split.
TEST(Preflight, FindsEveryFormOfTokenize) {
    struct Case {
        mock::TokenizeForm server;
        Api api;
        std::optional<TokenizeForm> form;
        const char* source;
        std::uint32_t pre;
    };
    using Played = mock::TokenizeForm;
    for (const Case& c : {
             Case{Played::vllm, Api::openai_chat, TokenizeForm::messages, "tokenize", 5},
             Case{Played::vllm, Api::openai_completions, TokenizeForm::prompt, "tokenize", 5},
             Case{Played::llama_cpp, Api::openai_chat, TokenizeForm::templated, "tokenize", 5},
             Case{Played::sglang, Api::openai_chat, TokenizeForm::prompt, "usage", 5},
             Case{Played::none, Api::openai_chat, std::nullopt, "usage", 5},
             Case{Played::none, Api::openai_completions, std::nullopt, "usage", 5},
         }) {
        const Asked asked(server_with(c.server, 5, 3), c.api);
        ASSERT_TRUE(asked.ok) << asked.failure.text;
        EXPECT_EQ(asked.found.tokenize, c.form) << c.source;
        EXPECT_EQ(asked.found.overhead_source, c.source);
        EXPECT_EQ(asked.found.overhead.pre, c.pre);
        EXPECT_EQ(asked.found.overhead.post, 8 - c.pre);
        EXPECT_EQ(asked.found.words, WordVerdict::exact);
        EXPECT_LE(asked.found.requests, 28u);
    }
}

// The split of a known model's template is taken from the table.
TEST(Preflight, SplitsTheOverheadOfKnownModels) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 3, 5);
    server.model.name = "Qwen/Qwen3-32B";
    const Asked asked(server);
    EXPECT_EQ(asked.found.overhead.pre, 3u);
    EXPECT_EQ(asked.found.overhead.post, 5u);
    EXPECT_TRUE(asked.found.split_known);
    EXPECT_EQ(asked.found.split_source, "model");
    server.overhead = {4, 5};  // a template that is not known
    server.cached_reported = mock::CachedReported::never;
    EXPECT_FALSE(Asked(server).found.split_known);
}

// /tokenize says one overhead and usage another: usage is what rows are held against.
TEST(Preflight, BelievesUsageOverTokenize) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.tokenize_overhead = {4, 2};
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.overhead_source, "usage");
    EXPECT_EQ(asked.found.split_source, "cached_tokens") << "/tokenize does not know the split";
    EXPECT_EQ(asked.found.overhead.pre, 5u);
    EXPECT_EQ(asked.found.overhead.post, 3u);
    EXPECT_EQ(asked.found.words, WordVerdict::exact);
    server.cached_reported = mock::CachedReported::never;
    const Asked unreported(server);
    EXPECT_FALSE(unreported.found.split_known);
    EXPECT_EQ(unreported.found.overhead.pre, 6u) << "as many behind as /tokenize says";
    EXPECT_EQ(unreported.found.overhead.post, 2u);
    EXPECT_TRUE(says(asked.notes(), "usage counts an overhead of 8 tokens, /tokenize one of 6"));
    const Asked given(server, Api::openai_chat, PromptKind::text, WordTable::built_in(),
                      Overhead{1, 1});
    EXPECT_EQ(given.found.overhead_source, "flag");
    EXPECT_EQ(given.found.overhead.pre, 1u);
    EXPECT_TRUE(says(given.notes(), "--overhead says 2"));
}

// One bad word, wherever it stands in the table, with and without /tokenize: found, dropped, and
// the overhead is not fooled where it is the very word that the template is measured with.
TEST(Preflight, DropsOneBadWord) {
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const std::uint32_t bad : {0u, 1u, 2u, 300u, 511u}) {
            mock::CoreOptions server = server_with(form, 5, 3);
            const std::string word(WordTable::built_in().word(bad));
            server.words.split(word);
            const Asked asked(server);
            ASSERT_TRUE(asked.ok) << asked.failure.text;
            EXPECT_EQ(asked.found.words, WordVerdict::reduced);
            EXPECT_EQ(asked.found.dropped_words, std::vector{word});
            EXPECT_EQ(asked.found.words_counted, 513);
            EXPECT_EQ(asked.found.overhead.pre + asked.found.overhead.post, 8u);
            EXPECT_EQ(WordTable::built_in().without(asked.found.dropped)->size(), 256u);
        }
    }
}

// A hundred bad words: the same ones each time, in a bounded number of requests.
TEST(Preflight, DropsAHundredBadWords) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 3);
    std::vector<std::string> bad;
    for (std::uint32_t i = 0; i < 100; ++i) {
        bad.emplace_back(WordTable::built_in().word(5 * i + 1));
        server.words.split(bad.back());
    }
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.words, WordVerdict::reduced);
    EXPECT_EQ(asked.found.dropped_words, bad);
    EXPECT_LT(asked.found.requests, 700u);
    EXPECT_EQ(Asked(server).found.dropped, asked.found.dropped);
}

// A server that knows none of the words, by either way of counting, as text; token ids it knows.
TEST(Preflight, SaysThatNoWordIsGood) {
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        mock::CoreOptions server = server_with(form, 5, 3);
        server.words.split_all();
        const Asked text(server);
        ASSERT_TRUE(text.ok) << text.failure.text;
        EXPECT_EQ(text.found.words, WordVerdict::too_few);
        EXPECT_STREQ(name_of(text.found.words), "too_few");
        EXPECT_LT(text.found.requests, 100u);
        EXPECT_GT(text.found.words_counted, text.found.words_asked);
        const WordTable ids = WordTable::token_ids(1000);
        EXPECT_EQ(Asked(server, Api::openai_completions, PromptKind::ids, ids).found.words,
                  WordVerdict::exact);
    }
}

// Words that join their neighbours are found though they make prompts shorter: those that are left
// join none, or too few are left, or the search gives up and says why.
TEST(Preflight, FindsWordsThatJoin) {
    const WordTable& words = WordTable::built_in();
    const auto joining = [&](auto join) {
        mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
        for (std::uint32_t i = 0; i < words.size(); ++i) {
            for (std::uint32_t j = 0; j < words.size(); ++j) {
                if (join(i, j)) {
                    server.words.join(words.word(i), words.word(j));
                }
            }
        }
        const Asked asked(server);
        EXPECT_TRUE(asked.ok) << asked.failure.text;
        EXPECT_LT(asked.found.words_counted, 512);
        EXPECT_GT(asked.found.joins, 0u);
        return asked.found;
    };
    const PreflightFindings half = joining([](auto i, auto j) { return i % 2 == 0 && j % 2 == 1; });
    EXPECT_EQ(half.words, WordVerdict::reduced);
    std::uint32_t even = 256;
    std::uint32_t odd = 256;
    for (const std::uint32_t word : half.dropped) {
        --(word % 2 == 0 ? even : odd);
    }
    EXPECT_LE(even * odd, 512u) << "of 65,536 pairs, hardly any may be left";
    const PreflightFindings some = joining([](auto i, auto j) { return i % 8 == 0 && j % 8 == 1; });
    EXPECT_EQ(some.words, WordVerdict::joins) << "every new order shows new pairs";
    EXPECT_STREQ(name_of(some.words), "joins");
    const PreflightFindings all = joining([](auto i, auto j) { return i < j; });
    EXPECT_TRUE(all.words == WordVerdict::joins || all.words == WordVerdict::too_few);
}

// A template that grows and shrinks from request to request: no overhead is right, and none is
// pretended.
TEST(Preflight, FindsAServerThatVaries) {
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const std::uint32_t more : {1u, 2u, 6u}) {
            mock::CoreOptions server = server_with(form, 5, 3);
            server.overhead_varies = more;
            const Asked asked(server);
            ASSERT_TRUE(asked.ok) << asked.failure.text;
            EXPECT_EQ(asked.found.words, WordVerdict::varies) << more << asked.notes();
            EXPECT_STREQ(name_of(asked.found.words), "varies");
        }
    }
}

// A short context: the words are counted in pieces that fit.
TEST(Preflight, FitsAShortContext) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.model.context_tokens = 300;
    server.words.split("the");
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.words, WordVerdict::reduced);
    EXPECT_EQ(asked.found.dropped_words, std::vector<std::string>{"the"});
}

// Without usage, /tokenize alone tells; without both, nothing is known and nothing is claimed.
TEST(Preflight, WorksWithoutUsage) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.usage = false;
    server.words.split("the");
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_EQ(asked.found.overhead.pre, 5u);
    EXPECT_EQ(asked.found.overhead_source, "tokenize");
    EXPECT_EQ(asked.found.dropped_words, std::vector<std::string>{"the"});
    server.tokenize = mock::TokenizeForm::none;
    const Asked blind(server);
    EXPECT_EQ(blind.found.words, WordVerdict::not_asked);
    EXPECT_EQ(blind.found.overhead_source, "none");
}

// Cached tokens that are told only where there are some: a prompt goes out again to see them. What
// stays unknown is said with the flag that the server's kind was started without.
TEST(Preflight, FindsOutWhetherCachedTokensAreReported) {
    using mock::CachedReported;
    for (const CachedReported reported :
         {CachedReported::always, CachedReported::hits, CachedReported::never}) {
        mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
        server.cached_reported = reported;
        server.model.owned_by = "vllm";
        const Asked asked(server);
        ASSERT_TRUE(asked.ok) << asked.failure.text;
        EXPECT_EQ(asked.found.owned_by, "vllm");
        EXPECT_EQ(asked.found.has_cached_tokens, reported != CachedReported::never);
        const bool hint = asked.notes().find("--enable-prompt-tokens-details") != std::string::npos;
        EXPECT_EQ(hint, reported == CachedReported::never) << asked.notes();
    }
}

// A 400 for ignore_eos costs the rows that member, and the words of the refusal are told.
TEST(Preflight, GoesOnWithoutIgnoreEos) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.model.takes_ignore_eos = false;
    const Asked asked(server);
    ASSERT_TRUE(asked.ok) << asked.failure.text;
    EXPECT_FALSE(asked.found.ignore_eos);
    EXPECT_TRUE(says(asked.notes(), "Unrecognized request argument supplied: ignore_eos"));
}

// The server's own words, and what may fix it.
TEST(Preflight, SaysWhatMayFixARefusal) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 20, 20);
    server.model.context_tokens = 30;
    const Asked asked(server);
    EXPECT_FALSE(asked.ok);
    EXPECT_EQ(asked.failure.status, 400);
    EXPECT_TRUE(says(asked.failure.text, "exceeds model's maximum context length (30)."));
    EXPECT_TRUE(says(asked.failure.text, "serve a longer context"));
}

// A server that is not there, and one that hangs: one line with the reason, and no socket is left.
TEST(Preflight, SaysWhyItFailed) {
    for (const bool hangs : {false, true}) {
        Weather weather{.refuse_connect = hangs ? 0 : 1, .hang_connect = hangs ? 1 : 0};
        SimDriver driver(3, weather, mock::CoreOptions{});
        {
            Loop loop(driver, 8);
            Preflight preflight(loop,
                                plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in()));
            ASSERT_FALSE(preflight.run());
            EXPECT_EQ(preflight.failure().error.code,
                      hangs ? ErrorCode::timed_out : ErrorCode::refused);
            EXPECT_TRUE(says(preflight.failure().text, "cannot reach"));
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
    plan.server.stop_requests = &stop;
    const Instant begun = driver.now();
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    EXPECT_LT((driver.now() - begun).ns, seconds(1).ns);
}

}  // namespace
}  // namespace driftless::sim
