/// Balance: which of several servers a row goes to. Pure functions: nothing of a run decides, so
/// that a run that is repeated or resumed sends every row of a session where it went before.
#pragma once

#include <cstdint>

#include "proto/trace/row.hpp"

namespace driftless {

enum class Balance : std::uint8_t {
    turn,     ///< row after row, in the order of the plan
    session,  ///< the rows of one session to one server, sessions in turn; other rows as above
};

constexpr const char* name_of(Balance balance) {
    return balance == Balance::turn ? "turn" : "session";
}

/// Index of the server, below `targets`. `planned`: the row's position in the plan.
inline std::uint32_t target_of(Balance balance, const TraceRow& row, std::uint32_t planned,
                               std::uint32_t targets) {
    const bool by_session = balance == Balance::session && row.session != no_session;
    return (by_session ? row.session : planned) % targets;
}

}  // namespace driftless
