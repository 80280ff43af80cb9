/// Meet: how machines compare their clocks and agree on a time 0: ClockDifference, the messages and
/// their lines, the host, its guests, and a guest's own side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// ClockDifference: how far the clock of this host is from that of another, by exchanges of four
// stamps (NTP, RFC 5905 section 8): sent by us (t1), received (t2) and answered (t3) there,
// received by us (t4).
//
// Half of the time on the way is the most by which an exchange can be wrong, however unequal the
// two ways are. So the exchange that was on the way for the shortest time says most. Pure, but for
// `kernel_clock_error_ns`; the clocks are their reader's.

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
template <>
inline constexpr auto closed_list<MeetPhase> = name_list("before", "after");

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
template <>
inline constexpr auto closed_list<MeetMessage::Kind> =
    name_list("hello", "measure", "ask", "tell", "measured", "start", "set", "go", "refused");

/// With its line end.
std::string to_line(const MeetMessage& message);
/// Nothing where it is none. `document` is scratch.
std::optional<MeetMessage> read_meet_message(std::string_view line, JsonDocument& document);

// MeetLine: one end of a connection on which lines go both ways. Owns the socket, which never
// blocks: who does not read what is sent to it, or sends a line without an end, is given up.

class MeetLine {
  public:
    /// `socket` is connected and does not block.
    explicit MeetLine(Fd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.number(); }
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
    Fd socket_;
    std::string received_;
    std::int64_t received_ns_ = 0;
};

/// Waits for bytes, at most until `until_ns` of the monotonic clock and `nap_ms`, whatever comes
/// first. True: there are some, or the other side has closed.
bool wait_for_bytes(int fd, std::int64_t until_ns, int nap_ms);

// MeetHost: shard 0, to which all others come: before the run, so that all of them begin
// at one instant, and after it, to compare the clocks once more. Owns the listening socket.
//
// Blocks its caller, and looks at the stop requests ten times a second. Whoever can reach the port
// can take part: there is no authentication. Strangers are bounded in number, bytes and time; what
// they send goes nowhere. Says what happens by a callback; prints nothing.

/// From the moment at which all are there to time 0: the answers of the last one need a second at
/// most, and connections that a server closed while all waited are opened anew.
inline constexpr std::int64_t meet_lead_ns = 3'000'000'000;
/// What must be left of that when a guest is told of the instant.
inline constexpr std::int64_t meet_lead_ns_min = 1'000'000'000;

/// What the caller of both ends gives.
struct MeetSetting {
    MeetHello own;
    MeetClock clock;
    std::int64_t timeout_ns = 0;
    const std::atomic<int>* stop_requests = nullptr;
    void (*say)(const std::string& note) = nullptr;  ///< a line for people, without its end
};

/// By the user.
inline bool is_stopped(const MeetSetting& setting) {
    return setting.stop_requests->load(std::memory_order_relaxed) > 0;
}

inline MeetMessage of_kind(MeetMessage::Kind kind) {
    MeetMessage message;
    message.kind = kind;
    return message;
}

struct MeetOutcome {
    enum class End : std::uint8_t {
        met,
        failed,   ///< `why` is a clause
        stopped,  ///< by the user
    };
    End end = End::failed;
    std::string why;
    std::int64_t start_ns = 0;                  ///< before the run: time 0 on the clock of shard 0
    std::optional<ClockDifference> difference;  ///< of a guest
    std::vector<std::uint32_t> absent;          ///< after the run: who did not come
};

class MeetHost {
  public:
    /// On any address of this host. Errors: those of the kernel.
    static Result<MeetHost> listen(std::uint16_t port);
    /// Nobody hears us from outside: tests.
    std::uint16_t port() const;

    /// Until all others have come, or the time is up.
    MeetOutcome gather(const MeetSetting& setting);

  private:
    explicit MeetHost(Fd socket) : socket_(std::move(socket)) {}

    Fd socket_;
};

/// MeetGuests: the connections that a MeetHost has, and how far each of them is. It keeps them
/// apart: what one says touches no other, but for what ends the meeting.
class MeetGuests {
  public:
    /// `setting` outlives it.
    explicit MeetGuests(const MeetSetting& setting);

    /// A connection to the listening socket; what it has sent already is read. Where there are too
    /// many, the one that has been silent for longest makes room: never a guest that said who it
    /// is.
    void add(Fd socket, const std::string& address);
    /// Reads what has come of each; at most `nap_ms` until something does, at `listener` too.
    void serve(int listener, int nap_ms);

    /// Why nobody begins, once it is known; else empty.
    const std::string& failure() const { return failure_; }
    /// Those that neither are here nor have been measured.
    std::vector<std::uint32_t> absent() const;
    /// Those whose clocks have not been compared, here or not.
    std::vector<std::uint32_t> unmeasured() const;

    /// To all of them; their answers are awaited.
    void start(std::int64_t at_ns);
    /// Those that have not confirmed time 0.
    std::vector<std::uint32_t> not_set() const;
    void go();
    /// Tells all of them why nobody begins.
    void refuse_all(const std::string& why);

  private:
    enum class Stage : std::uint8_t { stranger, waiting, measuring, measured, set, gone };
    struct Guest {
        MeetLine line;
        std::string address;
        Stage stage = Stage::stranger;
        std::uint32_t index = 0;
        std::uint32_t asked = 0;
        std::int64_t greets_until_ns = 0;
    };

    void hear(Guest& guest);
    void take(Guest& guest, const MeetMessage& message);
    void greet(Guest& guest, const MeetHello& hello);
    void refuse(Guest& guest, const std::string& why);
    void drop(Guest& guest, const std::string& why);
    void say_of_stranger(const std::string& note);
    void make_room();
    void let_measure();
    void sweep();
    Guest* known(std::uint32_t index);

    const MeetSetting& setting_;
    std::vector<Guest> guests_;
    std::vector<bool> done_;  ///< [parts] after the run: their clocks are measured
    JsonDocument document_;
    bool starting_ = false;
    std::uint32_t strangers_said_ = 0;
    std::string failure_;
};

// meet_guest: any shard but the first: it comes to shard 0, compares the clocks with it,
// and, before the run, agrees to the instant at which all begin.
//
// Blocks its caller, and looks at the stop requests ten times a second. Keeps no connection.

/// Before the run it tries again until the time is up: shard 0 may still be on its way, and its
/// name not be known yet. After the run a shard 0 that nobody hears is gone.
MeetOutcome meet_as_guest(const std::string& host, std::uint16_t port, const MeetSetting& setting);

/// The talk alone, on a connection that stands.
MeetOutcome talk_to_host(MeetLine& line, const MeetSetting& setting, std::int64_t until_ns);

}  // namespace driftless
