#include "cmd/screen/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cmd/screen/plots.hpp"
#include "cmd/screen/words.hpp"
#include "cmd/values.hpp"
#include "proto/core/counted.hpp"

namespace driftless {

namespace {

constexpr std::int64_t window_ns = 5'000'000'000;       // long enough for a rate to stand still
constexpr std::int64_t line_every_ns = 30'000'000'000;  // in a log

std::string clock_text(std::int64_t ns) {
    const std::int64_t seconds = std::abs(ns) / 1'000'000'000;
    const char* sign = ns < 0 && seconds > 0 ? "-" : "";
    if (seconds >= 3600) {
        return fmt::format("{}{}:{:02}:{:02}", sign, seconds / 3600, seconds / 60 % 60,
                           seconds % 60);
    }
    return fmt::format("{}{}:{:02}", sign, seconds / 60, seconds % 60);
}

std::string short_time(std::int64_t ns) {
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
std::string failures(const Progress& p) {
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

std::size_t columns_of(int fd) {
    winsize size{};
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

void write_to(int fd, std::string_view text) {
    (void)!::write(fd, text.data(), text.size());  // a progress line may be lost
}

}  // namespace

std::string progress_text(const Progress& p, const ProgressRates& rates) {
    const std::uint64_t unsent = p.outcomes[static_cast<std::size_t>(Outcome::not_sent)];
    // Users send more when answers have come, and how many more is not known.
    const std::string left = p.left_ns     ? clock_text(*p.left_ns) + " left"
                             : p.rows_open ? counted(p.inflight, "answer", "answers") + " to come"
                                           : grouped(p.rows - p.fired - unsent) + " rows to go";
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
    points_.push_back({progress.elapsed_ns, progress.fired, progress.tokens});
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
    }
    return rates;
}

ProgressLine::ProgressLine(int fd, const ProgressRule& rule)
    : fd_(fd),
      rule_(rule),
      terminal_(isatty(fd) == 1),
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

ProgressCallback ProgressLine::callback() {
    return {[](void* owner, const Progress& progress) {
                static_cast<ProgressLine*>(owner)->show(progress);
            },
            this};
}

}  // namespace driftless
