// Faults of the mock strike what their rules name.

#include "cmd/mock/faults.hpp"

#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {

namespace {

// The row of a request id; probes and foreign ids have none.
TEST(MockFaults, AreNamedAndChosenByRowOrProbability) {
    expect_each(row_of_request_id, gives("run7-12", 12u), gives("a-b-000017", 17u),
                gives("0badcafe-0000-8000-a000-000000000003", std::nullopt),
                gives("0badcafe-0000-8003-8001-000000000012", 12u),
                gives("0badcafe-0000-8000-9000-000000000012", 12u),
                gives("run7-12.x", std::nullopt), gives("run7", std::nullopt),
                gives("run-", std::nullopt), gives("run-12x", std::nullopt), gives("run--1", 1u),
                gives("", std::nullopt), gives("r-99999999999999999999", std::nullopt));
    for (const char* const name :
         {"refuse", "reset", "stall", "truncate", "malformed", "error", "429", "500", "slow"}) {
        ASSERT_TRUE(from_name<Fault>(name)) << name;
        EXPECT_STREQ(name, name_of(*from_name<Fault>(name)));
    }
    EXPECT_FALSE(from_name<Fault>("none"));
    // A row's rule wins over probabilities; probabilities are met over many requests.
    const std::vector<FaultRule> rules = {{Fault::stall, 0, 5},
                                          {Fault::reset, 0.25, std::nullopt},
                                          {Fault::http_429, 0.5, std::nullopt},
                                          {Fault::refuse, 0.125, std::nullopt}};
    EXPECT_EQ(fault_of_request(rules, 5, 1), Fault::stall);
    int resets = 0;
    int limits = 0;
    int none = 0;
    int refused = 0;
    const int requests = 40'000;
    for (int i = 0; i < requests; ++i) {
        const std::uint64_t seed = mix64(static_cast<std::uint64_t>(i));
        const Fault fault = fault_of_request(rules, 6, seed);
        resets += fault == Fault::reset;
        limits += fault == Fault::http_429;
        none += fault == Fault::none;
        refused += refuses_connection(rules, seed);
        EXPECT_EQ(fault, fault_of_request(rules, 6, seed));
    }
    // Four standard deviations of a binomial at 40,000 are below 0.01.
    EXPECT_NEAR(resets / double{requests}, 0.25, 0.01);
    EXPECT_NEAR(limits / double{requests}, 0.5, 0.01);
    EXPECT_NEAR(none / double{requests}, 0.25, 0.01);
    EXPECT_NEAR(refused / double{requests}, 0.125, 0.01);
}

using Action = MockConnection::Action;

CoreOptions with_fault(Fault fault) {
    return {.faults = {{fault, 0, 7}}, .keep_log = true};
}

std::size_t tokens_in(const std::string& response) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = response.find("\" w", at)) != std::string::npos; ++at) {
        ++count;
    }
    return count;
}

