#include "engine/meet/meet_line.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/time/monotonic.hpp"

namespace driftless {

MeetSocket::~MeetSocket() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

MeetSocket::MeetSocket(MeetSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

MeetSocket& MeetSocket::operator=(MeetSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

bool MeetLine::receive(const MeetClock& clock) {
    char bytes[meet_line_bytes_max];
    const ssize_t count = ::recv(socket_.fd(), bytes, sizeof bytes, 0);
    const int error = errno;
    received_ns_ = clock.now();
    if (count < 0) {
        return error == EAGAIN || error == EINTR;
    }
    received_.append(bytes, static_cast<std::size_t>(count));
    return count > 0 &&
           (received_.size() <= meet_line_bytes_max || received_.find('\n') != received_.npos);
}

std::optional<std::string> MeetLine::take() {
    const std::size_t end = received_.find('\n');
    if (end == received_.npos) {
        return {};
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

bool MeetLine::send(std::string_view line) {
    const ssize_t count = ::send(socket_.fd(), line.data(), line.size(), MSG_NOSIGNAL);
    return count == static_cast<ssize_t>(line.size());
}

bool MeetLine::ask(const MeetClock& clock) {
    MeetMessage message;
    message.kind = MeetMessage::Kind::ask;
    message.stamps.t1_ns = clock.now();
    return send(to_line(message));
}

bool MeetLine::tell(ClockExchange stamps, const MeetClock& clock) {
    MeetMessage message;
    message.kind = MeetMessage::Kind::tell;
    message.stamps = stamps;
    message.stamps.t3_ns = clock.now();
    return send(to_line(message));
}

bool wait_for_bytes(int fd, std::int64_t until_ns, int nap_ms) {
    const std::int64_t left_ms = (until_ns - monotonic_ns()) / 1'000'000 + 1;
    const auto wait_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, nap_ms));
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, wait_ms) > 0;
}

}  // namespace driftless
