/// LiveRun: the parts of a run whose prompts hold its own answers: the second ring, and who stands
/// at its two ends. They refer to each other, and outlive the loop and the writer.
#pragma once

#include <cstddef>

#include "engine/live/histories.hpp"
#include "engine/live/replies.hpp"
#include "engine/live/reply_ring.hpp"

namespace driftless {

struct LiveRun {
    /// Trace and turns outlive it. `requests`: their numbers are below.
    LiveRun(const Trace& trace, const LiveTurns& turns, const LiveRules& rules,
            std::size_t requests)
        : ring(replies_max),
          replies(trace, turns, ring, requests),
          histories(trace, turns, rules, ring, requests) {}
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;

    static constexpr std::size_t replies_max = 4096;
    ReplyRing ring;
    Replies replies;
    Histories histories;
};

}  // namespace driftless
