// The mock's core: its steps, and what it refuses.

#include "cmd/mock/core.hpp"

#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {

namespace {

CoreOptions small_blocks() {
    return {.cache_block_tokens = 4, .keep_log = true};
}

// A chat stream is what vLLM sends (wire-formats 1.2): head at once, then role and first token
// together, one event a token, finish on the last content, usage with cached tokens, [DONE].
TEST(MockCore, StreamsChatAsVllmDoes) {
    CoreOptions options = small_blocks();
    options.overhead = {3, 5};
    bool complete = false;
    const std::string response = Player(options).ask(chat(9, 4));
    const std::vector<std::string> events = events_of(response, &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(status_of(response), 200);
    EXPECT_TRUE(says(head_of(response), "content-type: text/event-stream"));
    ASSERT_EQ(events.size(), 7u);
    EXPECT_EQ(values_of(events[0], "id, object, model, choices/0/delta/role"),
              "chatcmpl-run-7, chat.completion.chunk, mock-model, assistant");
    EXPECT_EQ(at(JsonText(events[0]).root, "choices/0/delta/content").as_string(), "");
    for (std::size_t i = 1; i <= 4; ++i) {
        const JsonText event(events[i]);
        const std::string content{*at(event.root, "choices/0/delta/content").as_string()};
        EXPECT_EQ(content.substr(0, 2), " w") << content;
        EXPECT_EQ(at(event.root, "choices/0/finish_reason").raw(), i == 4 ? "\"length\"" : "null");
        EXPECT_FALSE(event.root.find("usage").present());
    }
    EXPECT_EQ(values_of(events[5], "choices, usage"),
              R"([], {"prompt_tokens":17,"total_tokens":21,"completion_tokens":4,)"
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
    EXPECT_EQ(std::tuple(player.sends[0].at_ns, player.sends[1].at_ns, player.sends[2].at_ns),
              std::tuple(start.ns, start.ns + 5'009'000, start.ns + 15'009'000));
    EXPECT_EQ(player.sends[3].at_ns, start.ns + 25'009'000);
    const RequestLog log = player.take_log();
    EXPECT_EQ(std::tuple(log.start_ns, log.last_byte_ns, log.end_ns),
              std::tuple(start.ns, start.ns, player.sends[3].at_ns));
    EXPECT_EQ(log.token_ns, (std::vector<std::int64_t>{player.sends[1].at_ns, player.sends[2].at_ns,
                                                       player.sends[3].at_ns}));
    EXPECT_EQ(std::tuple(log.row, log.prompt_tokens, log.output_tokens), std::tuple(7u, 9u, 3u));
    EXPECT_EQ(log.ending, Ending::complete);
}

// A host that comes late delays what it missed and nothing else; missed tokens leave together,
// each an event of its own.
TEST(MockCore, ALateHostShiftsNothingAndCompletionsStream) {
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
    // Completions: ids or text, no role event, max_tokens, 16 by default, no usage unless asked
    // for.
    Player other_player(small_blocks());
    std::vector<std::string> events = events_of(other_player.ask(
        post("/v1/completions", R"({"prompt":[1,22,333,4444,5],"stream":true,"max_tokens":2})")));
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(values_of(events[0], "id, object, choices/0/finish_reason"),
              "cmpl-run-7, text_completion, null");
    EXPECT_EQ(values_of(events[0], "choices/0/text").substr(0, 2), " w");
    EXPECT_EQ(values_of(events[1], "choices/0/finish_reason"), "length");
    EXPECT_EQ(other_player.take_log().prompt_tokens, 5u);
    events =
        events_of(other_player.ask(post("/v1/completions", R"({"prompt":"a b","stream":true})")));
    EXPECT_EQ(events.size(), 17u);
}

// Continuous usage stands on every event and grows; reasoning comes first under its own name.
TEST(MockCore, SendsUsageReasoningAndWholeAnswers) {
    CoreOptions options = small_blocks();
    options.reasoning_tokens = 3;
    options.pace.tokens_per_chunk = 2;
    const std::vector<std::string> events = events_of(Player(options).ask(
        chat(2, 6, "X-Request-Id: a-1\r\n", R"(,"continuous_usage_stats":true)")));
    ASSERT_EQ(events.size(), 1 + 4 + 2u);
    const std::uint64_t completed[] = {0, 2, 3, 5, 6};
    for (std::size_t i = 0; i < 5; ++i) {
        const JsonText event(events[i]);
        EXPECT_EQ(at(event.root, "usage/completion_tokens").as_u64(), completed[i]);
        const bool reasoning = i == 1 || i == 2;
        EXPECT_EQ(at(event.root, "choices/0/delta/reasoning").present(), reasoning);
        EXPECT_EQ(at(event.root, "choices/0/delta/content").present(), !reasoning);
    }
    EXPECT_EQ(values_of(events[5], "usage/completion_tokens_details/reasoning_tokens"), "3");
    // An answer without streaming is one JSON object at the instant of its last token.
    Player other_player(small_blocks());
    const Instant start = other_player.now;
    bool complete = false;
    const std::string response = other_player.ask(
        post("/v1/chat/completions",
             R"({"messages":[{"role":"user","content":"a b c"}],"max_tokens":3,"stream":false})",
             "X-Request-Id: .chunk-1\r\n"));
    const std::string body = body_of(response, &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(other_player.sends.back().at_ns, start.ns + 25'000'000);
    EXPECT_EQ(values_of(body, "object, id, choices/0/message/role, usage/completion_tokens"),
              "chat.completion, chatcmpl-.chunk-1, assistant, 3");
    EXPECT_EQ(other_player.take_log().token_ns.size(), 1u);
}

// cached_tokens: full blocks of the longest prefix seen before, never the last token.
TEST(MockCore, ReportsCachedTokensAndAnswersAtEverySplit) {
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
    // The same exchange whole, byte by byte and at every split: identical bytes back.
    const std::string request = chat(6, 3);
    const std::string expected = Player(small_blocks()).ask(request);
    EXPECT_EQ(Player(small_blocks()).ask(request, 1), expected);
    for (std::size_t split = 1; split < request.size(); ++split) {
        Player other_player(small_blocks());
        other_player.send(request.substr(0, split));
        EXPECT_EQ(other_player.connection->next_deadline(), never);
        ASSERT_EQ(other_player.ask(request.substr(split)), expected) << split;
    }
}

// The same request id gives the same answer on any connection at any time; another id another.
TEST(MockCore, AnswersDependOnTheRequestIdInOrder) {
    const auto words = [](Player& player, const std::string& fields) {
        std::string text;
        for (const std::string& event : events_of(player.ask(chat(3, 40, fields)))) {
            if (event != "[DONE]") {
                text += values_of(event, "choices/0/delta/content");
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
    // Requests sent ahead wait their turn, in order.
    Player player(small_blocks());
    player.send(chat(2, 1) + get("/health") + chat(3, 1));
    player.run();
    EXPECT_EQ(player.take_log().prompt_tokens, 2u);
    EXPECT_EQ(player.take_log().prompt_tokens, 3u);
    const std::size_t page = player.received.find("content-length: 0\r\n");
    ASSERT_NE(page, std::string::npos);
    EXPECT_LT(player.received.find("[DONE]"), page);
    EXPECT_GT(player.received.rfind("[DONE]"), page);
    // A pipelined request whose tokens are due at once: its head leaves before them.
    CoreOptions options = small_blocks();
    options.pace.first = options.pace.between = Duration{0};
    Player other_player(options);
    other_player.send(chat(1, 2) + chat(1, 2));
    other_player.run();
    const std::size_t second = other_player.received.find("HTTP/1.1 200", 1);
    ASSERT_NE(second, std::string::npos);
    bool first_whole = false;
    bool second_whole = false;
    (void)body_of(other_player.received.substr(0, second), &first_whole);
    (void)body_of(other_player.received.substr(second), &second_whole);
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
    EXPECT_EQ(std::tuple(core.metrics().running, core.metrics().waiting), std::tuple(1u, 3u));
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
TEST(MockCore, ClosesWhenItSaidSoAndHoldsHeadersBack) {
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
    // The head may be held back until the first token, as other servers do.
    options = small_blocks();
    options.early_headers = false;
    Player other_player(options);
    const Instant start = other_player.now;
    EXPECT_EQ(status_of(other_player.ask(chat(1, 2))), 200);
    ASSERT_EQ(other_player.sends.size(), 2u);
    EXPECT_EQ(other_player.sends[0].at_ns, start.ns + 5'000'000);
    // A client that waits for 100 Continue gets it before its body.
    Player patient(small_blocks());
    const std::string request = chat(1, 1, "Expect: 100-continue\r\n");
    const std::size_t head = head_of(request).size();
    EXPECT_EQ(patient.ask(request.substr(0, head)), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(status_of(patient.ask(request.substr(head))), 200);
}

// Answers in the steps of a batch, from request to bytes: every API, faults, leaving, metrics.

constexpr std::int64_t ms = 1'000'000;

/// A step takes 10 ms, 5 ms more for each further answer, and 1 ms for each token of a prompt.
CoreOptions in_steps() {
    return {.pace = {.first = {0}, .batch_slowdown = 0.5, .prefill_tokens_per_s = 1000},
            .cache_block_tokens = 4,
            .keep_log = true};
}

struct Call {
    const char* target;
    const char* body;
    bool stream;
};

/// Each API, streamed and whole where it has both: three prompt tokens, four to make.
std::vector<Call> calls() {
    return {
        {"/v1/chat/completions",
         R"({"messages":[{"role":"user","content":"a b c"}],"max_tokens":4,"stream":true})", true},
        {"/v1/chat/completions",
         R"({"messages":[{"role":"user","content":"a b c"}],"max_tokens":4})", false},
        {"/v1/completions", R"({"prompt":[1,2,3],"max_tokens":4,"stream":true})", true},
        {"/v1/completions", R"({"prompt":"a b c","max_tokens":4})", false},
        {"/v1/responses", R"({"input":"a b c","max_output_tokens":4,"stream":true})", true},
        {"/v1/messages",
         R"({"messages":[{"role":"user","content":"a b c"}],"max_tokens":4,"stream":true})", true},
        {"/completion", R"({"prompt":"a b c","n_predict":4,"stream":true})", true},
        {"/generate", R"({"text":"a b c","sampling_params":{"max_new_tokens":4},"stream":true})",
         true},
        {"/generate_stream", R"({"inputs":"a b c","parameters":{"max_new_tokens":4}})", true},
        {"/api/generate", R"({"prompt":"a b c","options":{"num_predict":4}})", true},
        {"/v2/models/ensemble/generate_stream", R"({"text_input":"a b c","max_tokens":4})", true},
        {"/v2/models/ensemble/generate", R"({"text_input":"a b c","max_tokens":4})", false},
    };
}

// Every API is paced by the steps, and says what it says without them.
TEST(MockSteps, PaceEveryApi) {
    for (const Call& call : calls()) {
        Player player(in_steps());
        const Instant start = player.now;
        const std::string request = post(call.target, call.body);
        EXPECT_EQ(player.ask(request), Player{CoreOptions()}.ask(request)) << call.target;
        const RequestLog log = player.take_log();
        EXPECT_EQ(log.status, 200) << call.target;
        EXPECT_EQ(log.prompt_tokens, 3u) << call.target;
        const std::int64_t first = start.ns + 13 * ms;
        const std::int64_t end = first + 30 * ms;
        EXPECT_EQ(log.token_ns, call.stream ? (std::vector<std::int64_t>{first, first + 10 * ms,
                                                                         first + 20 * ms, end})
                                            : std::vector<std::int64_t>{end})
            << call.target;
        EXPECT_EQ(std::tuple(log.begin_ns, log.due_ns), std::tuple(start.ns, first));
        EXPECT_EQ(player.core.next_deadline(), never);
    }
}

// What the cache holds takes no time; what comes before the batch does: --ttft and its share.
TEST(MockSteps, ComputeWhatIsNotCachedForEachToken) {
    CoreOptions options = in_steps();
    options.pace.first = milliseconds(2);
    options.pace.per_uncached_token = microseconds(100);
    Player player(options);
    (void)player.ask(chat(9, 1));
    const RequestLog cold = player.take_log();
    EXPECT_EQ(cold.begin_ns - cold.last_byte_ns, 2 * ms + 900'000);
    EXPECT_EQ(cold.due_ns - cold.begin_ns, 10 * ms + 9 * ms);
    (void)player.ask(chat(9, 1));
    const RequestLog warm = player.take_log();
    EXPECT_EQ(warm.cached_tokens, 8u);
    EXPECT_EQ(warm.begin_ns - warm.last_byte_ns, 2 * ms + 100'000);
    EXPECT_EQ(warm.due_ns - warm.begin_ns, 10 * ms + 1 * ms);
    // Tokens that leave together: the first chunk with its first token, then a step for each token.
    options = in_steps();
    options.pace.tokens_per_chunk = 3;
    options.reasoning_tokens = 4;
    Player other_player(options);
    const std::int64_t first = other_player.now.ns + 11 * ms;
    (void)other_player.ask(chat(1, 9));
    EXPECT_EQ(
        other_player.take_log().token_ns,  // 3, 1 (the turn to content), 3, 2
        (std::vector<std::int64_t>{first, first + 10 * ms, first + 40 * ms, first + 60 * ms}));
    // A host that comes late sends what is due at once; the steps do not wait for it.
    Player third_player(in_steps());
    const std::int64_t other_first = third_player.now.ns + 11 * ms;
    third_player.send(chat(1, 5));
    std::string head;
    third_player.connection->produce(third_player.now, head);
    third_player.now = {other_first + 25 * ms};
    third_player.core.advance(third_player.now);
    third_player.run();
    const std::int64_t late = other_first + 25 * ms;
    EXPECT_EQ(third_player.take_log().token_ns,
              (std::vector<std::int64_t>{late, late, late, other_first + 30 * ms,
                                         other_first + 40 * ms}));
}

/// So many connections that have asked, each for one prompt token and `tokens`.
struct Crowd {
    Crowd(const CoreOptions& options, std::uint32_t size, std::uint32_t tokens) : core(options) {
        for (std::uint32_t i = 0; i < size; ++i) {
            connections.push_back(&core.open(now));
            connections.back()->receive(
                chat(1, tokens, "X-Request-Id: r-" + std::to_string(i) + "\r\n"), now);
            std::string head;
            connections.back()->produce(now, head);
        }
    }
    /// The next step; what it made is sent.
    void step() {
        now = core.next_deadline();
        core.advance(now);
        while (MockConnection* woken = core.next_woken()) {
            EXPECT_LE(woken->next_deadline(), now);
            std::string out;
            woken->produce(now, out);
        }
    }
    std::vector<RequestLog> logs() {
        std::vector<RequestLog> all;
        for (RequestLog log; core.take_finished(log);) {
            all.push_back(log);
        }
        return all;
    }
    MockCore core;
    Instant now{0};
    std::vector<MockConnection*> connections;
};

// The page of metrics says who is in the batch and who waits, under the names of real servers.
TEST(MockSteps, MetricsSayWhoRunsAndOthersGetFaster) {
    CoreOptions options = in_steps();
    options.slots = 2;
    Crowd crowd(options, 5, 2);
    EXPECT_EQ(crowd.core.metrics().running, 0u);
    EXPECT_EQ(crowd.core.metrics().waiting, 5u);
    crowd.step();  // the first one begins
    MockConnection& reader = crowd.core.open(crowd.now);
    reader.receive(get("/metrics"), crowd.now);
    std::string page;
    reader.produce(crowd.now, page);
    EXPECT_TRUE(
        says(page, "vllm:num_requests_running{engine=\"0\",model_name=\"mock-model\"} 2.0"));
    EXPECT_TRUE(says(page, "sglang:num_queue_reqs{model_name=\"mock-model\"} 3.0"));
    while (crowd.core.next_deadline() < never) {
        crowd.step();
    }
    EXPECT_EQ(crowd.logs().size(), 5u);
    EXPECT_EQ(crowd.core.metrics().running + crowd.core.metrics().waiting, 0u);
    // Who leaves or is broken off is out of the batch when the step at hand has ended, and the
    // others are faster from then on.
    for (const bool by_fault : {false, true}) {
        CoreOptions other_options = in_steps();
        if (by_fault) {
            other_options.faults = {{Fault::reset, 0, 1}};  // in place of its third token, at 47 ms
        }
        Crowd other_crowd(other_options, 2, 5);
        other_crowd.step();  // begins at 0: 15 ms, and a prompt of two tokens in all
        while (other_crowd.core.next_deadline() < never) {
            other_crowd.step();
            if (!by_fault && other_crowd.now.ns == 32 * ms) {
                other_crowd.core.close(*other_crowd.connections[1], other_crowd.now + Duration{1});
            }
        }
        // Steps of both end at 17, 32, 47 and, after the fault, 62 ms; the rest are of one.
        EXPECT_EQ(other_crowd.now.ns, by_fault ? 72 * ms : 67 * ms);
        const std::vector<RequestLog> logs = other_crowd.logs();
        ASSERT_EQ(logs.size(), 2u);
        EXPECT_EQ(logs[0].ending, by_fault ? Ending::faulted : Ending::aborted);
        EXPECT_EQ(logs[1].ending, Ending::complete);
    }
}

// A stalled answer is made to its end, and sends nothing of it: its slot is free then.
TEST(MockSteps, AStalledAnswerIsMadeToItsEnd) {
    CoreOptions options = in_steps();
    options.slots = 1;
    options.faults = {{Fault::stall, 0, 0}};
    Crowd crowd(options, 2, 4);
    while (crowd.core.next_deadline() < never) {
        crowd.step();
    }
    crowd.core.close(*crowd.connections[0], crowd.now);
    const std::vector<RequestLog> logs = crowd.logs();
    ASSERT_EQ(logs.size(), 2u);
    EXPECT_EQ(std::tuple(logs[0].begin_ns, logs[1].ending, logs[1].output_tokens, logs[1].due_ns),
              std::tuple(11 * ms + 30 * ms, Ending::faulted, 2u, 11 * ms));
    // One who gives up before its first step has neither begin nor first token.
    options = in_steps();
    options.slots = 1;
    Crowd other_crowd(options, 2, 4);
    other_crowd.step();
    other_crowd.core.close(*other_crowd.connections[1], other_crowd.now);
    const std::vector<RequestLog> other_logs = other_crowd.logs();
    ASSERT_EQ(other_logs.size(), 1u);
    EXPECT_EQ(std::tuple(other_logs[0].begin_ns, other_logs[0].due_ns), std::tuple(0, 0));
    EXPECT_EQ(other_crowd.core.metrics().waiting, 0u);
}

CoreOptions logged() {
    return CoreOptions{.keep_log = true};
}

// What is no request, or asks for what is not there, is refused as vLLM and FastAPI refuse it.
TEST(MockPages, RefusesNonsense) {
    struct Case {
        std::string request;
        int status;
        const char* says;
    };
    const std::string chat_target = "/v1/chat/completions";
    for (const Case& c : {
             Case{post(chat_target, "{no json"), 400, "json_invalid"},
             Case{post(chat_target, ""), 400, "json_invalid"},
             Case{post(chat_target, "[1]"), 400, "valid dictionary"},
             Case{post(chat_target, "{}"), 400, "'messages'"},
             Case{post(chat_target, R"({"messages":[]})"), 400, "'messages'"},
             Case{post(chat_target, R"({"messages":"hi"})"), 400, "'messages'"},
             Case{post("/v1/completions", "{}"), 400, "'prompt'"},
             Case{post("/v1/completions", R"({"prompt":""})"), 400, "non-empty"},
             Case{post("/v1/completions", R"({"prompt":["a","b"]})"), 400, "one prompt"},
             Case{post("/v1/completions", R"({"prompt":"a","max_tokens":0})"), 400, "at least 1"},
             Case{post("/v1/completions", R"({"prompt":"a","max_tokens":"x"})"), 400,
                  "'max_tokens'"},
             Case{post("/v1/completions", R"({"prompt":"a","stream":1})"), 400, "'stream'"},
             Case{post("/v1/completions", R"({"prompt":"a","stream_options":{}})"), 400,
                  "Stream options can only be defined"},
             Case{post("/v1/completions", R"({"prompt":"a","model":"x"})"), 404,
                  "The model `x` does not exist."},
             Case{post("/v1/completions", std::string(100, '[')), 413, "too deep"},
             Case{get("/nowhere"), 404, R"({"detail":"Not Found"})"},
             Case{get("//health"), 404, "Not Found"},
             Case{get("/v1/completions"), 405, "allow: POST"},
             Case{post("/v1/models", "{}"), 405, "allow: GET"},
             Case{"nonsense\r\n\r\n", 400, "Invalid HTTP request received."},
         }) {
        bool complete = false;
        const std::string response = Player(logged()).ask(c.request);
        (void)body_of(response, &complete);
        EXPECT_TRUE(complete);
        EXPECT_EQ(status_of(response), c.status) << c.request;
        EXPECT_TRUE(says(response, c.says));
    }
}

// An unusual but right body is read all the same: escaped names, one prompt in a list.
TEST(MockPages, ReadsUnusualBodiesWithinItsContext) {
    for (const char* body :
         {R"({"p\u0072ompt":"a b c"})", R"({"prompt":["a b c"]})", R"({"prompt":[[1,2,3]]})",
          R"({"prompt":[1,2,3]})", R"({ "prompt" : "a b c" })"}) {
        Player player(logged());
        EXPECT_EQ(status_of(player.ask(post("/v1/completions", body))), 200) << body;
        EXPECT_EQ(player.take_log().prompt_tokens, 3u) << body;
    }
    Player player(logged());
    (void)player.ask(post("/v1/chat/completions",
                          R"({"messages":[{"c\u006fntent":"a b"},{"content":[{"text":"c"}]}]})"));
    EXPECT_EQ(player.take_log().prompt_tokens, 3u);
    // Prompts up to the context are taken, one token more is refused; answers are cut to what is
    // left.
    CoreOptions options = logged();
    options.model.context_tokens = 8;
    for (const std::size_t words : {7, 8, 9}) {
        Player other_player(options);
        EXPECT_EQ(status_of(other_player.ask(chat(words, 5))), words == 9 ? 400 : 200);
        EXPECT_EQ(other_player.take_log().output_tokens, words == 9 ? 0u : 1u);
    }
    // The model list names the model and its length.
    Player other_player(CoreOptions{.model = {"a/b \"c\"", 4096}});
    const std::string models = body_of(other_player.ask(get("/v1/models?x=1")));
    EXPECT_EQ(values_of(models, "data/0/id, data/0/max_model_len"), "a/b \"c\", 4096");
    EXPECT_EQ(status_of(other_player.ask(get("/health"))), 200);
    EXPECT_EQ(status_of(other_player.ask(get("/version"))), 200);
}

// /tokenize shows the template: both prompts share its head, and differ in the one word.
TEST(MockPages, TokenizesForThePreflight) {
    CoreOptions options{.overhead = {3, 5}};
    const auto tokenize = [&](const char* word) {
        const std::string body = R"({"model":"mock-model","messages":[{"role":"user","content":")" +
                                 std::string(word) + R"("}],"add_generation_prompt":true})";
        const JsonText answer(body_of(Player(options).ask(post("/tokenize", body))));
        EXPECT_EQ(answer.root.find("count").as_u64(), 9u);
        return numbers_of(answer.root.find("tokens"));
    };
    const std::vector<double> the = tokenize("the");
    const std::vector<double> cat = tokenize("cat");
    ASSERT_EQ(the.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(the[i] == cat[i], i != 3) << i;
    }
    Player player(options);
    EXPECT_TRUE(says(player.ask(post("/tokenize", R"({"prompt":"one two"})")), "{\"count\":10,"));
}

// Each form of /tokenize takes what its server takes, and nothing else.
TEST(MockPages, TokenizesAsOtherServersDo) {
    CoreOptions options{.overhead = {2, 1}};
    const auto ask = [&](const char* path, const char* body) {
        return Player(options).ask(post(path, body));
    };
    const char* const chat =
        R"({"messages":[{"role":"user","content":"one two"}],"add_generation_prompt":true})";
    options.tokenize = TokenizeForm::sglang;
    EXPECT_EQ(status_of(ask("/tokenize", chat)), 400);
    EXPECT_TRUE(says(ask("/v1/tokenize", R"({"prompt":"one two"})"), "{\"count\":2,"));
    EXPECT_EQ(status_of(ask("/apply-template", chat)), 404);
    options.tokenize = TokenizeForm::llama_cpp;
    EXPECT_EQ(body_of(ask("/tokenize", chat)), R"({"tokens":[]})");
    EXPECT_EQ(body_of(ask("/apply-template", chat)),
              R"({"prompt":"<head0> <head1> one two <tail0> "})");
    const std::string bare = body_of(ask("/tokenize", R"({"content":"one two one"})"));
    EXPECT_EQ(std::count(bare.begin(), bare.end(), ','), 2) << bare;
    EXPECT_EQ(status_of(ask("/v1/tokenize", R"({"prompt":"one"})")), 404);
    options.tokenize = TokenizeForm::none;
    EXPECT_EQ(status_of(ask("/tokenize", chat)), 404);
    EXPECT_EQ(status_of(Player(options).ask(get("/tokenize"))), 404);
}

// The counters of /metrics under vLLM's and SGLang's names, and under one server's alone.
TEST(MockPages, CountsForMetrics) {
    CoreOptions options{.cache_block_tokens = 4};
    Player player(options);
    (void)player.ask(chat(5, 3));
    (void)player.ask(chat(5, 2));
    const std::string page = body_of(player.ask(get("/metrics")));
    EXPECT_TRUE(says(
        page, {"# TYPE vllm:prompt_tokens_total counter\n"
               "vllm:prompt_tokens_total{engine=\"0\",model_name=\"mock-model\"} 10.0\n",
               "vllm:generation_tokens_total{engine=\"0\",model_name=\"mock-model\"} 5.0\n",
               "vllm:num_requests_running{engine=\"0\",model_name=\"mock-model\"} 0.0\n",
               "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"mock-model\"} 10.0\n",
               "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"mock-model\"} 4.0\n",
               "# TYPE sglang:num_running_reqs "
               "gauge\nsglang:num_running_reqs{model_name=\"mock-model\"} 0.0\n",
               "sglang:num_queue_reqs{model_name=\"mock-model\"} 0.0\n",
               "sglang:prompt_tokens_total{model_name=\"mock-model\"} 10.0\n",
               "sglang:generation_tokens_total{model_name=\"mock-model\"} 5.0\n",
               "sglang:cache_hit_rate{model_name=\"mock-model\"} 0.400000\n",
               "sglang:num_requests_total{model_name=\"mock-model\"} 2.0\n"}));
    for (const MetricNames names : {MetricNames{true, false}, MetricNames{false, true}}) {
        options.metric_names = names;
        const std::string of_one = body_of(Player(options).ask(get("/metrics")));
        EXPECT_EQ(of_one.find("vllm:") != of_one.npos, names.vllm);
        EXPECT_EQ(of_one.find("sglang:") != of_one.npos, names.sglang);
    }
    options.model.name = "m\"1\n";
    const std::string quoted = body_of(Player(options).ask(get("/metrics")));
    EXPECT_TRUE(says(quoted, R"({model_name="m\"1\n"} 0.0)"));
    options.metric_names = {false, false};
    EXPECT_EQ(status_of(Player(options).ask(get("/metrics"))), 404);
}

// vLLM's and SGLang's endpoints empty the cache; a pretended one says so and does not.
TEST(MockPages, EmptiesItsCacheAndNamesAPod) {
    const auto reset = [](CacheReset whose, const std::string& path) {
        Player player(CoreOptions{.cache_block_tokens = 4, .cache_reset = whose});
        (void)player.ask(chat(5, 1));
        const int status = status_of(player.ask("POST " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"));
        (void)player.ask(chat(5, 1));
        return std::tuple(status, player.core.metrics().cache_hits);
    };
    for (const char* path : {"/reset_prefix_cache", "/flush_cache"}) {
        EXPECT_EQ(reset(CacheReset::both, path), std::tuple(200, 0u));
        EXPECT_EQ(reset(CacheReset::pretended, path), std::tuple(200, 4u));
        EXPECT_EQ(reset(CacheReset::none, path), std::tuple(404, 4u));
    }
    EXPECT_EQ(reset(CacheReset::vllm, "/flush_cache"), std::tuple(404, 4u));
    EXPECT_EQ(reset(CacheReset::sglang, "/flush_cache"), std::tuple(200, 0u));
    EXPECT_EQ(status_of(Player{CoreOptions()}.ask(get("/flush_cache"))), 405);
    // Under --pod every answer, whatever it is, says who gave it, and no answer else.
    CoreOptions options{.pod = "llama-7"};
    for (const std::string& request :
         {chat(5, 3), post("/v1/chat/completions", "{"), get("/nowhere"), get("/health")}) {
        EXPECT_TRUE(says(Player(options).ask(request), "\r\ntarget-pod: llama-7\r\n")) << request;
        EXPECT_FALSE(says(Player(CoreOptions{}).ask(request), "target-pod"));
    }
}

TEST(MockLog, WritesOneObjectPerRequest) {
    Player player(logged());
    (void)player.ask(chat(5, 2));
    std::string line;
    append_log_line(line, player.take_log());
    EXPECT_EQ(line.back(), '\n');
    EXPECT_EQ(values_of(line, "request_id, row, traceparent, start_ns, prompt_tokens"),
              "run-7, 7, null, 1000000, 5");
    EXPECT_EQ(values_of(line, "cached_tokens, output_tokens, status, fault, token_ns"),
              "0, 2, 200, none, [6000000,16000000]");
}

}  // namespace
}  // namespace driftless::mock
