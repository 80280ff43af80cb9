/// TurnReply: the end of a turn as its followers need it: all that had been said then, as JSON
/// messages with commas between them. The writer makes it (histories.hpp) and keeps its bytes until
/// the followers have ended; the engine copies them into the next prompt (replies.hpp).
#pragma once

#include <cstdint>

namespace driftless {

struct TurnReply {
    const char* history = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t request = 0;  ///< whose answer was the last (due.hpp)
    std::uint32_t pass = 0;
    /// Tokens that the next prompt lacks of its recorded length; 0: none, or nobody knows.
    std::int32_t short_by = 0;
    std::uint8_t attempt = 0;
    bool goes_on = false;  ///< there is a history that the next prompt can hold
};
static_assert(sizeof(TurnReply) == 32);  // the engine keeps one of each request

}  // namespace driftless
