// The preflight against a simulated server: it learns model, overhead and split, and that every
// word is one token; it says why where it cannot.

#include "engine/server/preflight.hpp"

#include <atomic>

#include "tests/sim/preflight_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {

namespace {

/// A whole answer, behind which the connection ends.
CannedAnswer brief(const std::string& head, const std::string& body = "") {
    return {head,
            "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body,
            "", milliseconds(1), true};
}

/// The built-in words, not known to be proven.
WordTable unproven() {
    std::vector<std::string_view> names;
    for (std::uint32_t i = 0; i < 256; ++i) {
        names.push_back(WordTable::built_in().word(i));
    }
    return WordTable(names, 256, ' ');
}

// The template's tokens are found on the right side of the prompt, and all 512 words count as one.
TEST(Preflight, LearnsTheOverheadOrSaysWhyNot) {
    mock::CoreOptions server{.overhead = {5, 3}};
    const PreflightFindings found = Asked(server).sound();
    EXPECT_EQ(found.overhead, (Overhead{5, 3}));
    EXPECT_EQ(std::tuple(found.overhead_source, found.words_asked), std::tuple("tokenize", 512));
    EXPECT_EQ(std::tuple(found.words_counted, found.words), std::tuple(512, WordVerdict::exact));
    EXPECT_FALSE(found.model.empty());
    EXPECT_TRUE(found.has_cached_tokens);
    // What the server says of its connections is known before one is opened for a row.
    mock::CoreOptions limited{.keep_alive_requests = 100, .keep_alive_timeout = seconds(5)};
    EXPECT_EQ(Asked(limited).sound().keep_alive, (KeepAliveLimits{5, 100}));
    // An object that does not fit is not called none.
    const auto said = [](const char* extra) {
        PreflightPlan plan = plan_of(Api::sglang, PromptKind::text, WordTable::built_in());
        plan.body.extra_body = extra;
        const Asked asked(mock::CoreOptions{}, plan);
        EXPECT_FALSE(asked.ok);
        return asked.failure.text;
    };
    EXPECT_TRUE(says(said(R"({"text":"a"})"), "--extra-body would replace the prompt"));
    EXPECT_TRUE(says(said(R"({"sampling_params":1})"), "the object with the length"));
    EXPECT_TRUE(says(said("{"), "--extra-body is not a JSON object"));
    // A server that is still loading is asked again every half second, as long as the user is
    // patient.
    PreflightPlan plan = chat_plan();
    plan.wait_ready = seconds(2);
    const Asked asked(std::vector{brief("503 Service Unavailable")}, plan);
    EXPECT_FALSE(asked.ok);
    EXPECT_EQ(asked.found.requests, 5u);  // the first at 0 s, the last at 2 s
}

// Token ids have no overhead, and 4,096 of them count as 4,096.
TEST(Preflight, CountsTokenIdsAndFindsEveryTokenize) {
    const PreflightFindings found = Asked(mock::CoreOptions{}, Api::openai_completions,
                                          PromptKind::ids, WordTable::token_ids(1000))
                                        .sound();
    EXPECT_EQ(found.overhead.pre, 0u);
    EXPECT_EQ(std::tuple(found.words_counted, found.words), std::tuple(4096, WordVerdict::exact));
    // Each server's way of tokenising is found by trying. The template is seen by two of them; the
    // others count the text alone, usage gives the overhead, and cached tokens its split.
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
        const PreflightFindings other_found = Asked(server_with(c.server, 5, 3), c.api).sound();
        EXPECT_EQ(other_found.tokenize, c.form) << c.source;
        EXPECT_EQ(other_found.overhead_source, c.source);
        EXPECT_EQ(other_found.overhead, (Overhead{c.pre, 8 - c.pre}));
        EXPECT_EQ(other_found.words, WordVerdict::exact);
        EXPECT_LE(other_found.requests, 28u);
    }
}

