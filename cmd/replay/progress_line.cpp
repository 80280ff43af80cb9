#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "cmd/base/program.hpp"
#include "cmd/base/values.hpp"
#include "cmd/replay/side_threads.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr int backlog = 16;
static constexpr int look_pause_ms = 100;  ///< so often the thread looks whether the run is over
static constexpr int connection_most_ms = 1000;
static constexpr std::size_t request_bytes_max = 8192;
static constexpr double ns_per_s = 1e9;

/// A family of one sample.
template <typename Number>
static void add_family(std::string& out, std::string_view name, std::string_view type,
                       std::string_view help, Number value) {
    fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type,
                   help, value);
}

namespace {

/// What is left of the time of a connection.
class Patience {
  public:
    int left_ms() const {
        const std::int64_t ms = (monotonic_ns() - began_ns_) / 1'000'000;
        return ms >= connection_most_ms ? 0 : connection_most_ms - static_cast<int>(ms);
    }
    /// False where that did not happen in time.
    bool wait(int fd, short events) const {
        pollfd watched{fd, events, 0};
        return ::poll(&watched, 1, left_ms()) > 0;
    }

  private:
    std::int64_t began_ns_ = monotonic_ns();
};

}  // namespace

/// The head of a request; empty where none came whole in time.
static std::string read_head(int connection, const Patience& patience) {
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

static void say(int connection, std::string_view text, const Patience& patience) {
    while (!text.empty() && patience.wait(connection, POLLOUT)) {
        const ssize_t sent =
            ::send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

static std::string answer_to(std::string_view head, const Progress& progress) {
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

Result<void> LivePage::listen(const Address& address) {
    CHECK(!listener_.is_open());
    listener_ = Fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int number = listener_.number();
    const int on = 1;
    address_.length = sizeof address_.storage;
    if (number < 0 || ::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(number, address.raw(), address.length) != 0 || ::listen(number, backlog) != 0 ||
        ::getsockname(number, reinterpret_cast<sockaddr*>(&address_.storage), &address_.length) !=
            0) {
        return error_from_errno(errno, "listen there");
    }
    return {};
}

Result<void> LivePage::start(const cpu_set_t* cpus) {
    CHECK(listener_.is_open());
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
        pollfd watched{listener_.number(), POLLIN, 0};
        if (::poll(&watched, 1, look_pause_ms) <= 0) {
            continue;
        }
        const Fd connection(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
        if (connection.is_open()) {
            serve(connection.number());
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

static constexpr std::int64_t window_ns = 5'000'000'000;       // long enough for a steady rate
static constexpr std::int64_t line_every_ns = 30'000'000'000;  // in a log

static std::string clock_text(std::int64_t ns) {
    const std::int64_t seconds = std::abs(ns) / 1'000'000'000;
    const char* sign = ns < 0 && seconds > 0 ? "-" : "";
    if (seconds >= 3600) {
        return fmt::format("{}{}:{:02}:{:02}", sign, seconds / 3600, seconds / 60 % 60,
                           seconds % 60);
    }
    return fmt::format("{}{}:{:02}", sign, seconds / 60, seconds % 60);
}

static std::string short_time(std::int64_t ns) {
    const auto value = static_cast<double>(ns);
    if (ns < 1'000) {
        return fmt::format("{} ns", ns);
    }
    if (ns < 1'000'000) {
        return fmt::format("{:.1f} us", value / 1e3);
    }
    return ns < 1'000'000'000 ? fmt::format("{:.1f} ms", value / 1e6)
                              : fmt::format("{:.1f} s", value / 1e9);
}

/// "  failed 12: http_5xx 9, truncated 3", and beside it what was never sent.
static std::string failures(const Progress& p) {
    std::uint64_t failed = 0;
    for (std::size_t i = 0; i < p.outcomes.size(); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        failed += is_failure(outcome) && outcome != Outcome::not_sent ? p.outcomes[i] : 0;
    }
    const std::string kinds = failed_kinds(p.outcomes, Outcome::not_sent);
    const std::uint64_t unsent = p.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    return (failed > 0 ? "  failed " + grouped(failed) + ": " + kinds : "") +
           (unsent > 0 ? "  not sent " + grouped(unsent) : "");
}

static std::size_t columns_of(int fd) {
    winsize size{};
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

static void write_to(int fd, std::string_view text) {
    (void)!::write(fd, text.data(), text.size());  // a progress line may be lost
}

/// Until the last row is due; from then on, or where that is not known, what is to come.
/// Once all have left it also says how long that takes if answers go on as lately: before, pauses
/// of their users may last longer.
static std::string time_left(const Progress& p, const ProgressRates& rates) {
    if (p.left_ns && (*p.left_ns > 0 || p.inflight == 0)) {
        return clock_text(*p.left_ns) + " left";
    }
    const std::uint64_t unsent = p.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    const std::uint64_t rows = p.rows - p.fired - unsent;
    const std::string what = rows == 0 || p.rows_open
                                 ? counted(p.inflight, "answer", "answers") + " to come"
                                 : grouped(rows) + (rows == 1 ? " row" : " rows") + " to go";
    // Users send more when answers have come, and how many more is not known.
    // The last few are the longest, of which the rate says nothing.
    constexpr std::uint64_t few = 10;
    const std::uint64_t open = p.rows - p.ended;
    if (p.rows_open || rates.ended_per_s <= 0 || (rows > 0 && !p.left_ns) || open < few) {
        return what;
    }
    const double whole_per_s = static_cast<double>(p.ended) * 1e9 /
                               static_cast<double>(std::max<std::int64_t>(p.elapsed_ns, 1));
    const double seconds = static_cast<double>(open) / std::min(rates.ended_per_s, whole_per_s);
    return what + ", about " + clock_text(static_cast<std::int64_t>(std::min(seconds, 1e8) * 1e9));
}

std::string progress_text(const Progress& p, const ProgressRates& rates) {
    const std::string left = time_left(p, rates);
    const std::string all = p.rows_open ? "" : " of " + grouped(p.rows);
    std::string text =
        fmt::format("{} / {}  {}{} sent", clock_text(p.elapsed_ns), left, grouped(p.fired), all);
    if (rates.rows_per_s) {
        text += fmt::format(", {:.1f}/s", *rates.rows_per_s);
    }
    text += fmt::format("  {} open", grouped(p.inflight));
    if (p.ttft_ns) {
        text += "  TTFT " + short_time(*p.ttft_ns);
    }
    text += failures(p);
    if (rates.rows_per_s) {
        const auto tokens = static_cast<std::uint64_t>(std::llround(rates.tokens_per_s));
        text += fmt::format("  {} tok/s", grouped(tokens));
    }
    return text + "  worst drift " + short_time(p.drift_max_ns);
}

ProgressRates RateWindow::add(const Progress& progress) {
    points_.push_back({progress.elapsed_ns, progress.fired, progress.tokens, progress.ended});
    while (points_.size() > 2 && points_[1].elapsed_ns <= progress.elapsed_ns - length_ns_) {
        points_.pop_front();
    }
    const Point& first = points_.front();
    const auto seconds = static_cast<double>(progress.elapsed_ns - first.elapsed_ns) / 1e9;
    ProgressRates rates;
    if (seconds > 0) {
        rates.rows_per_s = static_cast<double>(progress.fired - first.fired) / seconds;
        rates.tokens_per_s =
            (static_cast<double>(progress.tokens) - static_cast<double>(first.tokens)) / seconds;
        rates.ended_per_s = static_cast<double>(progress.ended - first.ended) / seconds;
    }
    return rates;
}

ProgressLine::ProgressLine(int fd, const ProgressRule& rule)
    : fd_(fd),
      rule_(rule),
      terminal_(can_redraw(fd)),
      line_at_ns_(line_every_ns),
      window_(terminal_ ? window_ns : line_every_ns) {}

ProgressLine::~ProgressLine() {
    wipe();
}

void ProgressLine::show(const Progress& progress) {
    say_stopped(progress);
    const ProgressRates rates = window_.add(progress);
    if (!rule_.shown) {
        return;
    }
    if (terminal_) {
        const std::string text = progress_text(progress, rates).substr(0, columns_of(fd_) - 1);
        write_to(fd_, "\r" + text + "\x1b[K");
        drawn_ = true;
    } else if (progress.elapsed_ns >= line_at_ns_) {
        write_to(fd_, "progress: " + progress_text(progress, rates) + "\n");
        line_at_ns_ += ((progress.elapsed_ns - line_at_ns_) / line_every_ns + 1) * line_every_ns;
    }
}

/// The engine prints nothing while it runs; here it is said for it.
void ProgressLine::say_stopped(const Progress& progress) {
    const int stops = rule_.stops == nullptr ? 0 : rule_.stops->load(std::memory_order_relaxed);
    if (stops <= stops_said_) {
        return;
    }
    const std::uint64_t unsent = progress.rows - progress.fired;
    wipe();
    const std::string open =
        grouped(progress.inflight) + (progress.inflight == 1 ? " open answer" : " open answers");
    const std::string said =
        "interrupted: " + (progress.rows_open ? std::string("nothing more is sent")
                                              : grouped(unsent) + (unsent == 1 ? " row" : " rows") +
                                                    " will not be sent");
    if (progress.inflight == 0) {
        write_to(fd_, said + "\n");
    } else if (stops == 1) {
        write_to(fd_, said + "; waiting up to " + duration_to_text(rule_.grace_ns) + " for " +
                          open + " (--grace); interrupt again to cancel " +
                          (progress.inflight == 1 ? "it" : "them") + "\n");
    } else {
        write_to(fd_, "interrupted again: " + open +
                          (progress.inflight == 1 ? " is cancelled\n" : " are cancelled\n"));
    }
    stops_said_ = stops;
}

void ProgressLine::wipe() {
    if (drawn_) {
        write_to(fd_, "\r\x1b[K");
        drawn_ = false;
    }
}

}  // namespace driftless
