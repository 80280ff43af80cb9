#include "cmd/base/guard.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

/// A descriptor, and the head of a character that one write ended in.
struct Screen {
    int fd;
    std::string begun;
};

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count <= 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return true;
}

/// Bytes at the end of `text` that may begin a character: at most 3.
std::size_t begun_bytes(std::string_view text) {
    for (std::size_t bytes = 1; bytes <= 3 && bytes <= text.size(); ++bytes) {
        const auto lead = static_cast<std::uint8_t>(text[text.size() - bytes]);
        if (lead < 0x80) {
            return 0;
        }
        if (lead >= 0xC0) {
            const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
            return bytes < whole ? bytes : 0;
        }
    }
    return 0;
}

ssize_t write_clean(void* cookie, const char* bytes, std::size_t size) {
    Screen& screen = *static_cast<Screen*>(cookie);
    std::string text = std::move(screen.begun);
    text.append(bytes, size);
    const std::size_t begun = begun_bytes(text);
    screen.begun = text.substr(text.size() - begun);
    text.resize(text.size() - begun);
    return write_all(screen.fd, printable_lines(text)) ? static_cast<ssize_t>(size) : 0;
}

std::FILE* open_clean(Screen& screen, int buffering) {
    std::FILE* const stream =
        ::fopencookie(&screen, "w", {nullptr, &write_clean, nullptr, nullptr});
    if (stream != nullptr) {
        (void)std::setvbuf(stream, nullptr, buffering, BUFSIZ);
    }
    return stream;
}

void write_line(std::FILE* stream, const char* format, std::va_list values) {
    std::va_list again;
    va_copy(again, values);
    const int bytes = std::vsnprintf(nullptr, 0, format, values);
    std::string text(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
    (void)std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    (void)std::fputs((printable(text) + "\n").c_str(), stream);
}

}  // namespace

void print_line(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    write_line(stdout, format, values);
    va_end(values);
}

void complain(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    write_line(stderr, format, values);
    va_end(values);
}

void guard_screens() {
    // Never destroyed: the streams are flushed at exit, behind the destructors of static objects.
    static Screen& error = *new Screen{STDERR_FILENO, {}};
    static Screen& out = *new Screen{STDOUT_FILENO, {}};
    if (std::FILE* const stream = open_clean(error, _IONBF); stream != nullptr) {
        stderr = stream;
    }
    if (::isatty(STDOUT_FILENO) == 1) {
        if (std::FILE* const stream = open_clean(out, _IOLBF); stream != nullptr) {
            stdout = stream;
        }
    }
}

}  // namespace driftless