// The split of a known model's template is taken from the table.
TEST(Preflight, SplitsKnownOverheadsAndBelievesUsage) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 3, 5);
    server.model.name = "Qwen/Qwen3-32B";
    const Asked asked(server);
    EXPECT_EQ(asked.found.overhead, (Overhead{3, 5}));
    EXPECT_TRUE(asked.found.split_known);
    EXPECT_EQ(asked.found.split_source, "model");
    server.overhead = {4, 5};  // a template that is not known
    server.cached_reported = mock::CachedReported::never;
    EXPECT_FALSE(Asked(server).found.split_known);
    // /tokenize says one overhead and usage another: usage is what rows are held against.
    server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.tokenize_overhead = {4, 2};
    const PreflightFindings found = Asked(server).sound();
    EXPECT_EQ(found.overhead_source, "usage");
    EXPECT_EQ(found.split_source, "cached_tokens") << "/tokenize does not know the split";
    EXPECT_EQ(found.overhead, (Overhead{5, 3}));
    EXPECT_EQ(found.words, WordVerdict::exact);
    server.cached_reported = mock::CachedReported::never;
    const Asked unreported(server);
    EXPECT_FALSE(unreported.found.split_known);
    EXPECT_EQ(unreported.found.overhead, (Overhead{6, 2})) << "as many behind as /tokenize says";
    EXPECT_TRUE(says(notes_of(found), "usage counts an overhead of 8 tokens, /tokenize one of 6"));
    PreflightPlan plan = chat_plan();
    plan.overhead = Overhead{1, 1};
    const Asked given(server, plan);
    EXPECT_EQ(given.found.overhead_source, "flag");
    EXPECT_EQ(given.found.overhead.pre, 1u);
    EXPECT_TRUE(says(notes_of(given.found), "--overhead says 2"));
}

// One bad word, wherever it stands in the table, with and without /tokenize: found, dropped, and
// the overhead is not fooled where it is the very word that the template is measured with.
TEST(Preflight, DropsBadWordsOrSaysThatNoneIsGood) {
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const std::uint32_t bad : {0u, 1u, 2u, 300u, 511u}) {
            mock::CoreOptions server = server_with(form, 5, 3);
            const std::string word(WordTable::built_in().word(bad));
            server.words.split(word);
            const PreflightFindings found = Asked(server).sound();
            EXPECT_EQ(found.words, WordVerdict::reduced);
            EXPECT_EQ(found.dropped_words, std::vector{word});
            EXPECT_EQ(found.words_counted, 513);
            EXPECT_EQ(found.overhead.pre + found.overhead.post, 8u);
            EXPECT_EQ(WordTable::built_in().without(found.dropped)->size(), 256u);
        }
    }
    // A hundred bad words: the same ones each time, in a bounded number of requests.
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 3);
    std::vector<std::string> bad;
    for (std::uint32_t i = 0; i < 100; ++i) {
        bad.emplace_back(WordTable::built_in().word(5 * i + 1));
        server.words.split(bad.back());
    }
    const PreflightFindings found = Asked(server).sound();
    EXPECT_EQ(std::tuple(found.words, found.dropped_words), std::tuple(WordVerdict::reduced, bad));
    EXPECT_LT(found.requests, 700u);
    EXPECT_EQ(Asked(server).found.dropped, found.dropped);
    // A server that knows none of the words, by either way of counting, as text; token ids it
    // knows.
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        mock::CoreOptions other_server = server_with(form, 5, 3);
        other_server.words.split_all();
        const PreflightFindings text = Asked(other_server).sound();
        EXPECT_EQ(text.words, WordVerdict::too_few);
        EXPECT_STREQ(name_of(text.words), "too_few");
        EXPECT_LT(text.requests, 100u);
        EXPECT_GT(text.words_counted, text.words_asked);
        const WordTable ids = WordTable::token_ids(1000);
        EXPECT_EQ(Asked(other_server, Api::openai_completions, PromptKind::ids, ids).found.words,
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
TEST(Preflight, WorksWithServersThatVaryOrTellNoUsage) {
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const std::uint32_t more : {1u, 2u, 6u}) {
            mock::CoreOptions server = server_with(form, 5, 3);
            server.overhead_varies = more;
            const PreflightFindings found = Asked(server).sound();
            EXPECT_EQ(found.words, WordVerdict::varies) << more << notes_of(found);
            EXPECT_STREQ(name_of(found.words), "varies");
        }
    }
    // A short context: the words are counted in pieces that fit.
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.model.context_tokens = 300;
    server.words.split("the");
    const PreflightFindings found = Asked(server).sound();
    EXPECT_EQ(found.words, WordVerdict::reduced);
    EXPECT_EQ(found.dropped_words, std::vector<std::string>{"the"});
    // Without usage, /tokenize alone tells; without both, nothing is known and nothing is claimed.
    server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.usage = false;
    server.words.split("the");
    const PreflightFindings other_found = Asked(server).sound();
    EXPECT_EQ(other_found.overhead.pre, 5u);
    EXPECT_EQ(other_found.overhead_source, "tokenize");
    EXPECT_EQ(other_found.dropped_words, std::vector<std::string>{"the"});
    server.tokenize = mock::TokenizeForm::none;
    const Asked blind(server);
    EXPECT_EQ(blind.found.words, WordVerdict::not_asked);
    EXPECT_EQ(blind.found.overhead_source, "none");
}

