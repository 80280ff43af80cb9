/// Conversations: finds, while the bodies of a trace are made, which of them go on behind the
/// answer to another one, and cuts from these what was said before. Used by recorded_bodies.cpp
/// alone. Bytes in, bytes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/plan/live_turns.hpp"
#include "engine/plan/plan.hpp"
#include "proto/api/recorded.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class Conversations {
  public:
    /// Trace and plan outlive it.
    Conversations(const Trace& trace, const Plan& plan);

    enum class Found : std::uint8_t {
        fits,        ///< its body may be sent
        no_request,  ///< it holds new messages alone, and the row before it is not sent
    };
    /// The next body, in the order of the file: of the row at that position in `trace.rows`, with
    /// its messages. It stands at the end of `bodies`, from `begin` on, and is cut there.
    Found take(std::uint32_t row, const std::vector<MessageSpan>& messages, std::size_t begin,
               std::string& bodies);

    LiveTurns finish();

  private:
    /// The latest row of a session.
    struct Turn {
        std::uint32_t row = no_row;
        std::vector<std::uint64_t> said;  ///< [messages] what each says, as a number
    };

    bool waits_for(const TraceRow& row, std::uint32_t on) const;
    std::size_t kept_from(const Turn& before, const std::vector<MessageSpan>& messages,
                          const std::vector<std::uint64_t>& said) const;

    const Trace& trace_;
    std::vector<std::uint32_t> place_of_;  ///< [rows of the trace] in the plan; no_row: not there
    std::vector<std::uint32_t> first_of_;  ///< [sessions] index of its first row
    std::unordered_map<std::uint32_t, Turn> latest_;  ///< by session
    LiveTurns live_;
};

}  // namespace driftless
