// A preflight ends in time, whatever the server does: each request obeys the limits it was given,
// all of them together have one, and a long wait is told of.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/preflight_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string models =
    "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"data\":[{\"id\":\"m1\"}]}\n";
std::vector<std::string> told;

struct Ended {
    bool ok = false;
    std::string why;
    Duration took;
    std::uint32_t requests = 0;
};

/// Asks a server that gives the answers in turn.
Ended ask(const std::vector<CannedAnswer>& answers, const AskLimits& limits,
          const Weather& weather = {}) {
    SimDriver driver(1, weather, mock::CoreOptions{}, {&answers, 1.0, 0, true});
    Ended ended;
    {
        Loop loop(driver, 8);
        PreflightPlan plan = plan_of(Api::openai_chat, PromptKind::text, WordTable::built_in());
        plan.server.limits = limits;
        plan.server.tell_waiting = [](const std::string& line) { told.push_back(line); };
        plan.body.model = "m1";
        const Instant begun = driver.now();
        Preflight preflight(loop, plan);
        ended.ok = preflight.run();
        ended.why = preflight.failure().text;
        ended.took = driver.now() - begun;
        ended.requests = preflight.findings().requests;
    }
    EXPECT_EQ(driver.sockets_open(), 0u);
    return ended;
}

// What was waited for, how long, by which flag, and a remedy; and it took no longer.
TEST(PreflightLimits, NamesTheLimitThatWasReached) {
    told.clear();
    AskLimits limits(seconds(60));
    limits.first_byte = seconds(3);
    limits.idle = seconds(2);
    limits.total = seconds(4);
    const Ended mute = ask({{"mute", "", "late", seconds(100)}}, limits);
    EXPECT_FALSE(mute.ok);
    EXPECT_TRUE(says(mute.why,
                     "the first byte of an answer did not come within 3 s "
                     "(--timeout-first-byte); check that the server is not stuck"));
    EXPECT_TRUE(says(mute.why, "no answer to GET /v1/models came from"));
    EXPECT_LT(mute.took.ns, seconds(4).ns);
    const Ended torn = ask({{"torn", head, "late", seconds(100)}}, limits);
    EXPECT_TRUE(says(torn.why, "nothing more of it came for 2 s (--timeout-idle)"));
    EXPECT_LT(torn.took.ns, seconds(3).ns);
    limits.idle = seconds(30);
    const Ended slow = ask({{"slow", head, "late", seconds(100)}}, limits);
    EXPECT_TRUE(says(slow.why, "the answer did not end within 4 s (--timeout-total)"));
    EXPECT_TRUE(told.empty());
}

// The kernel loses the end of every connection, that of a shutdown, too: an inquiry that is given
// up ends all the same, and an end that delimits an answer is found.
TEST(PreflightLimits, HoldWhereTheKernelLosesEnds) {
    Weather weather;
    weather.lose_end = 1;
    AskLimits limits(seconds(60));
    limits.first_byte = seconds(3);
    const Ended mute = ask({{"mute", "", "late", seconds(100)}}, limits, weather);
    EXPECT_FALSE(mute.ok);
    EXPECT_LT(mute.took.ns, seconds(4).ns);
    const std::string cut = "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":";
    const Ended torn = ask({{"torn", cut, "", {}, true}}, limits, weather);
    EXPECT_FALSE(torn.ok);
    EXPECT_LT(torn.took.ns, seconds(30).ns) << torn.why;  // some requests, 0.5 s each
}

// An endpoint of tokens that hangs is asked once, not in each of its forms.
TEST(PreflightLimits, AsksAHangingTokenizeEndpointOnce) {
    told.clear();
    const std::vector<CannedAnswer> answers{{"models", models, ""},
                                            {"head", head, "late", seconds(100)},
                                            {"head", head, "late", seconds(100)},
                                            {"head", head, "late", seconds(100)}};
    const Ended ended = ask(answers, AskLimits(seconds(60)));
    EXPECT_FALSE(ended.ok);
    EXPECT_EQ(ended.requests, 3u);  // the models, the tokens, one word
    EXPECT_LT(ended.took.ns, seconds(125).ns);
    EXPECT_FALSE(says(ended.why, "--timeout")) << "no flag made this limit";
    ASSERT_GE(told.size(), 2u);
    EXPECT_LE(told.size(), 5u);
    EXPECT_EQ(told[0], "POST /tokenize has had no whole answer for 5 s; waiting up to 60 s");
}

// Each answer is in time, and there is always a next question: the whole preflight has an end.
TEST(PreflightLimits, EndsAsAWhole) {
    const char* busy = "HTTP/1.1 429 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n";
    const Ended ended = ask({{"busy", "", busy, seconds(59)}}, AskLimits(seconds(60)));
    EXPECT_FALSE(ended.ok);
    EXPECT_GT(ended.took.ns, (Preflight::whole_max - seconds(1)).ns);
    EXPECT_LT(ended.took.ns, (Preflight::whole_max + seconds(31)).ns);
    EXPECT_TRUE(says(ended.why, "the preflight has asked for 10 min, as long as it may"));
}

}  // namespace
}  // namespace driftless::sim