// Cached tokens that are told only where there are some: a prompt goes out again to see them. What
// stays unknown is said with the flag that the server's kind was started without.
TEST(Preflight, GoesOnWithoutCachedTokensAndIgnoreEos) {
    using mock::CachedReported;
    for (const CachedReported reported :
         {CachedReported::always, CachedReported::hits, CachedReported::never}) {
        mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
        server.cached_reported = reported;
        server.model.owned_by = "vllm";
        const PreflightFindings found = Asked(server).sound();
        EXPECT_EQ(found.owned_by, "vllm");
        EXPECT_EQ(found.has_cached_tokens, reported != CachedReported::never);
        const bool hint =
            notes_of(found).find("--enable-prompt-tokens-details") != std::string::npos;
        EXPECT_EQ(hint, reported == CachedReported::never) << notes_of(found);
    }
    // A 400 for ignore_eos costs the rows that member, and the words of the refusal are told.
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 5, 3);
    server.model.takes_ignore_eos = false;
    const PreflightFindings found = Asked(server).sound();
    EXPECT_FALSE(found.ignore_eos);
    EXPECT_TRUE(says(notes_of(found), "Unrecognized request argument supplied: ignore_eos"));
}

// The server's own words, and what may fix it.
TEST(Preflight, SaysWhyItFailedOrWasStopped) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::vllm, 20, 20);
    server.model.context_tokens = 30;
    const Asked asked(server);
    EXPECT_FALSE(asked.ok);
    EXPECT_EQ(asked.failure.status, 400);
    EXPECT_TRUE(says(asked.failure.text,
                     {"exceeds model's maximum context length (30).", "serve a longer context"}));
    // A server that is not there, and one that hangs: one line with the reason, and no socket is
    // left.
    for (const bool hangs : {false, true}) {
        const Asked in_vain(
            mock::CoreOptions{}, chat_plan(),
            Weather{.refuse_connect = hangs ? 0.0 : 1.0, .hang_connect = hangs ? 1.0 : 0.0});
        ASSERT_FALSE(in_vain.ok);
        EXPECT_EQ(in_vain.failure.error.code, hangs ? ErrorCode::timed_out : ErrorCode::refused);
        EXPECT_TRUE(says(in_vain.failure.text, "cannot reach"));
    }
    // The user's interruption ends it at once.
    const std::atomic<int> stop{1};
    PreflightPlan plan = chat_plan();
    plan.server.stop_requests = &stop;
    const Asked other_asked(mock::CoreOptions{}, plan, Weather{.hang_connect = 1});
    EXPECT_FALSE(other_asked.ok);
    EXPECT_LT(other_asked.took, seconds(1));
    // So it is inside a pause between two questions, and nothing is asked afterwards.
    const std::vector<CannedAnswer> answers{brief("429 Busy\r\nRetry-After: 30")};
    SimDriver driver(1, Weather{}, mock::CoreOptions{}, {&answers, 1.0, 0, true});
    Loop loop(driver, 8);
    std::atomic<int> other_stop{0};
    Timer timer;
    timer.owner = &other_stop;
    timer.handler = [](Timer& rung, Instant) { *static_cast<std::atomic<int>*>(rung.owner) = 1; };
    loop.timers().set(timer, driver.now() + seconds(1));
    plan = chat_plan();
    plan.server.stop_requests = &other_stop;
    const Instant begun = driver.now();
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    EXPECT_EQ(preflight.failure().error.code, ErrorCode::cancelled);
    EXPECT_EQ(preflight.findings().requests, 1u);
    EXPECT_LT(driver.now() - begun, seconds(2));
}

