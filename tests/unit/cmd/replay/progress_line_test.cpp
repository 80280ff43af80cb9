// The run's own page is one that our reader takes, is served while it is told of progress, and who
// is slow keeps nothing from ending.

#include <sys/socket.h>
#include <unistd.h>

#include "cmd/replay/side_threads.hpp"
#include "tests/unit/texts.hpp"

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
    Progress progress{.elapsed_ns = -1'500'000'000, .fired = 12, .ttft_ns = 5'000'000};
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
    EXPECT_FALSE(says(live_page_text(Progress()), "ttft"));
}

TEST(LivePage, ServesWhatItWasToldLastAndHoldsNothingUp) {
    LivePage page;
    ASSERT_TRUE(page.listen(loopback()));
    ASSERT_TRUE(page.start(nullptr));
    Progress progress;
    for (std::uint64_t fired = 1; fired < 20; ++fired) {
        progress.fired = fired;
        page.show(progress);
        const std::string answer = ask(page.address(), "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n"));
        EXPECT_TRUE(says(answer, "sent_total " + std::to_string(fired) + "\n"));
    }
    EXPECT_TRUE(ask(page.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(ask(page.address(), "PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    EXPECT_EQ(ask(page.address(), std::string(9000, 'a')), "");
    LivePage other_page;
    ASSERT_TRUE(other_page.listen(loopback()));
    ASSERT_TRUE(other_page.start(nullptr));
    const int silent = connect_to(other_page.address());
    EXPECT_NE(ask(other_page.address(), "GET /metrics HTTP/1.1\r\n\r\n"), "");
    other_page.stop();
    close(silent);
    LivePage one;
    ASSERT_TRUE(one.listen(loopback()));
    LivePage two;
    const Result<void> refused = two.listen(one.address());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sys_errno, EADDRINUSE);
}

// Progress says what a person asks in the middle of a run, on a terminal and in a log.

constexpr std::int64_t s = 1'000'000'000;

Progress at(std::int64_t elapsed_ns, std::uint64_t fired = 0) {
    return {.elapsed_ns = elapsed_ns, .left_ns = 0, .rows = 12031, .fired = fired};
}

std::uint64_t& of(Progress& progress, Outcome outcome) {
    return progress.outcomes[static_cast<std::size_t>(outcome)];
}

/// What was written to a pipe.
class Pipe {
  public:
    Pipe() { EXPECT_EQ(pipe(ends_), 0); }
    ~Pipe() { close(ends_[0]); }
    int in() const { return ends_[1]; }
    std::string text() {
        close(ends_[1]);
        std::string all(4096, '\0');
        const ssize_t got = read(ends_[0], all.data(), all.size());
        all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return all;
    }

  private:
    int ends_[2]{};
};

// Numbers are grouped, times short; rate and TTFT once there are any.
TEST(ProgressLine, SaysHowFarTheRunIs) {
    Progress progress = at(12'400'000'000, 4210);
    progress.left_ns = 24 * s;
    progress.inflight = 312;
    progress.drift_max_ns = 1400;
    EXPECT_EQ(progress_text(progress, {}),
              "0:12 / 0:24 left  4,210 of 12,031 sent  312 open  worst drift 1.4 us");
    progress.ttft_ns = 931'000'000;
    EXPECT_EQ(progress_text(progress, {20.44, 1'208'123.4}),
              "0:12 / 0:24 left  4,210 of 12,031 sent, 20.4/s  312 open  TTFT 931.0 ms  "
              "1,208,123 tok/s  worst drift 1.4 us");
    // Where nobody knows when the last row is due: how many are still to be sent.
    progress = at(12 * s, 4210);
    progress.left_ns.reset();
    progress.inflight = 312;
    of(progress, Outcome::not_sent) = 21;
    EXPECT_EQ(progress_text(progress, {}),
              "0:12 / 7,800 rows to go  4,210 of 12,031 sent  312 open  not sent 21  "
              "worst drift 0 ns");
}

// When all have left, and where nobody knows when they do: how long it takes if answers go on as
// lately.
TEST(ProgressLine, SaysHowLongTheAnswersTake) {
    Progress progress = at(30 * s, 12'031);
    progress.left_ns = 0;
    progress.inflight = 40;
    progress.ended = 12'031 - 40;
    ProgressRates rates{0.0, 0, 2};
    EXPECT_TRUE(
        says(progress_text(progress, rates), "0:30 / 40 answers to come, about 0:20  12,031"));
    rates.ended_per_s = 0;
    EXPECT_TRUE(says(progress_text(progress, rates), "0:30 / 40 answers to come  12,031"));
    progress.fired = 12'021;  // the others wait for a place among those in flight
    rates.ended_per_s = 0.5;
    progress.ended = 12'031 - 50;
    EXPECT_TRUE(says(progress_text(progress, rates), "0:30 / 10 rows to go, about 1:40  12,021"));
    progress.left_ns.reset();  // a closed trace: its pauses are not in the rate
    EXPECT_TRUE(says(progress_text(progress, rates), "0:30 / 10 rows to go  12,021"));
    RateWindow window(5 * s);
    (void)window.add(at(1 * s));
    Progress later = at(3 * s);
    later.ended = 5;
    EXPECT_DOUBLE_EQ(window.add(later).ended_per_s, 2.5);
    // Users send more when answers have come: none is "to go" before, and the end is not known.
    progress = at(12 * s, 11);
    progress.rows = 11;
    progress.rows_open = true;
    progress.left_ns.reset();
    progress.inflight = 3;
    EXPECT_EQ(progress_text(progress, {}),
              "0:12 / 3 answers to come  11 sent  3 open  worst drift 0 ns");
}

// Failures by kind; what was never sent has not failed.
TEST(ProgressLine, NamesFailuresAndRatesInALogToo) {
    Progress progress = at(3'661 * s, 4210);
    progress.drift_max_ns = 999;
    of(progress, Outcome::ok) = 3000;
    of(progress, Outcome::short_output) = 7;
    of(progress, Outcome::http_5xx) = 1000;
    of(progress, Outcome::truncated) = 2;
    of(progress, Outcome::not_sent) = 7821;
    EXPECT_EQ(progress_text(progress, {}),
              "1:01:01 / 0:00 left  4,210 of 12,031 sent  0 open  failed 1,002: http_5xx 1,000, "
              "truncated 2  not sent 7,821  worst drift 999 ns");
    // The rate is that of the last stretch, not of the whole run.
    RateWindow window(5 * s);
    EXPECT_FALSE(window.add(at(0)).rows_per_s);
    EXPECT_DOUBLE_EQ(window.add(at(1 * s, 100)).rows_per_s.value(), 100);
    EXPECT_DOUBLE_EQ(window.add(at(6 * s, 150)).rows_per_s.value(), 10);
    EXPECT_DOUBLE_EQ(window.add(at(11 * s, 150)).rows_per_s.value(), 0);
    // In a log: a line every 30 s, none before, none twice.
    Pipe pipe;
    {
        ProgressLine line(pipe.in(), {});
        for (const std::int64_t elapsed : {-1 * s, 0 * s, 30 * s - 1}) {
            line.show(at(elapsed));
        }
        line.show(at(30 * s, 600));
        line.show(at(30 * s + 1, 601));
        line.show(at(95 * s, 700));
        line.show(at(100 * s, 701));
    }
    const std::string text = pipe.text();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    EXPECT_TRUE(text.starts_with("progress: 0:30 / 0:00 left  600 of 12,031 sent, 20.0/s")) << text;
    EXPECT_TRUE(says(text, "\nprogress: 1:35 / "));
}

/// What is written where the line is shown once at each of these counts of interrupts.
std::string said_at(std::initializer_list<int> stops, const Progress& progress,
                    bool shows_progress = false) {
    Pipe pipe;
    {
        std::atomic<int> now{0};
        ProgressLine line(pipe.in(), {shows_progress, &now, 5 * s});
        for (const int stop : stops) {
            now = stop;
            line.show(progress);
        }
    }
    return pipe.text();
}

// An interrupt is answered once, the second one too, even where no progress is shown.
TEST(ProgressLine, SaysWhatAnInterruptDoes) {
    Progress progress = at(40 * s, 31);
    progress.inflight = 3;
    EXPECT_EQ(said_at({0, 1, 1, 2}, progress),
              "interrupted: 12,000 rows will not be sent; waiting up to 5s for 3 open answers "
              "(--grace); interrupt again to cancel them\n"
              "interrupted again: 3 open answers are cancelled\n");
    // Users: how many rows will not be sent is not known.
    progress = at(40 * s, 31);
    progress.rows = 31;
    progress.rows_open = true;
    progress.inflight = 1;
    EXPECT_EQ(said_at({1, 2}, progress),
              "interrupted: nothing more is sent; waiting up to 5s for 1 open answer (--grace); "
              "interrupt again to cancel it\n"
              "interrupted again: 1 open answer is cancelled\n");
    progress = at(s, 30);
    progress.rows = 31;
    EXPECT_EQ(said_at({1}, progress, true), "interrupted: 1 row will not be sent\n");
    // Where nothing is open, nothing is waited for.
    EXPECT_EQ(said_at({1}, at(s, 31)), "interrupted: 12,000 rows will not be sent\n");
}

}  // namespace
}  // namespace driftless