TEST(MockFaults, StrikeTheirRowAndEndConnections) {
    Player player(with_fault(Fault::truncate));
    bool complete = false;
    (void)events_of(player.ask(chat(2, 4, "X-Request-Id: run-8\r\n")), &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(player.take_log().fault, Fault::none);
    (void)events_of(player.ask(chat(2, 4)), &complete);
    EXPECT_FALSE(complete);
    EXPECT_EQ(player.take_log().fault, Fault::truncate);
    // refuse: the connection is reset without an answer, by row at the head, by probability at
    // once.
    Player other_player(with_fault(Fault::refuse));
    EXPECT_EQ(other_player.ask(chat(2, 4)), "");
    EXPECT_EQ(other_player.connection->next_action(), Action::reset);
    EXPECT_EQ(other_player.take_log().ending, Ending::faulted);
    EXPECT_EQ(Player(CoreOptions{.faults = {{Fault::refuse, 1.0, std::nullopt}}})
                  .connection->next_action(),
              Action::reset);
    // reset and truncate: half of the tokens, then the connection ends, in bad or in good order.
    for (const Fault fault : {Fault::reset, Fault::truncate}) {
        Player third_player(with_fault(fault));
        bool other_complete = false;
        const std::string response = third_player.ask(chat(2, 8));
        (void)events_of(response, &other_complete);
        EXPECT_EQ(tokens_in(response), 4u);
        EXPECT_FALSE(other_complete);
        EXPECT_FALSE(says(response, "[DONE]"));
        EXPECT_EQ(third_player.connection->next_action(),
                  fault == Fault::reset ? Action::reset : Action::close);
        EXPECT_EQ(third_player.core.metrics().running, 0u);
        const RequestLog log = third_player.take_log();
        EXPECT_EQ(std::tuple(log.ending, log.output_tokens), std::tuple(Ending::faulted, 4u));
        EXPECT_EQ(log.token_ns.size(), 4u);
    }
}

// stall: half of the tokens, then silence until the peer leaves.
TEST(MockFaults, StallBreakAnEventOrSayAnError) {
    Player player(with_fault(Fault::stall));
    EXPECT_EQ(tokens_in(player.ask(chat(2, 8))), 4u);
    EXPECT_EQ(player.connection->next_action(), Action::keep);
    EXPECT_EQ(player.connection->next_deadline(), never);
    RequestLog log;
    EXPECT_FALSE(player.core.take_finished(log));
    player.core.close(*player.connection, player.now);
    EXPECT_EQ(player.take_log().output_tokens, 4u);
    // malformed: one event is no JSON, everything else is there.
    Player other_player(with_fault(Fault::malformed));
    bool complete = false;
    const std::vector<std::string> events = events_of(other_player.ask(chat(2, 8)), &complete);
    EXPECT_TRUE(complete);
    std::size_t broken = 0;
    for (const std::string& event : events) {
        broken += event != "[DONE]" && !JsonDocument().parse(event);
    }
    EXPECT_EQ(std::tuple(broken, events.size()), std::tuple(1u, 1 + 8 + 1 + 1 + 1u));
    // error: an error object inside the 200, then [DONE] and a proper end.
    Player third_player(with_fault(Fault::error));
    complete = false;
    const std::string response = third_player.ask(chat(2, 8));
    const std::vector<std::string> other_events = events_of(response, &complete);
    EXPECT_TRUE(complete);
    EXPECT_EQ(status_of(response), 200);
    ASSERT_EQ(other_events.size(), 1 + 4 + 2u);
    EXPECT_EQ(values_of(other_events[5], "error/code"), "500");
    EXPECT_EQ(other_events[6], "[DONE]");
    EXPECT_EQ(status_of(third_player.ask(get("/health"))), 200) << "the connection goes on";
}

// 429 and 500: whole error answers, with Retry-After where it belongs.
TEST(MockFaults, ChangeStatusPaceAndLengthWithoutStreamsToo) {
    Player limited(with_fault(Fault::http_429));
    const std::string busy = limited.ask(chat(2, 8));
    EXPECT_EQ(status_of(busy), 429);
    EXPECT_TRUE(says(busy, "retry-after: 1\r\n"));
    EXPECT_EQ(limited.take_log().status, 429);
    EXPECT_EQ(status_of(Player(with_fault(Fault::http_500)).ask(chat(2, 8))), 500);
    // slow: the first 200 bytes in sends of their own, and the same bytes in total.
    Player player(with_fault(Fault::slow));
    EXPECT_EQ(player.ask(chat(2, 8)), Player(with_fault(Fault::none)).ask(chat(2, 8)));
    std::size_t single = 0;
    while (single < player.sends.size() && player.sends[single].bytes.size() <= 1) {
        ++single;
    }
    EXPECT_GE(single, std::size_t{slow_bytes});
    EXPECT_EQ(status_of(player.ask(get("/health"))), 200);
    EXPECT_EQ(player.sends.size(), 1u) << "the next exchange is not slow";
    // An answer of one token has no middle: the fault strikes before it, with a head.
    for (const bool early : {false, true}) {
        CoreOptions options = with_fault(Fault::truncate);
        options.early_headers = early;
        const std::string response = Player(options).ask(chat(2, 1));
        EXPECT_EQ(status_of(response), 200);
        EXPECT_EQ(response, head_of(response));
    }
    // Answers without streaming suffer the same faults in their one piece.
    const std::string request =
        post("/v1/completions", R"({"prompt":"a b","max_tokens":50,"stream":false})");
    bool complete = true;
    Player cut(with_fault(Fault::truncate));
    (void)body_of(cut.ask(request), &complete);
    EXPECT_FALSE(complete);
    EXPECT_EQ(cut.connection->next_action(), Action::close);
    JsonDocument json;
    EXPECT_FALSE(json.parse(body_of(Player(with_fault(Fault::malformed)).ask(request), &complete)));
    EXPECT_TRUE(complete);
    EXPECT_EQ(status_of(Player(with_fault(Fault::error)).ask(request)), 500);
}

}  // namespace
}  // namespace driftless::mock