// The preflight finds out which words may open a prompt, where the table does not prove it.

// Words that are one token behind another word and two as the first of a prompt: where the table is
// not known to hold there (words were dropped, or they come from some tokenizer), the first place
// is asked, too, with and without /tokenize. A row's first word is never one of them.
TEST(PreflightFirstWords, FindsWordsThatMayOpenAPrompt) {
    const WordTable foreign = unproven();
    const WordTable* const tables[] = {&WordTable::built_in(), &foreign};
    for (const mock::TokenizeForm form : {mock::TokenizeForm::vllm, mock::TokenizeForm::none}) {
        for (const WordTable* const table : tables) {
            mock::CoreOptions server = server_with(form, 5, 3);
            if (table == &WordTable::built_in()) {
                server.words.split("yet");
            }
            for (std::uint32_t i = 2; i < 200; i += 3) {
                server.words.split_first(table->word(i));
            }
            const PreflightFindings found =
                Asked(server, Api::openai_chat, PromptKind::text, *table).sound();
            EXPECT_EQ(found.overhead.pre + found.overhead.post, 8u);
            ASSERT_EQ(found.first_words.size(), 64u);
            for (const std::uint32_t word : found.first_words) {
                EXPECT_FALSE(word < 200 && word % 3 == 2) << word;
            }
            const auto kept = table->without(found.dropped, found.first_words).value();
            EXPECT_EQ(kept.first_bits(), 6u);
            EXPECT_EQ(kept.word(0), table->word(found.first_words[0]));
        }
    }
}

// Without /tokenize, most words of the table being two tokens at the beginning: the overhead is
// still that of the template, and not one token longer.
TEST(PreflightFirstWords, FindsFirstWordsWithoutMistakes) {
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 3);
    for (std::uint32_t i = 0; i < 256; ++i) {
        if (i % 3 != 2) {
            server.words.split_first(WordTable::built_in().word(i));
        }
    }
    const PreflightFindings found =
        Asked(server, Api::openai_chat, PromptKind::text, unproven()).sound();
    EXPECT_EQ(found.overhead.pre + found.overhead.post, 8u);
    ASSERT_EQ(found.first_words.size(), 64u);
    for (const std::uint32_t word : found.first_words) {
        EXPECT_EQ(word % 3, 2u);
    }
    // A built-in list that holds behind every word is known to hold in front, too: nothing is
    // asked.
    const Asked asked(server_with(mock::TokenizeForm::vllm, 5, 3));
    EXPECT_EQ(asked.found.words, WordVerdict::exact);
    EXPECT_EQ(asked.found.first_words_asked, 0u);
    EXPECT_TRUE(asked.found.first_words.empty());
    // Two such words are enough, and they are found wherever they stand.
    server = server_with(mock::TokenizeForm::none, 5, 3);
    for (std::uint32_t i = 0; i < 256; ++i) {
        if (i != 1 && i != 6) {
            server.words.split_first(WordTable::built_in().word(i));
        }
    }
    const Asked other_asked(server, Api::openai_chat, PromptKind::text, unproven());
    EXPECT_EQ(other_asked.found.words, WordVerdict::exact);
    EXPECT_EQ(other_asked.found.overhead.pre + other_asked.found.overhead.post, 8u);
    EXPECT_EQ(other_asked.found.first_words, (std::vector<std::uint32_t>{1, 6}));
    EXPECT_EQ(other_asked.found.first_words_asked, 256u);
}

