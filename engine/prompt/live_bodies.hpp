/// LiveBodies: finds, while the bodies of a trace are made, which of them go on behind the
/// answer to another one, and cuts from these what was said before. Used by recorded_bodies.cpp
/// alone. Bytes in, bytes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/live_turns.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/planned_rows.hpp"
#include "proto/api/recorded.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class LiveBodies {
  public:
    /// Trace and plan outlive it.
    LiveBodies(const Trace& trace, const Plan& plan);

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
    /// What a row says, of all its messages.
    struct Said {
        std::size_t messages = 0;
        std::uint64_t digest = 0;
        bool known = false;  ///< it was seen, and is sent
    };

    std::uint32_t sent_before(std::uint32_t row, const Dependency& one) const;
    std::uint32_t before_of(std::uint32_t row, const std::vector<MessageSpan>& messages,
                            const std::vector<std::uint64_t>& digests) const;

    const Trace& trace_;
    const Plan& plan_;
    const PlannedRows planned_;
    std::vector<std::uint32_t> first_of_;  ///< [sessions] index of its first row
    std::vector<Said> said_;               ///< [rows of the trace]
    LiveTurns live_;
};

}  // namespace driftless
