#include "cmd/replay/run/live_page.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string_view>

#include "proto/core/check.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr int backlog = 16;
constexpr int look_pause_ms = 100;  ///< so often the thread looks whether the run is over
constexpr int connection_most_ms = 1000;
constexpr std::size_t request_bytes_max = 8192;
constexpr double ns_per_s = 1e9;

/// A family of one sample.
template <typename Number>
void add_family(std::string& out, std::string_view name, std::string_view type,
                std::string_view help, Number value) {
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type,
                   help, value);
}

/// What is left of the time of a connection.
class Patience {
  public:
    int left_ms() const {
        const auto passed = std::chrono::steady_clock::now() - began_;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
        return ms >= connection_most_ms ? 0 : connection_most_ms - static_cast<int>(ms);
    }
    /// False where that did not happen in time.
    bool wait(int fd, short events) const {
        pollfd watched{fd, events, 0};
        return ::poll(&watched, 1, left_ms()) > 0;
    }

  private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// The head of a request; empty where none came whole in time.
std::string read_head(int connection, const Patience& patience) {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {  // bounded by its bytes and by patience
        char bytes[1024];
        const ssize_t got = patience.wait(connection, POLLIN)
                                ? ::recv(connection, bytes, sizeof bytes, MSG_DONTWAIT)
                                : -1;
        if (got <= 0 || head.size() > request_bytes_max) {
            return "";
        }
        head.append(bytes, static_cast<std::size_t>(got));
    }
    return head;
}

void say(int connection, std::string_view text, const Patience& patience) {
    while (!text.empty() && patience.wait(connection, POLLOUT)) {
        const ssize_t sent =
            ::send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string answer_to(std::string_view head, const Progress& progress) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const bool is_get = line.starts_with("GET ");
    const std::string_view target = line.substr(0, line.rfind(' ')).substr(is_get ? 4 : 0);
    const bool is_page = is_get && (target == "/metrics" || target.starts_with("/metrics?"));
    const std::string body = is_page  ? live_page_text(progress)
                             : is_get ? "the page is /metrics\n"
                                      : "use GET\n";
    const char* status = is_page ? "200 OK" : is_get ? "404 Not Found" : "405 Method Not Allowed";
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain{}; charset=utf-8\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        status, is_page ? "; version=0.0.4" : "", body.size(), body);
}

}  // namespace

std::string live_page_text(const Progress& p) {
    std::string out;
    add_family(out, "driftless_elapsed_seconds", "gauge",
               "Time since the start of the run; negative before it.",
               static_cast<double>(p.elapsed_ns) / ns_per_s);
    add_family(out, "driftless_requests_planned", "gauge",
               "Requests that the run will send, as far as known.", p.rows);
    add_family(out, "driftless_requests_sent_total", "counter", "Requests that were sent.",
               p.fired);
    add_family(out, "driftless_requests_in_flight", "gauge", "Requests that are open.", p.inflight);
    add_family(out, "driftless_output_tokens_total", "counter",
               "Output tokens received, as far as known.", p.tokens);
    add_family(out, "driftless_drift_max_seconds", "gauge",
               "The latest that any request was sent after its due instant.",
               static_cast<double>(p.drift_max_ns) / ns_per_s);
    if (p.ttft_ns) {
        add_family(out, "driftless_ttft_median_seconds", "gauge",
                   "Time to the first token, median of the latest answers.",
                   static_cast<double>(*p.ttft_ns) / ns_per_s);
    }
    out +=
        "# HELP driftless_requests_ended_total Requests that ended, by outcome.\n"
        "# TYPE driftless_requests_ended_total counter\n";
    for (std::size_t i = 0; i < p.outcomes.size(); ++i) {
        fmt::format_to(std::back_inserter(out),
                       "driftless_requests_ended_total{{outcome=\"{}\"}} {}\n",
                       name_of(static_cast<Outcome>(i)), p.outcomes[i]);
    }
    return out;
}

LivePage::~LivePage() {
    stop();
    if (listener_ >= 0) {
        ::close(listener_);
    }
}

Result<void> LivePage::listen(const Address& address) {
    CHECK(listener_ < 0);
    listener_ = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    address_.length = sizeof address_.storage;
    if (listener_ < 0 || ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(listener_, address.raw(), address.length) != 0 ||
        ::listen(listener_, backlog) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_.storage),
                      &address_.length) != 0) {
        return error_from_errno(errno, "listen there");
    }
    return {};
}

Result<void> LivePage::start(const cpu_set_t* cpus) {
    CHECK(listener_ >= 0);
    return thread_.start<&LivePage::work>("live page", cpus, *this);
}

void LivePage::stop() {
    stopping_.store(true, std::memory_order_release);
    thread_.join();
}

void LivePage::show(const Progress& progress) {
    const std::lock_guard held(mutex_);
    latest_ = progress;
}

void LivePage::work() {
    while (!stopping_.load(std::memory_order_acquire)) {  // ends: by `stop`
        pollfd watched{listener_, POLLIN, 0};
        if (::poll(&watched, 1, look_pause_ms) <= 0) {
            continue;
        }
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection >= 0) {
            serve(connection);
            ::close(connection);
        } else {  // no descriptor is free: not at once again
            (void)::poll(nullptr, 0, look_pause_ms);
        }
    }
}

void LivePage::serve(int connection) {
    const Patience patience;
    const std::string head = read_head(connection, patience);
    if (head.empty()) {
        return;
    }
    Progress latest;
    {
        const std::lock_guard held(mutex_);
        latest = latest_;
    }
    say(connection, answer_to(head, latest), patience);
}

}  // namespace driftless