// A preflight ends in time, whatever the server does: each request obeys the limits it was given,
// all of them together have one, and a long wait is told of.

const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string models =
    "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"data\":[{\"id\":\"m1\"}]}\n";
std::vector<std::string> told;

/// Asks a server that gives the answers in turn.
Asked ask(const std::vector<CannedAnswer>& answers, const AskLimits& limits,
          const Weather& weather = {}) {
    PreflightPlan plan = chat_plan();
    plan.server.limits = limits;
    plan.server.tell_waiting = [](const std::string& line) { told.push_back(line); };
    plan.body.model = "m1";
    return Asked(answers, plan, weather);
}

// What was waited for, how long, by which flag, and a remedy; and it took no longer.
TEST(PreflightLimits, NamesTheLimitThatWasReached) {
    told.clear();
    AskLimits limits(seconds(60));
    limits.first_byte = seconds(3);
    limits.idle = seconds(2);
    limits.total = seconds(4);
    const Asked mute = ask({{"mute", "", "late", seconds(100)}}, limits);
    EXPECT_FALSE(mute.ok);
    EXPECT_TRUE(
        says(mute.failure.text, {"the first byte of an answer did not come within 3 s "
                                 "(--timeout-first-byte); check that the server is not stuck",
                                 "no answer to GET /v1/models came from"}));
    EXPECT_LT(mute.took.ns, seconds(4).ns);
    const Asked torn = ask({{"torn", head, "late", seconds(100)}}, limits);
    EXPECT_TRUE(says(torn.failure.text, "nothing more of it came for 2 s (--timeout-idle)"));
    EXPECT_LT(torn.took.ns, seconds(3).ns);
    limits.idle = seconds(30);
    const Asked slow = ask({{"slow", head, "late", seconds(100)}}, limits);
    EXPECT_TRUE(says(slow.failure.text, "the answer did not end within 4 s (--timeout-total)"));
    EXPECT_TRUE(told.empty());
}

