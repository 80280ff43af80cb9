// The server that perf/peers/run races clients against. It shares no code with the product. One
// thread and epoll; every stamp is the kernel's, so that the server's own lateness is not the
// client's: the receive stamp of the packet with a request's first byte, the transmit stamp of each
// token.
//
//   peers_server --log FILE [--port N] [--first-us N] [--gap-us N] [--tokens N]
//
// It answers /v1/completions and /v1/chat/completions of OpenAI and /generate of SGLang with the
// number of tokens that a body asks for (--tokens where it asks for none), the first --first-us
// after the request and the others --gap-us apart. After SIGTERM it writes the log: a line of JSON
// for each request in the order of arrival, all instants in ns of CLOCK_MONOTONIC.

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/receiver/clock.hpp"

namespace peers {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t retry_ns = 1'000'000;  // after a send that the peer's full window refused
constexpr std::size_t stamps_per_call = 64;   // of one recvmmsg
constexpr std::size_t unstamped_max = 64;     // then stamps are read: the kernel's queue is bounded
constexpr std::size_t sends_per_turn_max = 64;  // then arrivals are read: they must not wait long
constexpr int events_per_turn = 256;

struct Behaviour {
    const char* log = nullptr;
    std::uint16_t port = 0;
    std::int64_t first_ns = 50'000'000;
    std::int64_t gap_ns = 10'000'000;
    std::int64_t tokens = 100;
};

enum class Api { completions, chat, generate };

/// A line of the log.
struct Answer {
    std::string id;
    std::uint32_t connection = 0;
    std::uint64_t prompt_hash = 0;
    std::int64_t received_ns = 0;
    bool is_kernels = false;              ///< `received_ns`; else it is the time of the read
    std::int64_t asked = 0;               ///< tokens
    std::vector<std::int64_t> tokens_ns;  ///< transmit stamps; 0: none came
};

struct Unstamped {
    std::uint32_t end = 0;  ///< bytes of the connection up to the token's end, modulo 2^32
    std::size_t answer = 0;
    std::size_t token = 0;
};

/// A connection and the answer that it is sending, if any. Requests behind that one wait in
/// `input`.
struct Connection {
    int socket = -1;
    std::uint32_t number = 0;
    std::string input;
    std::int64_t first_byte_ns = 0;  ///< of `input`, while it is not empty
    bool is_kernels = false;
    bool answers = false;
    bool is_stream = false;
    bool wants_usage = false;
    bool closes = false;
    bool is_whole = false;  ///< its answer: nothing is to be added to `output`
    Api api = Api::completions;
    std::size_t answer = 0;  ///< its line of the log
    std::int64_t prompt_tokens = 0;
    std::int64_t tokens_sent = 0;
    std::int64_t began_ns = 0;
    std::int64_t due_ns = 0;
    std::string output;  ///< what the kernel did not take yet
    std::uint32_t bytes_sent = 0;
    std::deque<Unstamped> unstamped;
};

struct Due {
    std::int64_t ns;
    std::uint32_t connection;
    bool operator>(const Due& other) const { return ns > other.ns; }
};

[[noreturn]] void die(const char* doing) {
    std::fprintf(stderr, "peers_server: %s: %s\n", doing, std::strerror(errno));
    std::exit(1);
}

/// What stands behind `"name":` in a body; empty without it. A name inside of a text has a
/// backslash before its quotation mark, and is not found.
std::string_view value_of(std::string_view body, std::string_view name) {
    const std::string quoted = '"' + std::string(name) + '"';
    const std::size_t at = body.find(quoted);
    if (at == body.npos) {
        return {};
    }
    const std::size_t value = body.find_first_not_of(" :\t\n", at + quoted.size());
    return value == body.npos ? std::string_view{} : body.substr(value);
}

std::int64_t number_of(std::string_view value) {
    return std::atoll(std::string(value.substr(0, 20)).c_str());
}

/// The text or the array of ids that `value` begins with.
std::string_view prompt_in(std::string_view value) {
    if (value.starts_with('[')) {
        return value.substr(0, value.find(']'));
    }
    std::size_t end = 1;
    while (end < value.size() && value[end] != '"') {
        end += value[end] == '\\' ? 2 : 1;
    }
    return value.substr(0, end);
}

std::string_view prompt_of(std::string_view body, Api api) {
    if (api == Api::chat) {
        return prompt_in(value_of(body, "content"));
    }
    return prompt_in(value_of(body, api == Api::generate ? "text" : "prompt"));
}

/// Tokens asked for; 0 where the body names none.
std::int64_t tokens_of(std::string_view body) {
    for (const char* name : {"max_completion_tokens", "max_tokens", "max_new_tokens"}) {
        const std::int64_t tokens = number_of(value_of(body, name));
        if (tokens > 0) {
            return tokens;
        }
    }
    return 0;
}

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view bytes) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : bytes) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return hash;
}

