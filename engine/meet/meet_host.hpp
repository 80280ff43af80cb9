/// MeetHost: shard 0, to which all others come: before the run, so that all of them begin
/// at one instant, and after it, to compare the clocks once more. Owns the listening socket.
///
/// Blocks its caller, and looks at the stop requests ten times a second. Whoever can reach the port
/// can take part: there is no authentication. Strangers are bounded in number, bytes and time; what
/// they send goes nowhere. Says what happens by a callback; prints nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/meet/meet_line.hpp"
#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
