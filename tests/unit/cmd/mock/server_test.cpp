// The mock on sockets, and its options.

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <thread>

#include "cmd/mock/core.hpp"
#include "cmd/mock/mock.hpp"
#include "engine/io/driver.hpp"
#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {

namespace {

const volatile std::sig_atomic_t never_stop = 0;

/// A server on a thread of its own, at a port that the kernel chose. Ends after its requests.
class RunningServer {
  public:
    RunningServer(const CoreOptions& core, std::uint64_t requests)
        : thread_(&RunningServer::run, this, core, requests) {
        address_ = listening_.get_future().get();
    }
    ~RunningServer() { thread_.join(); }

    bool up() const { return address_.length != 0; }

    int connect() const {
        const int number = ::socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_EQ(::connect(number, address_.raw(), address_.length), 0);
        return number;
    }

  private:
    void run(CoreOptions options, std::uint64_t requests) {
        auto driver = make_driver({.buffers = 64});
        if (!driver) {
            listening_.set_value({});
            return;
        }
        MockCore core(options);
        MockServer server(*driver.value(), core, nullptr, ServerOptions{.requests_max = requests});
        const auto address = server.listen(resolve("127.0.0.1", 0).value().front());
        listening_.set_value(address ? address.value() : Address{});
        server.run(never_stop);
    }

