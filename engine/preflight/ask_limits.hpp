/// AskLimits: how long one question to a server may take, phase by phase, and the words for a limit
/// that was reached. Values. A question has a bound of its own for every phase; the flags of the
/// rows (`--timeout-connect`, ..) can only shorten it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/time/instant.hpp"

namespace driftless {

/// What a question waits for, in the order of time.
enum class AskPhase : std::uint8_t {
    connect,     ///< the connection
    handshake,   ///< TLS on it; within the limit of the connection
    first_byte,  ///< of the answer
    rest,        ///< of the answer
};

struct AskLimits {
    explicit AskLimits(Duration own)
        : own_bound(own), connect(own), first_byte(own), idle(own), total(own) {}

    Duration own_bound;   ///< limits below it come from flags, which messages then name
    Duration connect;     ///< from the beginning; with the TLS handshake
    Duration first_byte;  ///< from the send
    Duration idle;        ///< longest pause inside the answer
    Duration total;       ///< from the beginning to the end of the answer

    /// Each limit, where it is longer than this, becomes this.
    AskLimits capped(Duration longest) const;
};

/// The limit that ended a question.
struct AskTimeout {
    AskPhase phase = AskPhase::connect;
    Duration limit;
    bool is_total = false;  ///< `total`, whatever the phase
    bool by_flag = false;   ///< it is shorter than the question's own bound
};

/// What was waited for, how long, by which flag, and the remedy: clauses for people.
std::string describe(const AskTimeout& timeout);
/// "2 s", "1.5 s", "250 ms", "10 min".
std::string limit_text(Duration limit);

}  // namespace driftless