// The kernel loses the end of every connection, that of a shutdown, too: an inquiry that is given
// up ends all the same, and an end that delimits an answer is found.
TEST(PreflightLimits, EndWhateverHangs) {
    Weather weather{.lose_end = 1};
    AskLimits limits(seconds(60));
    limits.first_byte = seconds(3);
    const Asked mute = ask({{"mute", "", "late", seconds(100)}}, limits, weather);
    EXPECT_FALSE(mute.ok);
    EXPECT_LT(mute.took.ns, seconds(4).ns);
    const std::string cut = "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":";
    const Asked torn = ask({{"torn", cut, "", {}, true}}, limits, weather);
    EXPECT_FALSE(torn.ok);
    EXPECT_LT(torn.took.ns, seconds(30).ns) << torn.failure.text;  // some requests, 0.5 s each
    // An endpoint of tokens that hangs is asked once, not in each of its forms.
    told.clear();
    const std::vector<CannedAnswer> answers{{"models", models, ""},
                                            {"head", head, "late", seconds(100)},
                                            {"head", head, "late", seconds(100)},
                                            {"head", head, "late", seconds(100)}};
    const Asked ended = ask(answers, AskLimits(seconds(60)));
    EXPECT_FALSE(ended.ok);
    EXPECT_EQ(ended.found.requests, 3u);  // the models, the tokens, one word
    EXPECT_LT(ended.took.ns, seconds(125).ns);
    EXPECT_FALSE(says(ended.failure.text, "--timeout")) << "no flag made this limit";
    ASSERT_GE(told.size(), 2u);
    EXPECT_LE(told.size(), 5u);
    EXPECT_EQ(told[0], "POST /tokenize has had no whole answer for 5 s; waiting up to 60 s");
    // Each answer is in time, and there is always a next question: the whole preflight has an end.
    const char* busy = "HTTP/1.1 429 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n";
    const Asked other_ended = ask({{"busy", "", busy, seconds(59)}}, AskLimits(seconds(60)));
    EXPECT_FALSE(other_ended.ok);
    EXPECT_GT(other_ended.took.ns, (Preflight::whole_max - seconds(1)).ns);
    EXPECT_LT(other_ended.took.ns, (Preflight::whole_max + seconds(31)).ns);
    EXPECT_TRUE(
        says(other_ended.failure.text, "the preflight has asked for 10 min, as long as it may"));
}

/// A whole answer of the chat API, and its usage.
std::string stream_of(const std::string& usage) {
    const std::string body =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n" +
        (usage.empty() ? "" : "data: {\"choices\":[]," + usage + "}\n\n") + "data: [DONE]\n\n";
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

// What the end of the preflight cuts short says nothing of the server's name of the length.
TEST(PreflightLimits, BlamesNoServerForItsOwnEnd) {
    const std::string counted = stream_of(R"("usage":{"prompt_tokens":9,"completion_tokens":1})");
    std::vector<CannedAnswer> answers(40, {"slow", "", counted, seconds(59)});
    answers.front() = {"models", models, ""};
    const Asked ended = ask(answers, AskLimits(seconds(60)));
    EXPECT_FALSE(ended.ok);
    EXPECT_TRUE(says(ended.failure.text, "the preflight has asked for 10 min, as long as it may"));
    EXPECT_FALSE(says(ended.failure.text, "it ignores")) << ended.failure.text;
}

// An endpoint of tokens that dies while first words are asked: usage goes on where there is some,
// and without it no word is called bad.
TEST(PreflightFirstWords, GoOnWithoutAnEndpointThatDied) {
    const WordTable table = WordTable::built_in();  // not known to be proven
    const auto tokens = [](std::size_t count, int first) {
        std::string body = "{\"tokens\":[1";
        for (std::size_t i = 0; i + 2 < count; ++i) {
            body += "," + std::to_string(first);
        }
        body += ",2]}";
        return CannedAnswer{
            "tokens",
            "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
            ""};
    };
    const auto probe = [](bool counts, std::size_t count) {
        return CannedAnswer{
            "probe",
            stream_of(counts ? R"("usage":{"completion_tokens":1,"prompt_tokens":)" +
                                   std::to_string(count) + "}"
                             : ""),
            ""};
    };
    const std::size_t all = table.size() + 3;  // the opener, and one token on each side
    const CannedAnswer gone{"gone", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", ""};
    for (const bool counts : {false, true}) {
        std::vector<CannedAnswer> answers{
            {"models", models, ""}, tokens(3, 100), tokens(3, 101), probe(counts, 3)};
        for (int order = 0; order < 2; ++order) {
            answers.push_back(tokens(all, 7));
            if (counts) {
                answers.push_back(probe(true, all));
            }
        }
        answers.push_back(gone);
        answers.resize(300, counts ? probe(true, 3) : gone);
        const Asked asked(answers, plan_of(Api::openai_chat, PromptKind::text, table));
        const PreflightFindings& found = asked.found;
        EXPECT_EQ(asked.ok, counts) << asked.failure.text;
        EXPECT_EQ(found.words, WordVerdict::exact);
        EXPECT_EQ(found.first_words.size(), counts ? 64u : 0u);
        EXPECT_TRUE(says(counts ? found.notes.front() : asked.failure.text,
                         "/tokenize stopped reporting tokens (status 404)"));
    }
}

// The preflight against servers that refuse, ignore or leave out something: it finds what they
// obey, waits where it may, and claims nothing that it has not seen.

// Without /tokenize and for a model that is not known: every split is found by what the server took
// from its cache, whatever its blocks are, also where it tells hits alone.
TEST(Preflight, FindsTheSplitByCachedTokensOfOtherTries) {
    for (const std::uint32_t block : {1u, 16u, 64u, 512u}) {
        for (const std::uint32_t post : {0u, 1u, 5u, 18u, 19u}) {
            mock::CoreOptions server = server_with(mock::TokenizeForm::none, 19 - post, post);
            server.cache_block_tokens = block;
            server.cached_reported =
                post == 5 ? mock::CachedReported::hits : mock::CachedReported::always;
            const PreflightFindings found = Asked(server).sound();
            EXPECT_EQ(found.split_source, "cached_tokens") << block << " " << post;
            EXPECT_EQ(found.overhead, (Overhead{19 - post, post})) << block;
            EXPECT_EQ(found.server_block, block);
        }
    }
    // A probe that broke off and was sent again hits what its own first try left: that is no hit.
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 3);
        server.cache_block_tokens = 16;
        server.faults = {{mock::Fault::reset, 0.1, {}}};
        server.seed = seed;
        const Asked asked(server);
        if (asked.found.split_source == "cached_tokens") {
            ++found;
            EXPECT_EQ(asked.found.overhead.pre, 5u) << seed;
            EXPECT_EQ(asked.found.server_block, 16) << seed;
        }
    }
    EXPECT_GT(found, 20u);
}

