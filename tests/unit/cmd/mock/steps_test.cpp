// Answers in the steps of a batch, from request to bytes: every API, faults, leaving, metrics.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/mock/core.hpp"
#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// A step takes 10 ms, 5 ms more for each further answer, and 1 ms for each token of a prompt.
CoreOptions in_steps() {
    CoreOptions options;
    options.pace.first = {0};
    options.pace.batch_slowdown = 0.5;
    options.pace.prefill_tokens_per_s = 1000;
    options.cache_block_tokens = 4;
    options.keep_log = true;
    return options;
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
        Player plain{CoreOptions()};
        Player player(in_steps());
        const Instant start = player.now;
        const std::string request = post(call.target, call.body);
        EXPECT_EQ(player.ask(request), plain.ask(request)) << call.target;
        const RequestLog log = player.take_log();
        EXPECT_EQ(log.status, 200) << call.target;
        EXPECT_EQ(log.prompt_tokens, 3u) << call.target;
        const std::int64_t first = start.ns + 13 * ms;
        const std::int64_t end = first + 30 * ms;
        EXPECT_EQ(log.token_ns, call.stream ? (std::vector<std::int64_t>{first, first + 10 * ms,
                                                                         first + 20 * ms, end})
                                            : std::vector<std::int64_t>{end})
            << call.target;
        EXPECT_EQ(log.begin_ns, start.ns);
        EXPECT_EQ(log.due_ns, first);
        EXPECT_EQ(player.core.next_deadline(), never);
    }
}

// What the cache holds takes no time; what comes before the batch does: --ttft and its share.
TEST(MockSteps, ComputeWhatIsNotCached) {
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
}

// Tokens that leave together: the first chunk with its first token, then a step for each token.
TEST(MockSteps, ChunksTakeAStepForEachToken) {
    CoreOptions options = in_steps();
    options.pace.tokens_per_chunk = 3;
    options.reasoning_tokens = 4;
    Player player(options);
    const std::int64_t first = player.now.ns + 11 * ms;
    (void)player.ask(chat(1, 9));
    EXPECT_EQ(
        player.take_log().token_ns,  // 3, 1 (the turn to content), 3, 2
        (std::vector<std::int64_t>{first, first + 10 * ms, first + 40 * ms, first + 60 * ms}));
}

// A host that comes late sends what is due at once; the steps do not wait for it.
TEST(MockSteps, ALateHostDelaysNoStep) {
    Player player(in_steps());
    const std::int64_t first = player.now.ns + 11 * ms;
    player.send(chat(1, 5));
    std::string head;
    player.connection->produce(player.now, head);
    player.now = {first + 25 * ms};
    player.core.advance(player.now);
    player.run();
    const std::int64_t late = first + 25 * ms;
    EXPECT_EQ(player.take_log().token_ns,
              (std::vector<std::int64_t>{late, late, late, first + 30 * ms, first + 40 * ms}));
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
TEST(MockSteps, MetricsSayWhoRunsAndWhoWaits) {
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
}

// Who leaves or is broken off is out of the batch when the step at hand has ended, and the others
// are faster from then on.
TEST(MockSteps, TheOthersAreFasterWhenOneLeaves) {
    for (const bool by_fault : {false, true}) {
        CoreOptions options = in_steps();
        if (by_fault) {
            options.faults = {{Fault::reset, 0, 1}};  // in place of its third token, at 47 ms
        }
        Crowd crowd(options, 2, 5);
        crowd.step();  // begins at 0: 15 ms, and a prompt of two tokens in all
        while (crowd.core.next_deadline() < never) {
            crowd.step();
            if (!by_fault && crowd.now.ns == 32 * ms) {
                crowd.core.close(*crowd.connections[1], crowd.now + Duration{1});
            }
        }
        // Steps of both end at 17, 32, 47 and, after the fault, 62 ms; the rest are of one.
        EXPECT_EQ(crowd.now.ns, by_fault ? 72 * ms : 67 * ms);
        const std::vector<RequestLog> logs = crowd.logs();
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
    EXPECT_EQ(logs[0].begin_ns, 11 * ms + 30 * ms);
    EXPECT_EQ(logs[1].ending, Ending::faulted);
    EXPECT_EQ(logs[1].output_tokens, 2u);
    EXPECT_EQ(logs[1].due_ns, 11 * ms);
}

// One who gives up before its first step has neither begin nor first token.
TEST(MockSteps, WhoGivesUpEarlyHasNotBegun) {
    CoreOptions options = in_steps();
    options.slots = 1;
    Crowd crowd(options, 2, 4);
    crowd.step();
    crowd.core.close(*crowd.connections[1], crowd.now);
    const std::vector<RequestLog> logs = crowd.logs();
    ASSERT_EQ(logs.size(), 1u);
    EXPECT_EQ(logs[0].begin_ns, 0);
    EXPECT_EQ(logs[0].due_ns, 0);
    EXPECT_EQ(crowd.core.metrics().waiting, 0u);
}

}  // namespace
}  // namespace driftless::mock
