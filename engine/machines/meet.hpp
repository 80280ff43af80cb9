/// Meet: how machines agree on a time 0: the host, its guests, and a guest's own side.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/machines/meet_message.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

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
    explicit MeetHost(MeetSocket socket) : socket_(std::move(socket)) {}

    MeetSocket socket_;
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
    void add(MeetSocket socket, const std::string& address);
    /// Reads what has come of each; at most `nap_ms` until something does, at `listener` too.
    void serve(int listener, int nap_ms);

    /// Why nobody begins, once it is known; else empty.
    const std::string& failure() const { return failure_; }
    bool all_measured() const;
    /// Those that neither are here nor have been measured.
    std::vector<std::uint32_t> absent() const;
    /// Those whose clocks have not been compared, here or not.
    std::vector<std::uint32_t> unmeasured() const;

    /// To all of them; their answers are awaited.
    void start(std::int64_t at_ns);
    bool all_set() const;
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
