// Pages and events of servers, watched by a thread.

#include "engine/watch/scrape_thread.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "cmd/base/server_metrics.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/watch/event_thread.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Pages are read at the start, each period and at the end; what is no page of metrics is told once,
// is asked for less and less, and holds up nothing.

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
        return ScrapeTarget{
            .url = "http://127.0.0.1/metrics",
            .question = {.address = resolve("127.0.0.1", ntohs(address.sin_port)).value().front(),
                         .request = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"}};
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
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
            const Result<ServerLine> line =
                read_alone(read_server_line, text.substr(at, text.find('\n', at) - at));
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
    return ScrapeRules{
        .period = milliseconds(20), .limit = milliseconds(400), .last_wait = milliseconds(300)};
}

TEST(ScrapeThread, ReadsEachPeriodWhateverElseHangs) {
    PageServer server(counting);
    ScrapeRules rules = quick();
    rules.period = seconds(3600);
    const Scraping once({server.target()}, milliseconds(200), rules);
    EXPECT_EQ(once.thread.outcomes()[0].pages, 2U);
    EXPECT_EQ(once.totals.counter(ServerFigure::requests), 1);
    // 50 periods, of which a busy machine has some.
    const Scraping often({server.target()}, seconds(1), quick());
    const ScrapeThread::Outcome& outcome = often.thread.outcomes()[0];
    EXPECT_GT(outcome.pages, 3U);
    EXPECT_EQ(outcome.failures, 0U) << outcome.first_failure;
    EXPECT_EQ(often.totals.counter(ServerFigure::requests), static_cast<double>(outcome.pages - 1));
    EXPECT_EQ(often.totals.scrapes, outcome.pages);
    // HTML, 404, an endless page, one that never comes, none that listens: beside a page that is
    // well.
    PageServer good(counting);
    PageServer html([](int) { return page("<!DOCTYPE html>", "text/html"); });
    PageServer missing(
        [](int) { return std::string("HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"); });
    PageServer huge([](int) { return page(std::string(17 << 20, 'a')); });
    PageServer silent([](int) { return std::string(); });
    ScrapeTarget closed = good.target();
    closed.question.address = resolve("127.0.0.1", 1).value().front();
    rules = quick();
    rules.limit = seconds(2);  // one thread reads them all: 17 MB take long where it is sanitized
    rules.last_wait = seconds(4);
    const Scraping got(
        {good.target(), html.target(), missing.target(), huge.target(), silent.target(), closed},
        milliseconds(800), rules);
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
    EXPECT_LT(got.stop_took, seconds(10));
}

// It went away in the middle: the figures are those of what was read.
TEST(ScrapeThread, KeepsWhatItReadAndLeavesOutOptionalPages) {
    PageServer server([](int number) {
        return number < 3 ? counting(number)
                          : std::string("HTTP/1.1 503 N\r\nContent-Length: 0\r\n\r\n");
    });
    const Scraping got({server.target()}, milliseconds(400), quick());
    EXPECT_EQ(got.thread.outcomes()[0].pages, 3U);
    EXPECT_EQ(got.thread.outcomes()[0].first_failure, "answered 503");
    EXPECT_EQ(got.totals.counter(ServerFigure::requests), 2);
    // Of pages that nobody asked for by name only those stay that were there at once.
    PageServer good(counting);
    PageServer html([](int) { return page("<!DOCTYPE html>", "text/html"); });
    PageServer silent([](int) { return std::string(); });
    std::vector<ScrapeTarget> targets{good.target(), html.target(), silent.target(), html.target()};
    for (std::size_t i = 0; i < 3; ++i) {
        targets[i].optional = true;
    }
    const Scraping other_got(targets, milliseconds(200), quick());
    EXPECT_EQ(other_got.kept, 2U);
    EXPECT_GT(other_got.thread.outcomes()[0].pages, 2U);
    for (const std::size_t left_out : {1U, 2U}) {
        EXPECT_FALSE(other_got.thread.outcomes()[left_out].kept);
        EXPECT_EQ(other_got.thread.outcomes()[left_out].failures, 0U);
    }
    EXPECT_EQ(silent.asked.load(), 1);
    EXPECT_GE(other_got.thread.outcomes()[3].failures, 1U);
}

// No line is older than its file: the first pages are in it, from before time 0.
TEST(ScrapeThread, HasABaselineAndHoldsUpNoInterrupt) {
    PageServer server(counting);
    const Scraping got({server.target()}, milliseconds(50), quick());
    const std::size_t at = got.text.find("\"t_ns\":");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(got.text[at + 7], '-');
    PageServer silent([](int) { return std::string(); });
    ScrapeThread thread({silent.target()}, quick());
    EXPECT_TRUE(thread.start(nullptr));
    thread.stop(true);
    EXPECT_EQ(thread.outcomes()[0].pages, 0U);
    PageServer other_silent([](int) { return std::string(); });
    ScrapeRules rules = quick();
    rules.limit = seconds(100);
    rules.last_wait = seconds(100);
    const Scraping other_got({other_silent.target()}, milliseconds(50), rules, true);
    EXPECT_LT(other_got.stop_took, seconds(20));
    EXPECT_EQ(other_got.thread.outcomes()[0].pages, 0U);
}

/// Everything that a command says, and how it ended.
struct Heard {
    explicit Heard(const std::string& command, std::size_t kept_max = 4096)
        : child(std::move(EventCommand::start(command)).value()) {
        while (!end) {
            wait();
            child.read_output(said, kept_max, bytes);
            end = child.end();
        }
        child.read_output(said, kept_max, bytes);
    }
    void wait() const {
        pollfd watched[] = {{child.end_fd(), POLLIN, 0}, {child.output_fd(), POLLIN, 0}};
        ASSERT_GT(::poll(watched, 2, 60'000), 0);
    }
    EventCommand child;
    std::string said;
    std::uint64_t bytes = 0;
    std::optional<ChildEnd> end;
};

bool is_alive(pid_t process) {
    return ::kill(process, 0) == 0 || errno != ESRCH;
}

TEST(EventCommand, IsHeardToItsEndAndLeavesNobodyBehind) {
    const Heard good("echo one; echo two >&2");
    EXPECT_EQ(std::tuple(good.said, good.end->exit_code), std::tuple("one\ntwo\n", 0));
    EXPECT_EQ(Heard("exit 7").end->exit_code, 7);
    EXPECT_EQ(Heard("./is-not-there").end->exit_code, 127);
    EXPECT_EQ(Heard("kill -9 $$").end->signal, 9);
    EXPECT_EQ(Heard("cat").end->exit_code, 0) << "standard input is empty";
    // At the limit - 1, at it, at it + 1: all is read, so much is kept.
    for (const std::size_t bytes : {99u, 100u, 101u, 200'000u}) {
        const Heard heard("head -c " + std::to_string(bytes) + " /dev/zero", 100);
        EXPECT_EQ(heard.said.size(), std::min<std::size_t>(bytes, 100));
        EXPECT_EQ(heard.bytes, bytes);
    }
    // No signal is blocked or ignored there, whatever its parent does.
    struct sigaction before{};
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGTERM, &ignore, &before), 0);
    EXPECT_EQ(Heard("kill -TERM $$; echo alive").said, "");
    ASSERT_EQ(::sigaction(SIGTERM, &before, nullptr), 0);
    // What it leaves behind in its group ends with it, and all of it where it is given up.
    const pid_t left = std::stoi(Heard("sleep 1000 > /dev/null 2>&1 & echo $!").said);
    for (int i = 0; i < 1000 && is_alive(left); ++i) {
        ::usleep(10'000);  // polls the kernel: whoever adopted it reaps it
    }
    EXPECT_FALSE(is_alive(left));
    Result<EventCommand> given_up = EventCommand::start("sleep 1000 & wait");
    ASSERT_TRUE(given_up);
    EventCommand made = EventCommand::start("sleep 1000").value();
    EXPECT_FALSE(made.end());
    made.ask_to_end();
    pollfd watched{made.end_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&watched, 1, 60'000), 1);
    EXPECT_EQ(made.end()->signal, SIGTERM);
    EXPECT_EQ(made.end()->signal, SIGTERM) << "as often as asked";
}

// Events of a run on a thread of their own: each has one line, which the schema allows; a hanging
// one holds up nobody, and nothing outlives the run.

PlannedEvent event(std::uint64_t number, std::int64_t at_ns, TimedEventKind kind,
                   const std::string& what) {
    return {.number = number, .at_ns = at_ns, .kind = kind, .what = what};
}

constexpr TimedEventKind run = TimedEventKind::run;
constexpr TimedEventKind label = TimedEventKind::label;

/// Plays events for so long, then stops. Lines go to `text`.
struct Played {
    Played(std::vector<PlannedEvent> events, Duration length, EventRules rules = {},
           bool interrupted = false, std::int64_t from_ns = 0)
        : thread(std::move(events), std::move(rules), LineSink(&text)) {
        EXPECT_TRUE(thread.start(HostClocks::now(), from_ns, nullptr));
        std::this_thread::sleep_for(std::chrono::nanoseconds(length.ns));
        const Instant over = HostClocks::now();
        thread.stop(interrupted);
        stop_took = HostClocks::now() - over;
    }
    const TimedEvent& of(std::uint64_t number) const {
        for (const TimedEvent& one : thread.ended()) {
            if (one.event == number) {
                return one;
            }
        }
        ADD_FAILURE() << "no line of event " << number;
        return thread.ended().front();
    }
    std::string text;
    EventThread thread;
    Duration stop_took{0};
};

// Every event has one line; instants are the run's; what was too late is told.
TEST(EventThread, WritesALineForEach) {
    const Played played(
        {event(0, 20'000'000, run, "echo a; exit 3"), event(1, 10'000'000, label, "phase=degraded"),
         event(2, 3'600'000'000'000, run, "echo never"), event(3, 0, run, "true")},
        milliseconds(300));
    ASSERT_EQ(played.thread.ended().size(), 4u);
    EXPECT_EQ(std::tuple(played.of(0).status, played.of(0).code, played.of(0).output),
              std::tuple(EventStatus::failed, 3, "a\n"));
    EXPECT_GE(*played.of(0).begin_ns, 20'000'000);
    EXPECT_GE(*played.of(0).end_ns, *played.of(0).begin_ns);
    EXPECT_EQ(std::tuple(played.of(1).status, played.of(1).begin_ns, played.of(2).status),
              std::tuple(EventStatus::ok, played.of(1).end_ns, EventStatus::not_run));
    EXPECT_FALSE(played.of(2).begin_ns);
    EXPECT_EQ(played.of(3).status, EventStatus::ok);

    const std::vector<std::string> lines = lines_of(played.text);
    for (const std::string& line : lines) {
        EXPECT_EQ(schema_errors("proto/run/timed_event.schema.json", line),
                  std::vector<std::string>());
    }
    EXPECT_EQ(lines.size(), 4u);
}

// One that hangs, and takes no SIGTERM, is ended at its limit; the next one is not late for it.
TEST(EventThread, AHangingOneHoldsUpNeitherTheNextNorTheEnd) {
    EventRules rules{.limit = milliseconds(100)};
    const Played played(
        {event(0, 0, run, "trap '' TERM; sleep 100; sleep 100"), event(1, 50'000'000, run, "true")},
        milliseconds(1800), rules);
    EXPECT_EQ(played.of(0).status, EventStatus::timed_out);
    EXPECT_LT(*played.of(0).end_ns, 1'700'000'000);
    EXPECT_EQ(played.of(1).status, EventStatus::ok);
    EXPECT_LT(*played.of(1).begin_ns, 1'000'000'000);
    // At the end of the run what goes on has a little longer; after an interrupt it has not.
    EventRules other_rules{.last_wait = milliseconds(500)};
    const Played finishes({event(0, 0, run, "sleep 0.3")}, milliseconds(50), other_rules);
    EXPECT_EQ(finishes.of(0).status, EventStatus::ok);
    const Played hangs({event(0, 0, run, "sleep 100")}, milliseconds(50), other_rules);
    EXPECT_EQ(hangs.of(0).status, EventStatus::cut_off);
    EXPECT_GE(hangs.stop_took, milliseconds(400));
    EXPECT_LT(hangs.stop_took, seconds(20));
    other_rules.last_wait = seconds(100);
    other_rules.limit = milliseconds(400);
    const Played too_long({event(0, 0, run, "sleep 100")}, milliseconds(50), other_rules);
    EXPECT_EQ(too_long.of(0).status, EventStatus::timed_out) << "its own limit came first";
    other_rules.limit = seconds(100);
    const Played interrupted({event(0, 0, run, "sleep 100")}, milliseconds(50), other_rules, true);
    EXPECT_EQ(interrupted.of(0).status, EventStatus::cut_off);
    EXPECT_LT(interrupted.stop_took, seconds(20));
}

// The user has asked to stop: nothing begins any more.
TEST(EventThread, TellsOfWhatWasLostWithoutKeys) {
    const std::atomic<int> asked{1};
    EventRules rules{.stop_requests = &asked};
    const Played played({event(0, 0, run, "true")}, milliseconds(50), rules);
    EXPECT_EQ(played.of(0).status, EventStatus::not_run);
    // A resumed run is behind what was due before it.
    const Played resumed({event(0, 5, label, "before"), event(1, 6, label, "behind")},
                         milliseconds(50), {}, false, 6);
    EXPECT_EQ(resumed.thread.left_out(), 1u);
    ASSERT_EQ(resumed.thread.ended().size(), 1u);
    EXPECT_EQ(resumed.of(1).what, "behind");
    // The part of the run that was killed wrote no line of what went on then.
    EventRules other_rules{.segment = 1, .told = {0}};
    const Played other_played({event(0, 0, label, "a"), event(1, 1'000'000, run, "sleep 9"),
                               event(2, 3'000'000, label, "b")},
                              milliseconds(50), other_rules, false, 2'000'000);
    ASSERT_EQ(other_played.thread.ended().size(), 2u);
    EXPECT_EQ(other_played.of(1).status, EventStatus::unknown);
    EXPECT_FALSE(other_played.of(1).begin_ns);
    EXPECT_EQ(other_played.of(2).status, EventStatus::ok);
    // Keys of the run do not reach the file.
    EventRules third_rules{.secrets = {"sk-12345678"}};
    const Played third_played({event(0, 0, run, "echo sk-12345678")}, milliseconds(200),
                              third_rules);
    EXPECT_FALSE(says(third_played.text, "sk-12345678"));
    EXPECT_EQ(third_played.of(0).output, "***\n");
    // Nobody listens there: one clause says so.
    PlannedEvent post = event(0, 0, TimedEventKind::post, "http://127.0.0.1:1/x");
    post.question.address = resolve("127.0.0.1", 1).value().front();
    post.question.request = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    const Played other_other_played({post}, milliseconds(200));
    EXPECT_EQ(other_other_played.of(0).status, EventStatus::failed);
    EXPECT_TRUE(says(other_other_played.of(0).error, "refused"));
}

}  // namespace
}  // namespace driftless
