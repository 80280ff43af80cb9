/// ClockDifference: how far the clock of this host is from that of another, by exchanges of four
/// stamps (NTP, RFC 5905 section 8): sent by us (t1), received (t2) and answered (t3) there,
/// received by us (t4).
///
/// Half of the time on the way is the most by which an exchange can be wrong, however unequal the
/// two ways are. So the exchange that was on the way for the shortest time says most. Pure, but for
/// `kernel_clock_error_ns`; the clocks are their reader's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/json/document.hpp"

namespace driftless {

/// Whose clock is compared: ns of CLOCK_REALTIME, or a test's own.
struct MeetClock {
    std::int64_t (*read)(const void* self) = nullptr;
    const void* self = nullptr;
    std::int64_t now() const { return read(self); }
};
/// CLOCK_REALTIME.
MeetClock realtime_clock();

struct ClockExchange {
    std::int64_t t1_ns = 0;  ///< our clock
    std::int64_t t2_ns = 0;  ///< theirs
    std::int64_t t3_ns = 0;  ///< theirs
    std::int64_t t4_ns = 0;  ///< ours
};

struct ClockDifference {
    std::int64_t offset_ns = 0;      ///< our clock less theirs: above 0 where ours is ahead
    std::int64_t error_ns = 0;       ///< the truth is within this, either way
    std::int64_t round_trip_ns = 0;  ///< on the way, both ways
};

/// So many exchanges are made; the first ones find the path cold.
inline constexpr std::size_t clock_exchanges = 32;

/// By the exchange with the least round trip. Nothing where none makes sense: a clock was set while
/// they went on, or the other side tells stamps that cannot be.
std::optional<ClockDifference> difference_of(std::span<const ClockExchange> exchanges);

/// How wrong the kernel holds CLOCK_REALTIME to be at most (adjtimex, `maxerror`), of a clock that
/// NTP or PTP steers; nothing where nobody does (STA_UNSYNC).
std::optional<std::int64_t> kernel_clock_error_ns();

// MeetMessage: what processes that meet say to each other: one JSON object a line, with its kind
// in "say". README.md has the conversation. Pure: text in, values out; what a stranger sends is
// refused whole, and its text goes nowhere.

/// A line, its end left out. The longest one, a refusal, has about 300 bytes.
inline constexpr std::size_t meet_line_bytes_max = 1024;
/// Of each text in one.
inline constexpr std::size_t meet_text_bytes_max = 256;

enum class MeetPhase : std::uint8_t { before, after };

/// What all that meet must have alike, and who says so.
struct MeetHello {
    MeetPhase phase = MeetPhase::before;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::string version;
    std::string trace_digest;
    std::string plan_digest;
};

struct MeetMessage {
    enum class Kind : std::uint8_t {
        hello,     ///< guest: here, and warm
        measure,   ///< host: compare the clocks now
        ask,       ///< guest: t1
        tell,      ///< host: t1, t2, t3
        measured,  ///< guest: that was it
        start,     ///< host: `at_ns` is to be time 0
        set,       ///< guest: it will be
        go,        ///< host: all have said so
        refused,   ///< host: the guest, or all of them, do not begin; `why` is a clause
    };
    Kind kind = Kind::hello;
    MeetHello hello;
    ClockExchange stamps;
    std::int64_t at_ns = 0;
    std::string why;
};

/// With its line end.
std::string to_line(const MeetMessage& message);
/// Nothing where it is none. `document` is scratch.
std::optional<MeetMessage> read_meet_message(std::string_view line, JsonDocument& document);

// MeetLine: one end of a connection on which lines go both ways. Owns the socket, which never
// blocks: who does not read what is sent to it, or sends a line without an end, is given up.

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
