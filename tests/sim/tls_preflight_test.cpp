// The preflight over TLS: what it learns in any weather, and what it says of servers whose TLS is
// none, or breaks off.
#include <gtest/gtest.h>

#include "engine/server/preflight.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {
namespace {

struct Asked {
    bool ok = false;
    PreflightFindings findings;
    PreflightFailure failure;
    std::uint64_t bytes = 0;  ///< that servers said
};

/// A whole preflight; whatever comes of it, nothing is left open and no server has misread us.
Asked ask(std::uint64_t seed, const Weather& weather, const TlsWeather& tls,
          const Script& script = {}) {
    mock::CoreOptions server;
    server.overhead = {5, 3};
    TlsWorld world(seed, tls, 1);
    SimDriver driver(seed, weather, server, script, {}, &world);
    const Endpoint endpoint = world.endpoints()[0];
    Asked asked;
    {
        Loop loop(driver, 8);
        PreflightPlan plan;
        plan.server.host = "simulated";
        plan.server.address = endpoint.address;
        plan.server.tls = endpoint.tls;
        plan.server.run_id = "sim";
        plan.dialect = &dialect_of(Api::openai_chat);
        plan.api_path = plan.dialect->default_path;
        plan.body.prompt = PromptKind::text;
        plan.words = &WordTable::built_in();
        Preflight preflight(loop, plan);
        asked.ok = preflight.run();
        asked.findings = preflight.findings();
        asked.failure = preflight.failure();
    }
    EXPECT_EQ(driver.in_flight(), 0u);
    EXPECT_EQ(driver.sockets_open(), 0u);
    EXPECT_EQ(driver.misread(), 0u) << seed;
    asked.bytes = driver.bytes_delivered();
    return asked;
}

TlsWeather fair(bool old = false) {
    return {.on = true, .old = old};
}

// Bytes in any pieces, sends in parts, tickets and new keys in front of answers: it learns the
// same.
TEST(TlsPreflight, LearnsTheSameInAnyWeather) {
    for (std::uint64_t seed = 1; seed <= (in_short() ? 6u : 12u); ++seed) {
        Weather weather;
        weather.split = 0.1 * static_cast<double>(seed % 10);
        weather.bytewise = seed == 5;
        weather.short_send = seed % 3 == 0 ? 0.7 : 0;
        weather.no_buffers = seed % 4 == 0 ? 0.2 : 0;
        TlsWeather tls = fair(seed % 2 == 0);
        tls.interrupt = 0.5;
        tls.forget = 0.3;
        tls.tickets = static_cast<std::uint32_t>(seed % 3);
        const Asked asked = ask(seed, weather, tls);
        ASSERT_TRUE(asked.ok) << seed << ": " << asked.failure.text;
        EXPECT_EQ(asked.findings.overhead.pre, 5u);
        EXPECT_EQ(asked.findings.overhead.post, 3u);
        EXPECT_EQ(asked.findings.words, WordVerdict::exact);
    }
}

// What is wrong with the server's TLS is said in its words.
TEST(TlsPreflight, NamesAHandshakeThatFails) {
    struct Failure {
        double TlsWeather::* what;
        ErrorCode code;
        const char* words;
    };
    for (const Failure& failure : {
             Failure{&TlsWeather::no_tls, ErrorCode::denied, "wrong version number"},
             Failure{&TlsWeather::alert, ErrorCode::denied, "handshake failure"},
             Failure{&TlsWeather::hang_up, ErrorCode::denied, "unexpected eof"},
             Failure{&TlsWeather::wrong_name, ErrorCode::denied, "hostname mismatch"},
             Failure{&TlsWeather::deaf, ErrorCode::timed_out, "cannot reach"},
         }) {
        for (const bool old : {false, true}) {
            TlsWeather tls = fair(old);
            tls.*failure.what = 1;
            const Asked asked = ask(3, {}, tls);
            ASSERT_FALSE(asked.ok);
            EXPECT_EQ(asked.failure.error.code, failure.code) << failure.words;
            EXPECT_TRUE(says(asked.failure.text, failure.words));
        }
    }
}

// An answer that only the end of the connection completes is whole where that end is said; one that
// is shorter than it says is not, and what is no HTTP is named.
TEST(TlsPreflight, TakesAnEndThatIsSaid) {
    const std::string page = "HTTP/1.1 401 Who\r\n\r\nnobody";
    for (const bool said : {true, false}) {
        TlsWeather tls = fair();
        tls.no_goodbye = said ? 0 : 1;
        const auto answered = [&](const std::string& wire) {
            std::vector<CannedAnswer> answers(1);
            answers[0].wire = wire;
            answers[0].closes = true;
            const Asked asked = ask(1, {}, tls, {&answers, 1.0, 0});
            EXPECT_FALSE(asked.ok);
            return asked.failure;
        };
        EXPECT_EQ(answered(page).status, said ? 401 : 0);
        EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").error.code,
                  ErrorCode::closed);
        EXPECT_EQ(answered("what?\r\n\r\n").error.code, ErrorCode::bad_http);
    }
}

// A connection that ends inside a handshake, an answer or a record, and bits that flip there.
TEST(TlsPreflight, EndsWhereverTheServerBreaksOff) {
    for (const bool old : {false, true}) {
        const std::uint64_t whole = ask(1, {}, fair(old)).bytes;
        std::uint32_t failed = 0;
        for (std::uint64_t bytes = 0; bytes < whole; bytes += 197) {
            Weather weather;
            weather.cut_at = Cut{bytes, static_cast<Cut::Kind>(bytes % 3)};
            failed += ask(bytes + 1, weather, fair(old)).ok ? 0 : 1;
        }
        EXPECT_GT(failed, 0u);
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            TlsWeather tls = fair(old);
            tls.corrupt = 1;
            Weather weather{.short_send = 0.5, .block_send = 0.1, .cut = 0.2};
            failed += ask(seed, weather, tls).ok ? 0 : 1;
        }
        EXPECT_GT(failed, 10u);
    }
}

}  // namespace
}  // namespace driftless::sim
