// Pages are read at the start, each period and at the end; what is no page of metrics is told once,
// is asked for less and less, and holds up nothing.
#include "engine/watch/scrape_thread.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "cmd/base/server_metrics.hpp"
#include "engine/io/io_ring.hpp"
#include "proto/run/server_log.hpp"

namespace driftless {
namespace {

/// Answers each connection with what `answer` makes of its number, from 0; then closes it. An
/// empty answer: nothing is said, and the connection stays.
struct PageServer {
    using Answer = std::string (*)(int);

    explicit PageServer(Answer made) : answer(made) {
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
        EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
        EXPECT_EQ(listen(listener, 64), 0);
        server = std::thread([this] { serve(); });
    }
    ~PageServer() {
        stopped.store(true);
        server.join();
        for (const int one : silent) {
            close(one);
        }
        close(listener);
    }
    void serve() {
        while (!stopped.load()) {
            pollfd watched{listener, POLLIN, 0};
            if (poll(&watched, 1, 10) <= 0) {
                continue;
            }
            const int one = accept(listener, nullptr, nullptr);
            char bytes[4096];
            (void)!read(one, bytes, sizeof bytes);
            const std::string text = answer(asked++);
            if (text.empty()) {
                silent.push_back(one);
                continue;
            }
            (void)!send(one, text.data(), text.size(), MSG_NOSIGNAL);
            close(one);
        }
    }
    ScrapeTarget target() const {
        ScrapeTarget made;
        made.url = "http://127.0.0.1/metrics";
        made.address = resolve("127.0.0.1", ntohs(address.sin_port)).value().front();
        made.request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        return made;
    }

