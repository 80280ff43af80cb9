// The run's own page is one that our reader takes, is served while it is told of progress, and who
// is slow keeps nothing from ending.
#include "cmd/replay/run/live_page.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "proto/metrics/exposition_reader.hpp"

namespace driftless {
namespace {

int connect_to(const Address& address) {
    const int client = socket(address.family(), SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, address.raw(), address.length), 0);
    return client;
}

std::string ask(const Address& address, const std::string& request) {
    const int client = connect_to(address);
    EXPECT_GT(send(client, request.data(), request.size(), 0), 0);
    std::string answer;
    char bytes[4096];
    for (ssize_t got = 0; (got = recv(client, bytes, sizeof bytes, 0)) > 0;) {
        answer.append(bytes, static_cast<std::size_t>(got));
    }
    close(client);
    return answer;
}

Address loopback() {
    return resolve("127.0.0.1", 0).value().front();
}

TEST(LivePage, IsAPageOfMetrics) {
    Progress progress;
    progress.elapsed_ns = -1'500'000'000;
    progress.fired = 12;
    progress.ttft_ns = 5'000'000;
    progress.outcomes[static_cast<std::size_t>(Outcome::ok)] = 7;
    ExpositionReader reader;
    const std::string text = live_page_text(progress);
    ASSERT_TRUE(reader.read(text, "text/plain; version=0.0.4")) << reader.problem();
    std::size_t seen = 0;
    for (const MetricSample& sample : reader.page().samples) {
        const MetricFamily& family = reader.page().families[sample.family];
        EXPECT_EQ(sample.name, family.name);
        EXPECT_FALSE(family.help.empty());
        EXPECT_EQ(reader.page().is_counter(sample), sample.name.ends_with("_total"));
        if (sample.name == "driftless_elapsed_seconds") {
            EXPECT_EQ(sample.value, -1.5);
            ++seen;
        } else if (sample.name == "driftless_requests_sent_total") {
            EXPECT_EQ(sample.value, 12);
            ++seen;
        } else if (label_value(reader.page().labels_of(sample), "outcome") == "ok") {
            EXPECT_EQ(sample.value, 7);
            ++seen;
        }
    }
    EXPECT_EQ(seen, 3U);
    EXPECT_EQ(live_page_text(Progress()).find("ttft"), std::string::npos);
}

TEST(LivePage, ServesWhatItWasToldLast) {
    LivePage page;
    ASSERT_TRUE(page.listen(loopback()));
    ASSERT_TRUE(page.start(nullptr));
    Progress progress;
    for (std::uint64_t fired = 1; fired < 20; ++fired) {
        progress.fired = fired;
        page.show(progress);
        const std::string answer = ask(page.address(), "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        EXPECT_NE(answer.find("sent_total " + std::to_string(fired) + "\n"), answer.npos);
    }
    EXPECT_TRUE(ask(page.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(ask(page.address(), "PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    EXPECT_EQ(ask(page.address(), std::string(9000, 'a')), "");
}

TEST(LivePage, EndsBesideOneThatSaysNothing) {
    LivePage page;
    ASSERT_TRUE(page.listen(loopback()));
    ASSERT_TRUE(page.start(nullptr));
    const int silent = connect_to(page.address());
    EXPECT_NE(ask(page.address(), "GET /metrics HTTP/1.1\r\n\r\n"), "");
    page.stop();
    close(silent);
}

TEST(LivePage, AnAddressThatIsTakenIsRefused) {
    LivePage one;
    ASSERT_TRUE(one.listen(loopback()));
    LivePage two;
    const Result<void> refused = two.listen(one.address());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sys_errno, EADDRINUSE);
}

}  // namespace
}  // namespace driftless