/// The value of a header; `head` ends with an empty line.
std::string_view header_of(std::string_view head, std::string_view name) {
    std::size_t line = head.find("\r\n");
    while (line != head.npos && line + 2 < head.size()) {
        const std::string_view field = head.substr(line + 2);
        if (field.size() > name.size() && field[name.size()] == ':' &&
            strncasecmp(field.data(), name.data(), name.size()) == 0) {
            const std::string_view value =
                field.substr(name.size() + 1, field.find("\r\n") - name.size() - 1);
            return value.substr(std::min(value.find_first_not_of(' '), value.size()));
        }
        line = head.find("\r\n", line + 2);
    }
    return {};
}

std::string usage_of(const Connection& c, std::int64_t tokens) {
    return R"("usage":{"prompt_tokens":)" + std::to_string(c.prompt_tokens) +
           R"(,"completion_tokens":)" + std::to_string(tokens) + R"(,"total_tokens":)" +
           std::to_string(c.prompt_tokens + tokens) + "}";
}

std::string chunk_of(std::string_view bytes) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return size + std::string(bytes) + "\r\n";
}

std::string event_of(std::string_view json) {
    return "data: " + std::string(json) + "\n\n";
}

/// An event with one token. They are a word each, so that a client that counts words agrees.
std::string token_event(const Connection& c, bool is_first, bool is_last) {
    const std::string finish = is_last ? R"("length")" : "null";
    if (c.api == Api::generate) {
        return event_of(R"({"text":" a","meta_info":{"completion_tokens":)" +
                        std::to_string(c.tokens_sent + 1) + R"(,"prompt_tokens":)" +
                        std::to_string(c.prompt_tokens) + R"(,"finish_reason":)" +
                        (is_last ? R"({"type":"length"})" : "null") + "}}");
    }
    if (c.api == Api::chat) {
        return event_of(R"({"id":"r","object":"chat.completion.chunk","created":1,"model":"peer",)"
                        R"("choices":[{"index":0,"delta":{)" +
                        std::string(is_first ? R"("role":"assistant",)" : "") +
                        R"("content":" a"},"finish_reason":)" + finish + "}]}");
    }
    return event_of(R"({"id":"r","object":"text_completion","created":1,"model":"peer",)"
                    R"("choices":[{"index":0,"text":" a","finish_reason":)" +
                    finish + "}]}");
}

std::string whole_answer(std::string_view status, std::string_view json) {
    return "HTTP/1.1 " + std::string(status) +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(json.size()) +
           "\r\n\r\n" + std::string(json);
}

std::string not_streamed(const Connection& c, std::int64_t tokens) {
    return whole_answer(
        "200 OK", R"({"id":"r","created":1,"model":"peer","choices":[{"index":0,"text":" a",)"
                  R"("message":{"role":"assistant","content":" a"},"finish_reason":"length"}],)" +
                      usage_of(c, tokens) + "}");
}

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

class Server {
  public:
    explicit Server(const Behaviour& behaviour);
    void run();
    void write_log();