// Completions have no template, so the same probe finds what a tokenizer puts around a text. Where
// nothing is cached, one token is taken for a BOS, and the place of several is unknown.
TEST(Preflight, FindsTheSplitOfCompletionsOrClaimsNone) {
    for (const Overhead overhead : {Overhead{1, 0}, Overhead{0, 1}, Overhead{2, 1}}) {
        mock::CoreOptions server =
            server_with(mock::TokenizeForm::none, overhead.pre, overhead.post);
        server.cache_block_tokens = 16;
        const PreflightFindings found = Asked(server, Api::openai_completions).sound();
        EXPECT_EQ(found.split_source, "cached_tokens");
        EXPECT_EQ(found.overhead, (Overhead{overhead.pre, overhead.post}));
        server.cached_reported = mock::CachedReported::never;
        const Asked unreported(server, Api::openai_completions);
        const bool one = overhead.pre + overhead.post == 1;
        EXPECT_EQ(unreported.found.split_source, one ? "bos" : "none");
        EXPECT_EQ(unreported.found.split_known, one);
        EXPECT_EQ(unreported.found.overhead.pre, overhead.pre + overhead.post);
    }
    const Asked bare(server_with(mock::TokenizeForm::none, 0, 0), Api::openai_completions);
    EXPECT_TRUE(bare.found.split_known);
    // A cache that holds nothing, one that is not told, and a context too short to share a block:
    // the split stays unknown, and is said to be.
    mock::CoreOptions server = server_with(mock::TokenizeForm::none, 5, 14);
    server.cache_block_tokens = 0;
    const PreflightFindings uncached = Asked(server).sound();
    EXPECT_FALSE(uncached.split_known);
    EXPECT_EQ(std::tuple(uncached.split_source, uncached.overhead.pre), std::tuple("none", 19u));
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
    const PreflightFindings found = Asked(server).sound();
    EXPECT_EQ(std::tuple(found.length_member, found.length_made), std::tuple("max_tokens", 8));
    EXPECT_TRUE(says(notes_of(found), "obeys max_tokens"));
    PreflightPlan plan = chat_plan();
    plan.body.length_member = "max_completion_tokens";
    const PreflightFindings kept = Asked(server, plan).sound();
    EXPECT_EQ(kept.length_member, "max_completion_tokens");
    EXPECT_EQ(kept.length_made, 16);
    EXPECT_TRUE(says(notes_of(kept), "end as long_output"));
    // `min_tokens` of the extra body binds probes, too: vLLM refuses a length below it.
    server = server_with(mock::TokenizeForm::vllm, 5, 3);
    plan = chat_plan();
    plan.body.extra_body = R"({"min_tokens":12})";
    EXPECT_EQ(Asked(server, plan).sound().length_asked, 12);
}

