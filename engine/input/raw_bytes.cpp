#include "engine/input/raw_bytes.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/core/check.hpp"

namespace driftless {
namespace {

/// Bytes that are read at a time: large beside the cost of a system call, small beside a cache.
constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

}  // namespace

RawBytes::~RawBytes() {
    if (fd_ > STDIN_FILENO) {
        ::close(fd_);
    }
}

Result<std::string_view> RawBytes::ahead(std::size_t least) {
    CHECK(least <= ahead_max);
    if (buffer_ == nullptr) {
        buffer_ = std::make_unique_for_overwrite<char[]>(buffer_bytes);
    }
    if (end_ - begin_ < least) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    while (end_ - begin_ < least && !ended_) {  // ends: every turn reads something or nothing more
        const ssize_t got = ::read(fd_, buffer_.get() + end_, buffer_bytes - end_);
        if (got < 0 && errno != EINTR) {
            failure_ = Error{ErrorCode::io_failed, errno, "read the trace"};
            return *failure_;
        }
        ended_ = got == 0;
        end_ += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return std::string_view(buffer_.get() + begin_, end_ - begin_);
}

void RawBytes::take(std::size_t bytes) {
    CHECK(bytes <= end_ - begin_);
    begin_ += bytes;
}

}  // namespace driftless