  private:
    void watch(int descriptor, std::uint32_t events, std::uint64_t key) const;
    void accept_all();
    void handle(Connection& c, std::uint32_t events);
    bool read_all(Connection& c) const;
    void take_request(Connection& c);
    bool start_answer(Connection& c, std::string_view head, std::string_view body);
    bool answer_others(Connection& c, std::string_view head);
    void add_token(Connection& c);
    void go_on(Connection& c);
    bool flush(Connection& c) const;
    void send_due();
    void read_stamps(Connection& c);
    void close_connection(Connection& c);

    static constexpr std::uint64_t listener_key = UINT64_MAX;
    static constexpr std::uint64_t signal_key = UINT64_MAX - 1;

    Behaviour behaviour_;
    int epoll_ = -1;
    int listener_ = -1;
    bool stopped_ = false;
    std::vector<std::unique_ptr<Connection>> connections_;  ///< by number; null: closed
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::vector<Answer> answers_;
};

Server::Server(const Behaviour& behaviour)
    : behaviour_(behaviour),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Here already: a request may arrive before its connection is accepted.
    const int received = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(listener_, SOL_SOCKET, SO_TIMESTAMPING, &received, sizeof received);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(behaviour.port);
    socklen_t length = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 4096) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        die("listen");
    }
    watch(listener_, EPOLLIN, listener_key);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    watch(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), EPOLLIN, signal_key);
    std::printf("listening on http://127.0.0.1:%u\n", unsigned{ntohs(address.sin_port)});
    std::fflush(stdout);
}

void Server::watch(int descriptor, std::uint32_t events, std::uint64_t key) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = key;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        die("epoll_ctl");
    }
}

void Server::accept_all() {
    while (true) {  // until none waits
        const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (accepted < 0 && errno == EAGAIN) {
            return;
        }
        if (accepted < 0) {
            die("accept");
        }
        const int on = 1;
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const int both = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
                         SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                         SOF_TIMESTAMPING_OPT_TSONLY;
        if (setsockopt(accepted, SOL_SOCKET, SO_TIMESTAMPING, &both, sizeof both) != 0) {
            die("SO_TIMESTAMPING");
        }
        connections_.push_back(std::make_unique<Connection>());
        connections_.back()->socket = accepted;
        connections_.back()->number = static_cast<std::uint32_t>(connections_.size() - 1);
        watch(accepted, EPOLLIN | EPOLLRDHUP | EPOLLET, connections_.size() - 1);
    }
}

/// One read. Where `input` is empty it takes one byte: the stamp that the kernel gives with a read
/// is that of the last packet of it, and the first packet's is asked for.
ssize_t read_some(Connection& c) {
    static char room[1 << 16];
    alignas(cmsghdr) char control[256];
    iovec bytes{room, c.input.empty() ? 1 : sizeof room};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = c.input.empty() ? control : nullptr;
    message.msg_controllen = c.input.empty() ? sizeof control : 0;
    const ssize_t count = recvmsg(c.socket, &message, MSG_DONTWAIT);
    if (count <= 0) {
        return count;
    }
    if (c.input.empty()) {
        c.first_byte_ns = receiver::monotonic_ns();
        c.is_kernels = false;
        for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
            if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_TIMESTAMPING) {
                scm_timestamping stamp{};
                std::memcpy(&stamp, CMSG_DATA(at), sizeof stamp);
                c.first_byte_ns = stamp.ts[0].tv_sec * ns_per_s + stamp.ts[0].tv_nsec -
                                  receiver::realtime_offset();
                c.is_kernels = true;
            }
        }
    }
    c.input.append(room, static_cast<std::size_t>(count));
    return count;
}

/// False where the peer has closed.
bool Server::read_all(Connection& c) const {
    while (true) {  // until nothing is left to read
        const ssize_t count = read_some(c);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count < 0 && errno == EAGAIN;
        }
    }
}

