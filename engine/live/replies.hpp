/// Replies: the engine's side of live assistants: what has come back from the writer, by the
/// request that it is an answer to, and the body of a request that goes on behind one, in pieces.
/// Owned by the engine thread; memory is taken when it is made, 32 bytes a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/live/reply_ring.hpp"
#include "engine/live/turn_reply.hpp"
#include "engine/plan/live_turns.hpp"
#include "engine/schedule/due.hpp"
#include "proto/core/spliced.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class Replies {
  public:
    /// `requests`: their numbers are below. All of it outlives this.
    Replies(const Trace& trace, const LiveTurns& live, ReplyRing& ring, std::size_t requests)
        : trace_(trace), live_(live), ring_(ring), by_request_(requests) {}

    /// The next one that has come, each once; nullptr where there is none. Valid until the next
    /// answer to that request.
    const TurnReply* take();

    /// The request goes on behind an answer of this run.
    bool goes_on(const Due& due) const { return live_.goes_on(due.row); }
    /// Bytes that its body has more than the one in the trace. The reply that it waits for is here.
    std::size_t added_bytes(const Due& due) const;
    /// Its whole body. Valid until the request has ended.
    Spliced body_of(const Due& due) const;

  private:
    const TurnReply& behind(const Due& due) const;

    const Trace& trace_;
    const LiveTurns& live_;
    ReplyRing& ring_;
    std::vector<TurnReply> by_request_;
};

}  // namespace driftless
