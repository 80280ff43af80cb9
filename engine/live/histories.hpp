/// Histories: the writer's side of live assistants: at the end of a turn that others follow, all
/// that has been said in its conversation, which goes back to the engine (replies.hpp).
///
/// It keeps one history for each open conversation, and hands it on from turn to turn; where
/// several rows follow one answer each has a copy. What the engine was given stays as it is until
/// the request that needs it has ended. Owned by the writer's side; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/live/reply_ring.hpp"
#include "engine/live/turn_reply.hpp"
#include "engine/plan/live_turns.hpp"
#include "engine/schedule/due.hpp"
#include "proto/api/answer_words.hpp"
#include "proto/record/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct LiveRules {
    KeptWords kept;
    /// Turns whose answer cannot be read are followed all the same (`--on-failure continue`).
    bool goes_on_unanswered = false;
};

/// What an answer has said.
struct SaidWords {
    std::string_view content;
    std::string_view reasoning;
    const std::vector<SaidCall>& calls;
    bool whole = false;  ///< nothing of it is missing
};

class Histories {
  public:
    /// `requests`: their numbers are below. All of it outlives this.
    Histories(const Trace& trace, const LiveTurns& live, const LiveRules& rules, ReplyRing& ring,
              std::size_t requests)
        : trace_(trace),
          live_(live),
          rules_(rules),
          ring_(ring),
          spoken_(requests),
          whys_(trace.rows.size()) {}

    /// Before anything has ended: what is longer, with the words that fill it up, is not sent.
    void bound(std::size_t bytes_max) { bytes_max_ = bytes_max; }

    /// Why nobody goes on behind the row, by its position; null: nothing is wrong with its answer.
    const char* why_ended(std::uint32_t row) const {
        return whys_[row] == Why::none     ? nullptr
               : whys_[row] == Why::unread ? "has an answer that cannot be continued"
                                           : "has more text than fits into a prompt";
    }

    /// The words of the row's answer are wanted.
    bool wants(std::uint32_t row) const { return live_.of(row).followers > 0; }

    /// A request has ended. Completes its record, and tells the engine what its followers need.
    void ended(const Due& due, const SaidWords& said, Record& record);
    /// Tells the engine what found the ring full.
    void flush();

  private:
    /// Why nobody goes on.
    enum class Why : std::uint8_t { none, unread, too_long };

    /// At the end of a request.
    struct Spoken {
        std::string history;
        std::uint32_t pass = 0;
        std::uint32_t turns = 0;  ///< answers of this run in it
        std::int32_t short_by = 0;
        bool knows_length = false;
        bool has_ended = false;
    };

    Spoken* before(const Due& due);
    void complete(const LiveTurn& turn, const Spoken& before, Record& record) const;
    /// Nobody else needs the history that the row went on from.
    bool is_last_user(const LiveTurn& turn, const SaidWords& said) const {
        return said.whole && live_.of(turn.behind).followers == 1;
    }
    std::string said_before(const LiveTurn& turn, const SaidWords& said, Spoken* before) const;
    void append_own(const Due& due, const Spoken* before, std::string& out) const;
    void tell(const Due& due, Spoken spoken);
    bool fits(const Spoken& spoken) const;
    void note_length(const TraceRow& row, const Record& record, Spoken& spoken) const;

    const Trace& trace_;
    const LiveTurns& live_;
    const LiveRules rules_;
    ReplyRing& ring_;
    std::size_t bytes_max_ = SIZE_MAX;
    std::vector<Spoken> spoken_;    ///< [requests]
    std::vector<Why> whys_;         ///< [rows of the trace]
    std::deque<TurnReply> unsent_;  ///< at most one a request
};

}  // namespace driftless