void Server::handle(Connection& c, std::uint32_t events) {
    bool is_open = (events & EPOLLHUP) == 0;
    if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) {
        is_open = read_all(c) && is_open;
    }
    if (is_open && !c.answers) {
        take_request(c);
    } else if (!is_open) {
        close_connection(c);
    }
}

/// Starts on the request that `input` begins with, once it is whole.
void Server::take_request(Connection& c) {
    const std::size_t end = c.input.find("\r\n\r\n");
    if (end == std::string::npos) {
        return;
    }
    const std::string_view head = std::string_view(c.input).substr(0, end + 4);
    const auto length = static_cast<std::size_t>(number_of(header_of(head, "content-length")));
    if (c.input.size() < head.size() + length) {
        return;
    }
    const std::string_view body = std::string_view(c.input).substr(head.size(), length);
    const std::string_view connection = header_of(head, "connection");
    c.closes = connection.size() == 5 && strncasecmp(connection.data(), "close", 5) == 0;
    const bool is_sent = start_answer(c, head, body) || answer_others(c, head);
    c.input.erase(0, head.size() + length);
    c.first_byte_ns = receiver::monotonic_ns();  // of a request sent before the last was answered
    c.is_kernels = false;
    if (!is_sent) {
        close_connection(c);
    } else if (c.answers) {
        due_.push({c.due_ns, c.number});
    }
}

/// False where the request is not one of ours.
bool Server::start_answer(Connection& c, std::string_view head, std::string_view body) {
    if (head.starts_with("POST /v1/completions ")) {
        c.api = Api::completions;
    } else if (head.starts_with("POST /v1/chat/completions ")) {
        c.api = Api::chat;
    } else if (head.starts_with("POST /generate ")) {
        c.api = Api::generate;
    } else {
        return false;
    }
    const std::string_view prompt = prompt_of(body, c.api);
    const char between = prompt.starts_with('[') ? ',' : ' ';
    c.prompt_tokens = 1 + std::count(prompt.begin(), prompt.end(), between);
    c.is_stream = value_of(body, "stream").starts_with("true");
    c.wants_usage = value_of(body, "include_usage").starts_with("true");
    c.answers = true;
    c.answer = answers_.size();
    c.is_whole = false;
    c.tokens_sent = 0;
    c.began_ns = receiver::monotonic_ns();
    Answer line;
    line.id = header_of(head, "x-request-id");
    line.connection = c.number;
    line.prompt_hash = hash_of(prompt);
    line.received_ns = c.first_byte_ns;
    line.is_kernels = c.is_kernels;
    line.asked = tokens_of(body) > 0 ? tokens_of(body) : behaviour_.tokens;
    const std::int64_t gaps = c.is_stream ? 0 : line.asked - 1;
    c.due_ns = c.began_ns + behaviour_.first_ns + gaps * behaviour_.gap_ns;
    answers_.push_back(std::move(line));
    if (c.is_stream) {
        c.output = stream_head;
    }
    return behaviour_.first_ns == 0 || flush(c);
}

bool Server::answer_others(Connection& c, std::string_view head) {
    if (c.answers) {
        return false;  // its head could not be sent
    }
    if (head.starts_with("GET /v1/models ")) {
        c.output =
            whole_answer("200 OK", R"({"object":"list","data":[{"id":"peer","object":"model",)"
                                   R"("root":"peer","max_model_len":1048576}]})");
    } else if (head.starts_with("GET /health ")) {
        c.output = whole_answer("200 OK", "{}");
    } else {
        c.output = whole_answer("404 Not Found", R"({"detail":"Not Found"})");
    }
    return flush(c) && !c.closes;
}