    std::promise<Address> listening_;
    Address address_;
    std::thread thread_;
};

void send_all(int number, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t sent = ::send(number, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        ASSERT_GT(sent, 0);
        at += static_cast<std::size_t>(sent);
    }
}

/// Reads until `end` has come or the peer ends; the errno of how it ended, 0: in good order.
int read_until(int number, const std::string& end, std::string& got) {
    char buffer[4096];
    while (end.empty() || !got.ends_with(end)) {
        const ssize_t bytes = ::recv(number, buffer, sizeof buffer, 0);
        if (bytes <= 0) {
            return bytes < 0 ? errno : 0;
        }
        got.append(buffer, static_cast<std::size_t>(bytes));
    }
    return 0;
}

CoreOptions fast() {
    return {.pace = {.first = microseconds(50), .between = microseconds(20)}};
}

// Over real sockets: two streams on one connection, a prompt larger than any buffer among them.
TEST(MockServer, StreamsOverSocketsAndEndsThemAsFaultsSay) {
    RunningServer server(fast(), 2);
    if (!server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    const int number = server.connect();
    for (const std::size_t words : {3, 60'000}) {
        send_all(number, chat(words, 30));
        std::string response;
        ASSERT_EQ(read_until(number, "\r\n0\r\n\r\n", response), 0);
        const std::vector<std::string> events = events_of(response);
        ASSERT_EQ(events.size(), 33u);
        EXPECT_TRUE(says(events[31], ("\"prompt_tokens\":" + std::to_string(words) + ",")));
    }
    ::close(number);
    // The ways in which a connection may end: a reset, an early end in good order, a refusal.
    CoreOptions options = fast();
    options.faults = {{Fault::reset, 0, 1}, {Fault::truncate, 0, 2}, {Fault::refuse, 0, 3}};
    RunningServer other_server(options, 3);
    if (!other_server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    const auto ask = [&](const char* id, std::string& response) {
        const int other_number = other_server.connect();
        send_all(other_number, chat(3, 30, "X-Request-Id: " + std::string(id) + "\r\n"));
        const int ended = read_until(other_number, "", response);
        ::close(other_number);
        return ended;
    };
    std::string reset;
    EXPECT_EQ(ask("r-1", reset), ECONNRESET);
    EXPECT_EQ(status_of(reset), 200);
    std::string truncated;
    EXPECT_EQ(ask("r-2", truncated), 0);
    bool complete = true;
    EXPECT_EQ(events_of(truncated, &complete).size(), 1 + 15u);
    EXPECT_FALSE(complete);
    std::string refused;
    EXPECT_EQ(ask("r-3", refused), ECONNRESET);
    EXPECT_EQ(refused, "");
}

// Clients that leave in the middle are cleaned up, and the server still ends by itself.
TEST(MockServer, SurvivesClientsThatLeave) {
    RunningServer server(fast(), 9);
    if (!server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    for (int i = 0; i < 8; ++i) {
        const int number = server.connect();
        send_all(number, chat(3, 100'000));
        std::string some;
        (void)read_until(number, "\n\n\r\n", some);
        const linger at_once{1, 0};
        if (i % 2 == 0) {
            ::setsockopt(number, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        ::close(number);
    }
    const int number = server.connect();
    send_all(number, chat(3, 2, "Connection: close\r\n"));
    std::string response;
    EXPECT_EQ(read_until(number, "", response), 0);
    EXPECT_EQ(events_of(response).size(), 5u);
    ::close(number);
}

// What is ready leaves before what is produced.
TEST(MockOutgoing, SendsWhatIsReadyFirst) {
    Outgoing outgoing;
    outgoing.ready() += "head ";
    EXPECT_TRUE(outgoing.is_waiting());
    std::string out;
    outgoing.begin(out) += "body";
    outgoing.finish(out);
    EXPECT_EQ(out, "head body");
    EXPECT_FALSE(outgoing.is_waiting());
    // A slow answer leaves byte by byte up to the limit, and then as it comes.
    Outgoing slow;
    slow.begin_answer(true);
    slow.ready() += std::string(slow_bytes + 5, 'x');
    for (std::uint32_t i = 0; i < slow_bytes; ++i) {
        std::string rest;
        (void)slow.begin(rest);
        slow.finish(rest);
        ASSERT_EQ(rest, "x") << i;
    }
    std::string rest;
    slow.begin(rest) += "y";
    slow.finish(rest);
    EXPECT_EQ(rest, "xxxxxy");
    EXPECT_FALSE(slow.is_waiting());
}

// The last answer is the one that reaches the limit; without a limit none is.
TEST(MockKeepAlive, KnowsTheLastAnswer) {
    CoreOptions options;
    KeepAlive keep_alive(options);
    keep_alive.open(Instant{0});
    EXPECT_FALSE(keep_alive.is_last());
    options.keep_alive_requests = 2;
    EXPECT_FALSE(keep_alive.is_last());
    keep_alive.count_answer();
    EXPECT_TRUE(keep_alive.is_last());
    keep_alive.open(Instant{0});
    EXPECT_FALSE(keep_alive.is_last());
    // The time that a connection may stand begins with each answer's end, and ends with a request.
    CoreOptions timed;
    KeepAlive standing(timed);
    standing.open(Instant{5});
    EXPECT_EQ(standing.idle_ends(), never);
    timed.keep_alive_timeout = seconds(2);
    standing.begin_idle(Instant{5});
    EXPECT_EQ(standing.idle_ends(), Instant{5} + seconds(2));
    standing.end_idle();
    EXPECT_EQ(standing.idle_ends(), never);
    Reply reply;
    standing.announce(reply);
    EXPECT_EQ(reply.timeout_s, 2u);
    timed.announce_keep_alive = false;
    Reply silent;
    standing.announce(silent);
    EXPECT_EQ(silent.timeout_s, 0u);
}

MockCommandLine parse(const std::vector<std::string>& arguments) {
    return parse_mock_options(arguments);
}

// Defaults: loopback only, vLLM-like pace, a cache of the trace's block size.
TEST(MockOptions, HasSafeDefaultsAndReadsItsFlags) {
    const MockCommandLine parsed = parse({});
    ASSERT_EQ(parsed.kind, CommandLine::Kind::run) << parsed.text;
    EXPECT_EQ(parsed.options.listen.host, "127.0.0.1");
    EXPECT_EQ(parsed.options.listen.port, 8000);
    EXPECT_EQ(parsed.options.core.pace.first, milliseconds(5));
    EXPECT_EQ(parsed.options.core.pace.between, milliseconds(10));
    EXPECT_EQ(parsed.options.core.cache_block_tokens, 512u);
    EXPECT_TRUE(parsed.options.core.faults.empty());
    EXPECT_FALSE(parsed.options.core.keep_log || parsed.options.core.pace.in_steps());
    // Each flag reaches its place, in its unit.
    const MockCommandLine other_parsed = parse(words_of(
        "--listen [::1]:0 --port 81 --ttft 20ms --itl 1.5ms --jitter 0.1 --overhead 3,5 --headers "
        "late --fault reset:0.25 --fault-row 429:17 --fault slow:0.5 --log x.jsonl --wait sleep "
        "--ttft-per-token 250ns --no-usage --slots 3 --step-tokens 2048"));
    ASSERT_EQ(other_parsed.kind, CommandLine::Kind::run) << other_parsed.text;
    const MockOptions& options = other_parsed.options;
    EXPECT_EQ(std::tuple(options.listen.host, options.listen.port), std::tuple("::1", 81));
    EXPECT_EQ(options.core.pace.first, milliseconds(20));
    EXPECT_EQ(options.core.pace.between, microseconds(1500));
    EXPECT_EQ(options.core.pace.per_uncached_token.ns, 250);
    EXPECT_EQ(options.core.overhead.pre, 3u);
    EXPECT_EQ(options.core.overhead.post, 5u);
    EXPECT_FALSE(options.core.early_headers || options.core.usage);
    EXPECT_TRUE(options.core.keep_log);
    EXPECT_EQ(std::tuple(options.core.slots, options.core.pace.step_tokens), std::tuple(3u, 2048u));
    EXPECT_EQ(options.server.wait, WaitMode::sleep);
    ASSERT_EQ(options.core.faults.size(), 3u);
    EXPECT_EQ(options.core.faults[1].fault, Fault::slow);
    EXPECT_EQ(options.core.faults[2].row, 17u);
}

// A tokenizer that does not keep to one token a word, and an endpoint that tells of another one.
TEST(MockOptions, ReadsWordsSessionsAndWhoItIs) {
    const MockCommandLine parsed =
        parse(words_of("--split-words the,cat --split-first dog,cow --join-words new+one,a+b "
                       "--tokenize llama.cpp --tokenize-overhead 1,2 --overhead-varies 3"));
    ASSERT_EQ(parsed.kind, CommandLine::Kind::run) << parsed.text;
    const CoreOptions& core = parsed.options.core;
    EXPECT_TRUE(core.words.splits(word_number("cat")));
    EXPECT_FALSE(core.words.splits(word_number("dog")));
    EXPECT_TRUE(core.words.splits_first(word_number("dog")));
    EXPECT_FALSE(core.words.splits_first(word_number("the")));
    EXPECT_TRUE(core.words.joins(word_number("a"), word_number("b")));
    EXPECT_FALSE(core.words.joins(word_number("b"), word_number("a")));
    EXPECT_EQ(std::tuple(core.tokenize, core.tokenize_overhead.value().post, core.overhead_varies),
              std::tuple(TokenizeForm::llama_cpp, 2u, 3u));
    EXPECT_TRUE(parse({"--split-words", "*"}).options.core.words.splits(word_number("any")));
    // Whose requests they are, and what histories are checked against.
    const CoreOptions standard = parse({}).options.core;
    EXPECT_EQ(standard.session_headers.front(), "X-Session-ID");
    EXPECT_EQ(standard.check_history, 0u);
    const CoreOptions other_core =
        parse({"--log-headers", "X-Tree,X-User", "--check-history", "4294967295"}).options.core;
    EXPECT_EQ(other_core.session_headers, (std::vector<std::string>{"X-Tree", "X-User"}));
    EXPECT_EQ(other_core.check_history, 4294967295u);
    EXPECT_EQ(parse({"--log-headers", "X Tree"}).kind, CommandLine::Kind::refused);
    EXPECT_EQ(parse({"--log-headers", "X-Tree,,"}).kind, CommandLine::Kind::refused);
    // Who it pretends to be, beside its answers.
    const CoreOptions third_core = parse({"--pod", "llama 7", "--metrics", "sglang"}).options.core;
    EXPECT_EQ(third_core.pod, "llama 7");
    EXPECT_TRUE(!third_core.metric_names.vllm && third_core.metric_names.sglang);
    EXPECT_TRUE(parse({}).options.core.metric_names.vllm);
    EXPECT_TRUE(parse({}).options.core.metric_names.sglang);
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--pod", "a\r\nX-Evil: 1"},
          {"--pod", ""},
          {"--metrics", "tgi"}}) {
        EXPECT_EQ(parse(wrong).kind, CommandLine::Kind::refused);
    }
}

TEST(MockOptions, RefusesNonsense) {
    const char* const nonsense[] = {"--port 65536",
                                    "--port -1",
                                    "--listen 8000",
                                    "--ttft fast",
                                    "--jitter 1.5",
                                    "--jitter nan",
                                    "--overhead 8",
                                    "--tokens-per-chunk 0",
                                    "--split-words a,,b",
                                    "--join-words the",
                                    "--join-words the+",
                                    "--tokenize grpc",
                                    "--fault burn:0.1",
                                    "--fault reset",
                                    "--fault reset:0.6 --fault stall:0.6",
                                    "--fault-row reset:x",
                                    "--wait forever",
                                    "--unknown",
                                    "positional"};
    for (const char* const line : nonsense) {
        EXPECT_EQ(parse(words_of(line)).kind, CommandLine::Kind::refused) << line;
    }
    EXPECT_EQ(parse({"--help"}).kind, CommandLine::Kind::help);
}

}  // namespace
}  // namespace driftless::mock
