/// Values of the flags of a replay on several machines. Pure. The `doing` of an Error is a clause
/// for the message: what is wrong, and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/plan/shares.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// More than any cluster has for its load generator: every shard reads the whole trace, and shard 0
/// talks to all others.
inline constexpr std::uint32_t shards_max = 4096;

/// `--shard` as it is typed.
struct TypedShard {
    bool is_none = false;  ///< the whole plan is sent, whatever the environment says
    ShardPlace place;
};
/// "0/3", or "none". Errors: invalid, out_of_range.
Result<TypedShard> parse_shard(std::string_view text);

/// As it is typed: "0/3".
std::string text_of(const ShardPlace& place);

/// `--meet` as it is typed.
struct MeetPlace {
    std::string host;
    std::uint16_t port = 0;
};
/// "node0:7100", "10.0.0.5:7100", "[::1]:7100". Errors: invalid, out_of_range.
Result<MeetPlace> parse_meet_place(std::string_view text);
/// As it is typed.
std::string text_of(const MeetPlace& place);

/// `--start-at`: a date and time of RFC 3339 with its offset, "2026-11-26T05:30:00Z", from 1970 on:
/// ns of CLOCK_REALTIME. Errors: invalid, out_of_range.
Result<std::int64_t> parse_utc_ns(std::string_view text);

}  // namespace driftless