/// Hands `output` to the kernel, or as much of it as it takes. False where the peer is gone.
bool Server::flush(Connection& c) const {
    while (!c.output.empty()) {
        const ssize_t sent = send(c.socket, c.output.data(), c.output.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        if (sent < 0 && errno == EAGAIN) {
            return true;
        }
        c.bytes_sent += static_cast<std::uint32_t>(std::max<ssize_t>(sent, 0));
        c.output.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return true;
}

/// Adds the next token to `output`, with what follows the last one.
void Server::add_token(Connection& c) {
    Answer& line = answers_[c.answer];
    const bool is_last = !c.is_stream || c.tokens_sent + 1 == line.asked;
    if (!c.is_stream) {
        c.output += not_streamed(c, line.asked);
    } else if (is_last) {
        const std::string usage =
            R"({"id":"r","object":"chunk","created":1,"model":"peer","choices":[],)" +
            usage_of(c, line.asked) + "}";
        c.output += chunk_of(token_event(c, c.tokens_sent == 0, true)) +
                    chunk_of((c.wants_usage ? event_of(usage) : "") + event_of("[DONE]")) +
                    "0\r\n\r\n";
    } else {
        c.output += chunk_of(token_event(c, c.tokens_sent == 0, false));
    }
    c.unstamped.push_back({c.bytes_sent + static_cast<std::uint32_t>(c.output.size()), c.answer,
                           line.tokens_ns.size()});
    line.tokens_ns.push_back(0);
    ++c.tokens_sent;
    c.is_whole = is_last;
    c.due_ns = c.began_ns + behaviour_.first_ns + c.tokens_sent * behaviour_.gap_ns;
}

/// What is due on a connection: a token, the rest of an answer that its peer was slow to read, or a
/// request that came before the last one was answered.
void Server::go_on(Connection& c) {
    if (!c.answers) {
        take_request(c);
        return;
    }
    if (!c.is_whole) {
        add_token(c);
    }
    if (!flush(c)) {
        close_connection(c);
        return;
    }
    if (c.is_whole || c.unstamped.size() >= unstamped_max) {
        read_stamps(c);
    }
    if (!c.is_whole) {
        due_.push({c.due_ns, c.number});
    } else if (!c.output.empty()) {
        due_.push({receiver::monotonic_ns() + retry_ns, c.number});
    } else if (c.closes) {
        close_connection(c);
    } else {
        c.answers = false;
        if (!c.input.empty()) {
            due_.push({0, c.number});
        }
    }
}

void Server::send_due() {
    for (std::size_t i = 0; i < sends_per_turn_max && !due_.empty(); ++i) {
        if (due_.top().ns > receiver::monotonic_ns()) {
            return;
        }
        const std::uint32_t number = due_.top().connection;
        due_.pop();
        if (connections_[number] != nullptr) {
            go_on(*connections_[number]);
        }
    }
}

/// The stamp in a message of the error queue, and the number of bytes that it is for.
struct TransmitStamp {
    std::uint32_t bytes = 0;
    std::int64_t realtime_ns = 0;  ///< 0: the message holds no stamp
};

TransmitStamp stamp_in(msghdr& message) {
    TransmitStamp found;
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_TIMESTAMPING) {
            scm_timestamping stamp{};
            std::memcpy(&stamp, CMSG_DATA(at), sizeof stamp);
            found.realtime_ns = stamp.ts[0].tv_sec * ns_per_s + stamp.ts[0].tv_nsec;
        } else if (at->cmsg_level == SOL_IP && at->cmsg_type == IP_RECVERR) {
            sock_extended_err error{};
            std::memcpy(&error, CMSG_DATA(at), sizeof error);
            found.bytes = error.ee_data + 1;  // the kernel tells the last byte's place
        }
    }
    return found;
}