// 429 is waited out, as long as Retry-After says; five of them end it.
TEST(Preflight, WaitsWhereRequestsAreLimited) {
    const Asked always(std::vector{brief("429 Too Many Requests")}, chat_plan());
    EXPECT_FALSE(always.ok);
    EXPECT_EQ(always.found.requests, 5u);
    EXPECT_GT(always.took, seconds(15));  // 1, 2, 4 and 8 s
    const Asked once(
        std::vector{brief("429 Too Many Requests\r\nRetry-After: 3"), brief("404 Not Found")},
        chat_plan());
    EXPECT_FALSE(once.ok);
    EXPECT_EQ(once.found.requests, 2u);
    EXPECT_GT(once.took, seconds(3));
    EXPECT_LT(once.took, seconds(4));
    // What was answered while the server was loading does not count against the limit of 429s.
    std::vector<CannedAnswer> answers(6, brief("503 Service Unavailable"));
    answers.push_back(brief("429 Too Many Requests"));
    answers.push_back(brief("404 Not Found"));
    PreflightPlan plan = chat_plan();
    plan.wait_ready = seconds(60);
    const Asked asked(answers, plan);
    EXPECT_FALSE(asked.ok);
    EXPECT_EQ(std::tuple(asked.found.requests, asked.failure.status), std::tuple(8u, 404));
}

// Without --model the first of the list names the run, also where requests name none.
TEST(Preflight, TakesTheListedModelAndWaitsForIt) {
    for (const Api api : {Api::sglang, Api::tgi, Api::llamacpp, Api::openai_chat}) {
        const Asked asked(server_with(mock::TokenizeForm::none, 5, 3), api);
        ASSERT_FALSE(asked.found.models.empty());
        EXPECT_EQ(asked.found.model, asked.found.models.front());
        EXPECT_FALSE(says(notes_of(asked.found), "does not list"));
    }
    // A gateway without a worker lists no model: --wait-ready waits for the one that is asked, and
    // what is refused without it names the flag.
    const CannedAnswer empty = brief("200 OK", R"({"object":"list","data":[]})");
    const std::vector<CannedAnswer> answers{
        empty, empty, brief("200 OK", R"({"object":"list","data":[{"id":"b"}]})")};
    const auto asked = [&answers](const char* model, Duration patience) {
        PreflightPlan plan = chat_plan();
        plan.body.model = model;
        plan.wait_ready = patience;
        return Asked(answers, plan);  // the page of models is no answer to a prompt
    };
    EXPECT_EQ(asked("", seconds(60)).found.model, "b");
    const auto gave_up = asked("", milliseconds(100));
    EXPECT_EQ(gave_up.found.requests, 2u);  // at 0 s and at 0.5 s
    EXPECT_TRUE(says(gave_up.failure.text, "lists no model, also after"));
    EXPECT_EQ(asked("b", seconds(60)).found.models, std::vector<std::string>{"b"});
    const PreflightFindings alias = asked("a", seconds(60)).found;  // a list may never have it
    EXPECT_LT(alias.requests, 20u);
    EXPECT_EQ(alias.notes.front(), "the server does not list the model a");
}

}  // namespace
}  // namespace driftless::sim
