/// MeetMessage: what processes that meet say to each other: one JSON object a line, with its kind
/// in "say". README.md has the conversation. Pure: text in, values out; what a stranger sends is
/// refused whole, and its text goes nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/meet/clock_difference.hpp"
#include "proto/json/document.hpp"

namespace driftless {

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

}  // namespace driftless
