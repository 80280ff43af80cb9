/// meet_guest: any shard but the first: it comes to shard 0, compares the clocks with it,
/// and, before the run, agrees to the instant at which all begin.
///
/// Blocks its caller, and looks at the stop requests ten times a second. Keeps no connection.
#pragma once

#include <cstdint>
#include <string>

#include "engine/meet/meet_host.hpp"
#include "engine/meet/meet_line.hpp"

namespace driftless {

/// Before the run it tries again until the time is up: shard 0 may still be on its way, and its
/// name not be known yet. After the run a shard 0 that nobody hears is gone.
MeetOutcome meet_as_guest(const std::string& host, std::uint16_t port, const MeetSetting& setting);

/// The talk alone, on a connection that stands.
MeetOutcome talk_to_host(MeetLine& line, const MeetSetting& setting, std::int64_t until_ns);

}  // namespace driftless
