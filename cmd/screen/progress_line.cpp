#include "cmd/screen/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace driftless {

namespace {

std::string grouped(std::uint64_t value) {
    std::string text = fmt::format("{}", value);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

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

std::size_t columns_of(int fd) {
    winsize size{};
    const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

void write_to(int fd, std::string_view text) {
    (void)!::write(fd, text.data(), text.size());  // a progress line that is lost is no loss
}

}  // namespace

std::string progress_text(const Progress& p) {
    std::string text = fmt::format(
        "{} / {} left  fired {} of {}  in flight {}  {} tok/s  worst drift {}",
        clock_text(p.elapsed_ns), clock_text(p.left_ns), grouped(p.fired), grouped(p.rows),
        grouped(p.inflight), grouped(static_cast<std::uint64_t>(std::llround(p.tokens_per_s))),
        short_time(p.drift_max_ns));
    if (p.failed > 0) {
        text += fmt::format("  failed {}", grouped(p.failed));
    }
    return text;
}

ProgressLine::ProgressLine(int fd) : fd_(fd), terminal_(isatty(fd) == 1) {}

ProgressLine::~ProgressLine() {
    wipe();
}

void ProgressLine::show(const Progress& progress) {
    if (!terminal_) {
        return;
    }
    const std::string text = progress_text(progress).substr(0, columns_of(fd_) - 1);
    write_to(fd_, "\r" + text + "\x1b[K");
    drawn_ = true;
}

void ProgressLine::wipe() {
    if (drawn_) {
        write_to(fd_, "\r\x1b[K");
        drawn_ = false;
    }
}

ProgressCallback ProgressLine::callback() {
    if (!terminal_) {
        return {};
    }
    return {[](void* owner, const Progress& progress) {
                static_cast<ProgressLine*>(owner)->show(progress);
            },
            this};
}

}  // namespace driftless