    Answer answer;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
    std::atomic<int> asked{0};
    std::atomic<bool> stopped{false};
    std::vector<int> silent;
    std::thread server;
};

std::string page(const std::string& body, const std::string& type = "text/plain") {
    return "HTTP/1.1 200 OK\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string counting(int number) {
    return page("# TYPE vllm:request_success_total counter\nvllm:request_success_total " +
                std::to_string(100 + number) + "\n");
}

struct Scraping {
    Scraping(std::vector<ScrapeTarget> targets, Duration length, ScrapeRules rules,
             bool interrupted = false)
        : thread(std::move(targets), std::move(rules)) {
        EXPECT_TRUE(thread.start(nullptr));
        const Instant asked = HostClocks::now();
        while ((thread.awaits_first(true) || thread.awaits_first(false)) &&
               HostClocks::now() < asked + milliseconds(300)) {
            std::this_thread::yield();
        }
        kept = thread.settle();
        const Instant zero = HostClocks::now();
        thread.begin(zero, LineSink(&text));
        std::this_thread::sleep_for(std::chrono::nanoseconds(length.ns));
        const Instant over = HostClocks::now();
        thread.stop(interrupted);
        stop_took = HostClocks::now() - over;
        totals = totals_of(text, over - zero);
    }
    static ServerTotals totals_of(const std::string& text, Duration length) {
        const std::vector<EngineMapping> mappings = known_mappings();
        ServerSums sums(mappings, {{0, 0, length.ns}});
        JsonDocument document;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
            const Result<ServerLine> line =
                read_server_line(document, text.substr(at, text.find('\n', at) - at));
            EXPECT_TRUE(line);
            sums.add(line.value());
        }
        return sums.totals();
    }
    std::string text;
    ScrapeThread thread;
    std::size_t kept = 0;
    Duration stop_took{0};
    ServerTotals totals;
};

ScrapeRules quick() {
    ScrapeRules rules;
    rules.period = milliseconds(20);
    rules.limit = milliseconds(400);
    rules.last_wait = milliseconds(300);
    return rules;
}

TEST(ScrapeThread, ReadsFirstEachPeriodAndLast) {
    PageServer server(counting);
    ScrapeRules rules = quick();
    rules.period = seconds(3600);
    const Scraping once({server.target()}, milliseconds(200), rules);
    EXPECT_EQ(once.thread.outcomes()[0].pages, 2U);
    EXPECT_EQ(once.totals.counter(ServerFigure::requests), 1);
    const Scraping often({server.target()}, milliseconds(400), quick());
    const ScrapeThread::Outcome& outcome = often.thread.outcomes()[0];
    EXPECT_GT(outcome.pages, 3U);
    EXPECT_EQ(outcome.failures, 0U) << outcome.first_failure;
    EXPECT_EQ(often.totals.counter(ServerFigure::requests), static_cast<double>(outcome.pages - 1));
    EXPECT_EQ(often.totals.scrapes, outcome.pages);
}

// HTML, 404, an endless page, one that never comes, none that listens: beside a page that is well.
TEST(ScrapeThread, WhatIsNoPageHoldsUpNothing) {
    PageServer good(counting);
    PageServer html([](int) { return page("<!DOCTYPE html>", "text/html"); });
    PageServer missing(
        [](int) { return std::string("HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"); });
    PageServer huge([](int) { return page(std::string(17 << 20, 'a')); });
    PageServer silent([](int) { return std::string(); });
    ScrapeTarget closed = good.target();
    closed.address = resolve("127.0.0.1", 1).value().front();
    const Scraping got(
        {good.target(), html.target(), missing.target(), huge.target(), silent.target(), closed},
        milliseconds(800), quick());
    const std::vector<ScrapeThread::Outcome>& outcomes = got.thread.outcomes();
    EXPECT_GT(outcomes[0].pages, 5U);
    EXPECT_EQ(outcomes[0].failures, 0U) << outcomes[0].first_failure;
    EXPECT_TRUE(outcomes[1].first_failure.starts_with("the answer is an HTML page, not metrics"));
    EXPECT_EQ(outcomes[2].first_failure, "answered 404");
    for (std::size_t i = 1; i < outcomes.size(); ++i) {
        EXPECT_EQ(outcomes[i].pages, 0U) << i;
        EXPECT_GE(outcomes[i].failures, 1U) << i;
        EXPECT_LE(outcomes[i].failures, 8U) << i << ": less and less often";
        EXPECT_FALSE(outcomes[i].first_failure.empty()) << i;
    }
    EXPECT_LT(got.stop_took, seconds(5));
}

// It went away in the middle: the figures are those of what was read.
TEST(ScrapeThread, KeepsWhatItReadOfAServerThatWentAway) {
    PageServer server([](int number) {
        return number < 3 ? counting(number)
                          : std::string("HTTP/1.1 503 N\r\nContent-Length: 0\r\n\r\n");
    });
    const Scraping got({server.target()}, milliseconds(400), quick());
    EXPECT_EQ(got.thread.outcomes()[0].pages, 3U);
    EXPECT_EQ(got.thread.outcomes()[0].first_failure, "answered 503");
    EXPECT_EQ(got.totals.counter(ServerFigure::requests), 2);
}

// Of pages that nobody asked for by name only those stay that were there at once.
TEST(ScrapeThread, OptionalPagesThatAreNotThereAreLeftOutInSilence) {
    PageServer good(counting);
    PageServer html([](int) { return page("<!DOCTYPE html>", "text/html"); });
    PageServer silent([](int) { return std::string(); });
    std::vector<ScrapeTarget> targets{good.target(), html.target(), silent.target(), html.target()};
    for (std::size_t i = 0; i < 3; ++i) {
        targets[i].optional = true;
    }
    const Scraping got(targets, milliseconds(200), quick());
    EXPECT_EQ(got.kept, 2U);
    EXPECT_GT(got.thread.outcomes()[0].pages, 2U);
    for (const std::size_t left_out : {1U, 2U}) {
        EXPECT_FALSE(got.thread.outcomes()[left_out].kept);
        EXPECT_EQ(got.thread.outcomes()[left_out].failures, 0U);
    }
    EXPECT_EQ(silent.asked.load(), 1);
    EXPECT_GE(got.thread.outcomes()[3].failures, 1U);
}

// No line is older than its file: the first pages are in it, from before time 0.
TEST(ScrapeThread, TheBaselineIsFromBeforeTheRun) {
    PageServer server(counting);
    const Scraping got({server.target()}, milliseconds(50), quick());
    const std::size_t at = got.text.find("\"t_ns\":");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(got.text[at + 7], '-');
}

TEST(ScrapeThread, IsGivenUpBeforeTheRun) {
    PageServer silent([](int) { return std::string(); });
    ScrapeThread thread({silent.target()}, quick());
    EXPECT_TRUE(thread.start(nullptr));
    thread.stop(true);
    EXPECT_EQ(thread.outcomes()[0].pages, 0U);
}

TEST(ScrapeThread, AnInterruptedRunDoesNotWaitForAnyPage) {
    PageServer silent([](int) { return std::string(); });
    ScrapeRules rules = quick();
    rules.limit = seconds(100);
    rules.last_wait = seconds(100);
    const Scraping got({silent.target()}, milliseconds(50), rules, true);
    EXPECT_LT(got.stop_took, seconds(20));
    EXPECT_EQ(got.thread.outcomes()[0].pages, 0U);
}

}  // namespace
}  // namespace driftless
