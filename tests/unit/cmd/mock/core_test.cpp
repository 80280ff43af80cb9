#include "cmd/mock/core.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"
#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {
namespace {

CoreOptions small_blocks() {
    return {.cache_block_tokens = 4, .keep_log = true};
}

/// Reads one member deep inside an event: "choices.0.delta.content".
JsonValue dig(JsonDocument& document, const std::string& text, std::string path) {
    const Result<JsonValue> parsed = document.parse(text);
    EXPECT_TRUE(parsed) << text;
    JsonValue value = parsed ? parsed.value() : JsonValue();
    path += '.';
    while (!path.empty()) {
        const std::string step = path.substr(0, path.find('.'));
        path.erase(0, step.size() + 1);
        const bool index = step.find_first_not_of("0123456789") == std::string::npos;
        value = index ? value.at(std::stoul(step)) : value.find(step);
    }
    return value;
}

// A chat stream is what vLLM sends (wire-formats 1.2): head at once, then role and first token
// together, one event a token, finish on the last content, usage with cached tokens, [DONE].
TEST(MockCore, StreamsChatAsVllmDoes) {
    CoreOptions options = small_blocks();
    options.overhead = {3, 5};
    Player player(options);
    bool complete = false;
    const std::string response = player.ask(chat(9, 4));
    const std::vector<std::string> events = events_of(response, &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(status_of(response), 200);
    EXPECT_TRUE(says(head_of(response), "content-type: text/event-stream"));
    ASSERT_EQ(events.size(), 7u);

    JsonDocument json;
    EXPECT_EQ(dig(json, events[0], "id").as_string(), "chatcmpl-run-7");
    EXPECT_EQ(dig(json, events[0], "object").as_string(), "chat.completion.chunk");
    EXPECT_EQ(dig(json, events[0], "model").as_string(), "mock-model");
    EXPECT_EQ(dig(json, events[0], "choices.0.delta.role").as_string(), "assistant");
    EXPECT_EQ(dig(json, events[0], "choices.0.delta.content").as_string(), "");
    for (std::size_t i = 1; i <= 4; ++i) {
        const std::string content{*dig(json, events[i], "choices.0.delta.content").as_string()};
        EXPECT_EQ(content.substr(0, 2), " w") << content;
        const JsonValue finish = dig(json, events[i], "choices.0.finish_reason");
        EXPECT_EQ(finish.raw(), i == 4 ? "\"length\"" : "null");
        EXPECT_FALSE(dig(json, events[i], "usage").present());
    }
    EXPECT_EQ(dig(json, events[5], "choices").raw(), "[]");
    EXPECT_EQ(dig(json, events[5], "usage").raw(),
              R"({"prompt_tokens":17,"total_tokens":21,"completion_tokens":4,)"
              R"("prompt_tokens_details":{"cached_tokens":0}})");
    EXPECT_EQ(events[6], "[DONE]");
}

// Instants: head at the last byte of the request, tokens on the schedule; the log has each stamp.
TEST(MockCore, SendsOnItsSchedule) {
    CoreOptions options = small_blocks();
    options.pace.per_uncached_token = {1'000};
    Player player(options);
    const Instant start = player.now;
    (void)player.ask(chat(9, 3));
    ASSERT_EQ(player.sends.size(), 4u);
    EXPECT_EQ(player.sends[0].at_ns, start.ns);
    EXPECT_EQ(player.sends[1].at_ns, start.ns + 5'009'000);
    EXPECT_EQ(player.sends[2].at_ns, start.ns + 15'009'000);
    EXPECT_EQ(player.sends[3].at_ns, start.ns + 25'009'000);
    const RequestLog log = player.take_log();
    EXPECT_EQ(log.start_ns, start.ns);
    EXPECT_EQ(log.last_byte_ns, start.ns);
    EXPECT_EQ(log.end_ns, player.sends[3].at_ns);
    EXPECT_EQ(log.token_ns, (std::vector<std::int64_t>{player.sends[1].at_ns, player.sends[2].at_ns,
                                                       player.sends[3].at_ns}));
    EXPECT_EQ(log.row, 7u);
    EXPECT_EQ(log.prompt_tokens, 9u);
    EXPECT_EQ(log.output_tokens, 3u);
    EXPECT_EQ(log.ending, Ending::complete);
}

// A host that comes late delays what it missed and nothing else; missed tokens leave together,
// each an event of its own.
TEST(MockCore, ALateHostDoesNotShiftTheSchedule) {
    Player player(small_blocks());
    player.send(chat(1, 5));
    const Instant first = player.now + milliseconds(5);
    player.now = first + milliseconds(25);
    std::string out;
    player.connection->produce(player.now, out);
    EXPECT_EQ(player.connection->next_deadline(), first + milliseconds(30));
    player.run();
    EXPECT_EQ(player.take_log().token_ns,
              (std::vector<std::int64_t>{first.ns + 25'000'000, first.ns + 25'000'000,
                                         first.ns + 25'000'000, first.ns + 30'000'000,
                                         first.ns + 40'000'000}));
}

// Completions: ids or text, no role event, max_tokens, 16 by default, no usage unless asked for.
TEST(MockCore, StreamsCompletions) {
    Player player(small_blocks());
    const std::string ids = player.ask(
        post("/v1/completions", R"({"prompt":[1,22,333,4444,5],"stream":true,"max_tokens":2})"));
    std::vector<std::string> events = events_of(ids);
    ASSERT_EQ(events.size(), 3u);
    JsonDocument json;
    EXPECT_EQ(dig(json, events[0], "id").as_string(), "cmpl-run-7");
    EXPECT_EQ(dig(json, events[0], "object").as_string(), "text_completion");
    EXPECT_EQ(dig(json, events[0], "choices.0.text").as_string()->substr(0, 2), " w");
    EXPECT_EQ(dig(json, events[0], "choices.0.finish_reason").raw(), "null");
    EXPECT_EQ(dig(json, events[1], "choices.0.finish_reason").as_string(), "length");
    EXPECT_EQ(player.take_log().prompt_tokens, 5u);
    events = events_of(player.ask(post("/v1/completions", R"({"prompt":"a b","stream":true})")));
    EXPECT_EQ(events.size(), 17u);
}

// Continuous usage stands on every event and grows; reasoning comes first under its own name.
TEST(MockCore, SendsContinuousUsageAndReasoning) {
    CoreOptions options = small_blocks();
    options.reasoning_tokens = 3;
    options.pace.tokens_per_chunk = 2;
    Player player(options);
    const std::vector<std::string> events = events_of(
        player.ask(chat(2, 6, "X-Request-Id: a-1\r\n", R"(,"continuous_usage_stats":true)")));
    ASSERT_EQ(events.size(), 1 + 4 + 2u);
    JsonDocument json;
    const std::uint64_t completed[] = {0, 2, 3, 5, 6};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(dig(json, events[i], "usage.completion_tokens").as_u64(), completed[i]);
        const bool reasoning = i == 1 || i == 2;
        EXPECT_EQ(dig(json, events[i], "choices.0.delta.reasoning").present(), reasoning);
        EXPECT_EQ(dig(json, events[i], "choices.0.delta.content").present(), !reasoning);
    }
    EXPECT_EQ(dig(json, events[5], "usage.completion_tokens_details.reasoning_tokens").as_u64(),
              3u);
}

// An answer without streaming is one JSON object at the instant of its last token.
TEST(MockCore, AnswersWithoutStreaming) {
    Player player(small_blocks());
    const Instant start = player.now;
    bool complete = false;
    const std::string response = player.ask(
        post("/v1/chat/completions",
             R"({"messages":[{"role":"user","content":"a b c"}],"max_tokens":3,"stream":false})",
             "X-Request-Id: .chunk-1\r\n"));
    const std::string body = body_of(response, &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(player.sends.back().at_ns, start.ns + 25'000'000);
    JsonDocument json;
    EXPECT_EQ(dig(json, body, "object").as_string(), "chat.completion");
    EXPECT_EQ(dig(json, body, "id").as_string(), "chatcmpl-.chunk-1");
    EXPECT_EQ(dig(json, body, "choices.0.message.role").as_string(), "assistant");
    EXPECT_EQ(dig(json, body, "usage.completion_tokens").as_u64(), 3u);
    EXPECT_EQ(player.take_log().token_ns.size(), 1u);
}

// cached_tokens: full blocks of the longest prefix seen before, never the last token.
TEST(MockCore, ReportsCachedTokens) {
    Player player(small_blocks());
    const auto cached = [&](std::size_t words) {
        (void)player.ask(chat(words, 1));
        return player.take_log().cached_tokens;
    };
    EXPECT_EQ(cached(10), 0u);
    EXPECT_EQ(cached(10), 8u);
    EXPECT_EQ(cached(8), 4u) << "the last token is always computed";
    EXPECT_EQ(cached(9), 8u);
    EXPECT_EQ(cached(13), 8u);
    EXPECT_EQ(cached(13), 12u);
    EXPECT_EQ(player.core.metrics().cache_hits, 8 + 4 + 8 + 8 + 12u);
}

// The same exchange whole, byte by byte and at every split: identical bytes back.
TEST(MockCore, AnswersTheSameAtEverySplit) {
    const std::string request = chat(6, 3);
    Player whole(small_blocks());
    const std::string expected = whole.ask(request);
    Player bytewise(small_blocks());
    EXPECT_EQ(bytewise.ask(request, 1), expected);
    for (std::size_t split = 1; split < request.size(); ++split) {
        Player player(small_blocks());
        player.send(request.substr(0, split));
        EXPECT_EQ(player.connection->next_deadline(), never);
        ASSERT_EQ(player.ask(request.substr(split)), expected) << split;
    }
}

// The same request id gives the same answer on any connection at any time; another id another.
TEST(MockCore, AnswersDependOnTheRequestIdAlone) {
    const auto words = [](Player& player, const std::string& fields) {
        std::string text;
        JsonDocument json;
        for (const std::string& event : events_of(player.ask(chat(3, 40, fields)))) {
            if (event != "[DONE]") {
                text += dig(json, event, "choices.0.delta.content").as_string().value_or("");
            }
        }
        return text;
    };
    Player one(small_blocks());
    Player two(small_blocks());
    two.now = two.now + seconds(99);
    const std::string first = words(one, "X-Request-Id: r-1\r\n");
    EXPECT_NE(first, words(one, "X-Request-Id: r-2\r\n"));
    EXPECT_EQ(first, words(two, "X-Request-Id: r-1\r\n"));
}

// Requests sent ahead wait their turn, in order.
TEST(MockCore, AnswersPipelinedRequestsInOrder) {
    Player player(small_blocks());
    player.send(chat(2, 1) + get("/health") + chat(3, 1));
    player.run();
    EXPECT_EQ(player.take_log().prompt_tokens, 2u);
    EXPECT_EQ(player.take_log().prompt_tokens, 3u);
    const std::size_t page = player.received.find("content-length: 0\r\n");
    ASSERT_NE(page, std::string::npos);
    EXPECT_LT(player.received.find("[DONE]"), page);
    EXPECT_GT(player.received.rfind("[DONE]"), page);
}

// A pipelined request whose tokens are due at once: its head leaves before them.
TEST(MockCore, KeepsPipelinedStreamsWholeWithoutPace) {
    CoreOptions options = small_blocks();
    options.pace.first = options.pace.between = Duration{0};
    Player player(options);
    player.send(chat(1, 2) + chat(1, 2));
    player.run();
    const std::size_t second = player.received.find("HTTP/1.1 200", 1);
    ASSERT_NE(second, std::string::npos);
    bool first_whole = false;
    bool second_whole = false;
    (void)body_of(player.received.substr(0, second), &first_whole);
    (void)body_of(player.received.substr(second), &second_whole);
    EXPECT_TRUE(first_whole);
    EXPECT_TRUE(second_whole);
}

// Slots: beyond them answers wait in order of arrival and start when one ends or leaves.
TEST(MockCore, QueuesBeyondItsSlots) {
    CoreOptions options = small_blocks();
    options.slots = 1;
    MockCore core(options);
    Instant now{0};
    MockConnection& first = core.open(now);
    MockConnection& second = core.open(now);
    MockConnection& third = core.open(now);
    MockConnection& fourth = core.open(now);
    for (MockConnection* connection : {&first, &second, &third, &fourth}) {
        connection->receive(chat(1, 2), now);
        std::string head;
        connection->produce(now, head);
        EXPECT_EQ(status_of(head), 200) << "headers leave before a slot is free";
    }
    EXPECT_EQ(core.metrics().running, 1u);
    EXPECT_EQ(core.metrics().waiting, 3u);
    EXPECT_EQ(second.next_deadline(), never);
    core.close(second, now);  // gives up while it waits
    now = first.next_deadline() + milliseconds(10);
    std::string out;
    first.produce(now, out);
    EXPECT_EQ(core.next_woken(), &third);
    EXPECT_EQ(core.next_woken(), nullptr);
    EXPECT_EQ(third.next_deadline(), now + milliseconds(5));
    EXPECT_EQ(fourth.next_deadline(), never);
    core.close(third, now);  // leaves in the middle of its answer
    EXPECT_EQ(core.next_woken(), &fourth);
    EXPECT_EQ(core.metrics().running, 1u);
    std::vector<Ending> endings;
    for (RequestLog log; core.take_finished(log);) {
        endings.push_back(log.ending);
    }
    EXPECT_EQ(endings, (std::vector<Ending>{Ending::aborted, Ending::complete, Ending::aborted}));
}

// Keep-alive: the last allowed answer says so and closes; a request that says close is obeyed.
TEST(MockCore, ClosesWhenItSaidSo) {
    CoreOptions options = small_blocks();
    options.keep_alive_requests = 2;
    Player player(options);
    EXPECT_FALSE(says(player.ask(chat(1, 1)), "connection: close"));
    EXPECT_EQ(player.connection->next_action(), MockConnection::Action::keep);
    EXPECT_TRUE(says(player.ask(chat(1, 1)), "connection: close"));
    EXPECT_EQ(player.connection->next_action(), MockConnection::Action::close);
    Player once(small_blocks());
    EXPECT_TRUE(says(once.ask(chat(1, 1, "Connection: close\r\n")), "connection: close"));
    EXPECT_EQ(once.connection->next_action(), MockConnection::Action::close);
}

// The head may be held back until the first token, as other servers do.
TEST(MockCore, HoldsHeadersBackWhenAsked) {
    CoreOptions options = small_blocks();
    options.early_headers = false;
    Player player(options);
    const Instant start = player.now;
    EXPECT_EQ(status_of(player.ask(chat(1, 2))), 200);
    ASSERT_EQ(player.sends.size(), 2u);
    EXPECT_EQ(player.sends[0].at_ns, start.ns + 5'000'000);
}

// A client that waits for 100 Continue gets it before its body.
TEST(MockCore, AnswersExpectContinue) {
    Player player(small_blocks());
    const std::string request = chat(1, 1, "Expect: 100-continue\r\n");
    const std::size_t head = head_of(request).size();
    EXPECT_EQ(player.ask(request.substr(0, head)), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(status_of(player.ask(request.substr(head))), 200);
}

}  // namespace
}  // namespace driftless::mock
