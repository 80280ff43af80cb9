#include "cmd/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
// run.json, the largest that is read, grows with the model list of a server: some KiB each.
constexpr std::size_t read_bytes_max = 64 << 20;

}  // namespace

std::string utc_text(std::int64_t utc_ns) {
    const time_t whole = utc_ns / ns_per_second;
    tm parts{};
    (void)::gmtime_r(&whole, &parts);
    char text[64];
    std::snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", parts.tm_year + 1900,
                  parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                  static_cast<long long>(utc_ns % ns_per_second));
    return text;
}

Result<void> write_whole_file(const std::string& path, const std::string& text, Lasting lasting) {
    const std::string fresh = path + ".new";
    // Where a FIFO has that name, it is refused instead of waited for.
    const int number =
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
    if (number < 0) {
        return error_from_errno(errno, "create a file");
    }
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t got = ::write(number, text.data() + written, text.size() - written);
        if (got < 0 && errno != EINTR) {
            const Error error = error_from_errno(errno, "write a file");
            ::close(number);
            (void)::unlink(fresh.c_str());
            return error;
        }
        written += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    const bool synced = lasting == Lasting::written || ::fsync(number) == 0;
    const bool closed = ::close(number) == 0;
    if (!synced || !closed || ::rename(fresh.c_str(), path.c_str()) != 0) {
        const Error error = error_from_errno(errno, "write a file");
        (void)::unlink(fresh.c_str());
        return error;
    }
    return {};
}

Result<std::string> read_whole_file(const std::string& path) {
    const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (number < 0) {
        return error_from_errno(errno, "open a file");
    }
    std::string text;
    char piece[16384];
    while (text.size() <= read_bytes_max) {
        const ssize_t got = ::read(number, piece, sizeof(piece));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            const int failure = got < 0 ? errno : 0;
            ::close(number);
            return failure == 0 ? Result<std::string>(std::move(text))
                                : Result<std::string>(error_from_errno(failure, "read a file"));
        }
        text.append(piece, static_cast<std::size_t>(got));
    }
    ::close(number);
    return Error{ErrorCode::too_large, 0, "read a file"};
}

Result<std::string> read_regular_file(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        return Error{ErrorCode::invalid, 0, "is not a regular file"};
    }
    return read_whole_file(path);
}

std::string why_unreadable(const Error& error) {
    return error.code == ErrorCode::invalid ? error.doing : "cannot be read: " + reason_of(error);
}

}  // namespace driftless