/// Reads the transmit stamps that are there. One stamp counts for all tokens of its packet.
void Server::read_stamps(Connection& c) {
    const std::int64_t offset = receiver::realtime_offset();
    while (!c.unstamped.empty()) {
        static mmsghdr messages[stamps_per_call];
        alignas(cmsghdr) static char controls[stamps_per_call][256];
        const std::size_t wanted = std::min(stamps_per_call, c.unstamped.size() + 1);
        for (std::size_t i = 0; i < wanted; ++i) {
            messages[i] = {};
            messages[i].msg_hdr.msg_control = controls[i];
            messages[i].msg_hdr.msg_controllen = sizeof controls[i];
        }
        const int count = recvmmsg(c.socket, messages, static_cast<unsigned>(wanted),
                                   MSG_ERRQUEUE | MSG_DONTWAIT, nullptr);
        if (count <= 0) {
            return;
        }
        for (int i = 0; i < count; ++i) {
            const TransmitStamp stamp = stamp_in(messages[i].msg_hdr);
            while (stamp.realtime_ns > 0 && !c.unstamped.empty() &&
                   static_cast<std::int32_t>(stamp.bytes - c.unstamped.front().end) >= 0) {
                const Unstamped& token = c.unstamped.front();
                answers_[token.answer].tokens_ns[token.token] = stamp.realtime_ns - offset;
                c.unstamped.pop_front();
            }
        }
    }
}

void Server::close_connection(Connection& c) {
    read_stamps(c);
    close(c.socket);
    connections_[c.number].reset();
}

void Server::run() {
    epoll_event events[events_per_turn];
    while (!stopped_) {
        timespec wait{0, 0};
        if (!due_.empty()) {
            const std::int64_t ns =
                std::max<std::int64_t>(due_.top().ns - receiver::monotonic_ns(), 0);
            wait = {ns / ns_per_s, ns % ns_per_s};
        }
        const int count =
            epoll_pwait2(epoll_, events, events_per_turn, due_.empty() ? nullptr : &wait, nullptr);
        for (int i = 0; i < count; ++i) {
            const std::uint64_t key = events[i].data.u64;
            if (key == listener_key) {
                accept_all();
            } else if (key == signal_key) {
                stopped_ = true;
            } else if (connections_[key] != nullptr) {
                handle(*connections_[key], events[i].events);
            }
        }
        send_due();
    }
}

void Server::write_log() {
    for (const auto& connection : connections_) {
        if (connection != nullptr) {
            read_stamps(*connection);
        }
    }
    std::FILE* file = std::fopen(behaviour_.log, "w");
    if (file == nullptr) {
        die(behaviour_.log);
    }
    for (const Answer& line : answers_) {
        std::fprintf(
            file,
            R"({"request_id":"%s","connection":%u,"prompt_hash":"%016llx","received_ns":%lld,)"
            R"("from_kernel":%s,"asked":%lld,"token_ns":[)",
            line.id.c_str(), line.connection, static_cast<unsigned long long>(line.prompt_hash),
            static_cast<long long>(line.received_ns), line.is_kernels ? "true" : "false",
            static_cast<long long>(line.asked));
        const char* comma = "";
        for (const std::int64_t ns : line.tokens_ns) {
            if (ns == 0) {
                std::fprintf(file, "%snull", comma);
            } else {
                std::fprintf(file, "%s%lld", comma, static_cast<long long>(ns));
            }
            comma = ",";
        }
        std::fputs("]}\n", file);
    }
    if (std::fclose(file) != 0) {
        die(behaviour_.log);
    }
}

Behaviour parse(int argc, char** argv) {
    Behaviour behaviour;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const long long number = std::atoll(argv[i + 1]);
        if (name == "--log") {
            behaviour.log = argv[i + 1];
        } else if (name == "--port") {
            behaviour.port = static_cast<std::uint16_t>(number);
        } else if (name == "--first-us") {
            behaviour.first_ns = number * 1000;
        } else if (name == "--gap-us") {
            behaviour.gap_ns = number * 1000;
        } else if (name == "--tokens") {
            behaviour.tokens = std::max(number, 1LL);
        } else {
            std::fprintf(stderr, "peers_server: unknown flag %s\n", argv[i]);
            std::exit(2);
        }
    }
    if (behaviour.log == nullptr) {
        std::fprintf(stderr, "peers_server: --log FILE is needed\n");
        std::exit(2);
    }
    return behaviour;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
    const peers::Behaviour behaviour = peers::parse(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    peers::Server server(behaviour);
    server.run();
    server.write_log();
}
