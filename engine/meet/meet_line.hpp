/// MeetLine: one end of a connection on which lines go both ways. Owns the socket, which never
/// blocks: who does not read what is sent to it, or sends a line without an end, is given up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/meet/clock_difference.hpp"
#include "engine/meet/meet_message.hpp"

namespace driftless {

/// A file descriptor of a socket. Move-only.
class MeetSocket {
  public:
    MeetSocket() = default;
    explicit MeetSocket(int fd) : fd_(fd) {}
    ~MeetSocket();
    MeetSocket(MeetSocket&& other) noexcept;
    MeetSocket& operator=(MeetSocket&& other) noexcept;
    MeetSocket(const MeetSocket&) = delete;
    MeetSocket& operator=(const MeetSocket&) = delete;

    int fd() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }

  private:
    int fd_ = -1;
};

class MeetLine {
  public:
    /// `socket` is connected and does not block.
    explicit MeetLine(MeetSocket socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.fd(); }
    /// Takes what has come; `clock` is read right behind it. False: the other side has closed, or
    /// sends a line that is too long.
    bool receive(const MeetClock& clock);
    /// The next whole line, without its end.
    std::optional<std::string> take();
    /// When the last bytes were here.
    std::int64_t received_ns() const { return received_ns_; }
    /// All of it, at once. False: it is not taken.
    bool send(std::string_view line);
    /// The same for an exchange of stamps: the clock is read last.
    bool ask(const MeetClock& clock);
    bool tell(ClockExchange stamps, const MeetClock& clock);

  private:
    MeetSocket socket_;
    std::string received_;
    std::int64_t received_ns_ = 0;
};

/// Waits for bytes, at most until `until_ns` of the monotonic clock and `nap_ms`, whatever comes
/// first. True: there are some, or the other side has closed.
bool wait_for_bytes(int fd, std::int64_t until_ns, int nap_ms);

}  // namespace driftless
