#include "engine/record/line_sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

/// Bytes written, and errno where that is fewer than all. Usually one call.
static std::pair<std::size_t, int> write_all(int fd, std::string_view bytes) {
    CHECK(fd >= 0);
    std::size_t done = 0;
    while (done < bytes.size()) {  // every turn but those of EINTR writes at least a byte
        const ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return {done, count < 0 ? errno : EIO};
        }
        done += static_cast<std::size_t>(count);
    }
    CHECK(done == bytes.size());
    return {done, 0};
}

/// Bytes up to the end of the last whole line; -1 and errno where the file cannot be read.
static std::int64_t whole_lines(int fd) {
    char piece[4096];
    off_t end = ::lseek(fd, 0, SEEK_END);
    while (end > 0) {  // a piece nearer to the beginning each time
        const off_t begin = end > off_t{sizeof piece} ? end - off_t{sizeof piece} : 0;
        const ssize_t got = ::pread(fd, piece, static_cast<std::size_t>(end - begin), begin);
        if (got != end - begin) {
            errno = got < 0 ? errno : EIO;
            return -1;
        }
        const std::size_t at = std::string_view(piece, static_cast<std::size_t>(got)).rfind('\n');
        if (at != std::string_view::npos) {
            return begin + static_cast<off_t>(at) + 1;
        }
        end = begin;
    }
    return end;
}

Result<LineSink> LineSink::create(const std::string& path) {
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
    if (!file.is_open()) {
        return error_from_errno(errno, "create a file of the run");
    }
    return of(path, std::move(file), 0);
}

Result<LineSink> LineSink::append(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file.is_open()) {
        return error_from_errno(errno, "open a file of the run");
    }
    const std::int64_t whole = whole_lines(file.number());
    if (whole < 0 || ::ftruncate(file.number(), whole) != 0) {
        return error_from_errno(errno, "cut a torn line off a file of the run");
    }
    return of(path, std::move(file), static_cast<std::uint64_t>(whole));
}

LineSink LineSink::of(const std::string& path, Fd file, std::uint64_t written) {
    CHECK(file.is_open() && !path.empty());
    LineSink sink;
    sink.file_ = std::move(file);
    sink.path_ = path;
    sink.written_ = written;
    sink.buffer_.reserve(2 * sink_bytes_max);
    return sink;
}

LineSink::~LineSink() {
    if (file_.is_open()) {
        flush();
    }
}

LineSink::LineSink(LineSink&& other) noexcept {
    *this = std::move(other);
}

LineSink& LineSink::operator=(LineSink&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(file_, other.file_);
    std::swap(path_, other.path_);
    std::swap(buffer_, other.buffer_);
    std::swap(written_, other.written_);
    std::swap(error_, other.error_);
    return *this;
}

void LineSink::commit() {
    if (memory_ == nullptr && (buffer_.size() >= sink_bytes_max || !file_.is_open())) {
        flush();
    }
}

/// What was written of a half line is cut off again, so that a full disk leaves whole lines.
void LineSink::flush() {
    if (memory_ != nullptr || buffer_.empty()) {
        return;
    }
    CHECK(buffer_.back() == '\n');  // whole lines
    if (file_.is_open() && !error_.has_value()) {
        const auto [done, sys_errno] = write_all(file_.number(), buffer_);
        std::size_t whole = done;
        if (sys_errno != 0) {
            error_ = error_from_errno(sys_errno, "write a file of the run");
            whole = done == 0 ? 0 : buffer_.rfind('\n', done - 1) + 1;  // npos + 1 is 0
            if (whole < done) {
                (void)!::ftruncate(file_.number(), static_cast<off_t>(written_ + whole));
            }
        }
        CHECK(whole <= done && done <= buffer_.size());
        written_ += whole;
    }
    buffer_.clear();
}

}  // namespace driftless
