/// The agents of a trace: which requests of a thread were sent by the same one, the lines of work
/// of its run, and the rows that the next request on one waits for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "proto/trace/draft.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Flat agents: which requests of a thread were sent by the same agent.
//
// Captures that do not tag agents record a fan-out as one thread: the requests of several agents,
// one behind the other by their starts. Their prompts tell them apart, because an agent's next
// prompt begins with its last one:
//
// - A request goes on with a chain where its block ids begin with all of those of the chain's last
//   request, which had ended, and the model is the same; of several the longest.
// - Otherwise it founds a chain, forked from the last request with which it shares the most ids.
// - A chain that was forked from the end of another one is its continuation, after a compaction of
//   the context (a seam), where no request went on from that end, it began after that had ended, on
//   the same model; of several the one with the most ids in common, then the first. But not where
//   it begins more than an hour later and shares less than half of the ids.
// - The first request belongs to the main chain, even if it shares nothing, where it is a
//   preamble: no other prompt begins with its first id, and its answer is short (a title) or none
//   of its ids comes again. So do requests without ids, which tell nothing.
//
// Two requests of one chain never overlap. Source: AIPerf, src/aiperf/dataset/loader/
// weka_agent_chains.py and weka_trace.py at c1cfd86 (agentic.md 2.9, agentic-rules.md 4.2).
//
// Pure. Each id is compared about once, however many chains there are. Threads of n chains that
// all fork at one place and end there cost n^2 / 2 looks at a number.

/// What is recorded of a request of a thread beside its row.
struct ThreadRequest {
    std::uint32_t row = 0;         ///< position in `Trace::rows`
    std::uint32_t model = 0;       ///< equal numbers mean equal names
    std::int64_t at_ns = 0;        ///< its start
    std::int64_t end_ns = 0;       ///< of its answer as far as it is recorded
    std::int64_t answered_ns = 0;  ///< the same, or as likely: gaps count from it
};

/// Times are decimals of seconds: what ends this much later has ended.
inline constexpr std::int64_t end_tolerance_ns = 1'000;

/// Whether the answer of `before` had ended at that time, as far as its end is recorded.
inline bool has_ended(const ThreadRequest& before, std::int64_t at_ns) {
    return before.end_ns <= at_ns + end_tolerance_ns;
}

/// Between the name of a session and the number of a chain that was found in it.
inline constexpr std::string_view chain_mark = "::fa:";

struct AgentChains {
    /// [position in the thread] the request's chain: 0 the main one, the others by their first
    /// requests from 1 on.
    std::vector<std::uint32_t> of_request;
    std::uint32_t count = 0;  ///< chains; 0 for an empty thread
    std::uint32_t seams = 0;  ///< chains that went on elsewhere after a compaction
};

/// `thread`: requests in the order in which they were recorded, each later than those before it in
/// `Trace::rows`.
AgentChains find_agent_chains(const Trace& trace, std::span<const ThreadRequest> thread);

// Frontier: the rows that the next request on a line of work waits for.
//
// Work is a sequence of requests and pauses that may fork into lines side by side and join again.
// Each line has a frontier; a request waits for all of it and becomes all of it. Pure values.

/// A row whose answer is waited for, and how long after it.
struct RowWait {
    std::uint32_t row = no_row;
    std::int64_t end_ns = 0;  ///< of the row's answer, as far as it is recorded
    std::int64_t delay_ns = 0;

    bool operator==(const RowWait&) const = default;
};

class Frontier {
  public:
    /// Time passes.
    void pause(std::int64_t length_ns);
    /// The row that is added next, with an answer of that length, comes next: it gets its
    /// dependencies and its time.
    void pass(TraceDraft& draft, TraceRow& row, std::int64_t answer_ns);

    /// The frontier behind lines that began at `fork`.
    static Frontier join(const Frontier& fork, const std::vector<Frontier>& lines);

    bool operator==(const Frontier&) const = default;

  private:
    void add(const Frontier& line);

    std::vector<RowWait> waits_;
    std::int64_t since_start_ns_ = 0;  ///< pauses before the first row
};

// Branches: the lines of work of one run of an agent, by their paths.
//
// The root's path is empty; child i of a fork has its parent's path and i. A fork is open until it
// is joined; its children begin where the parent stood. Owned by the reader of a run.

using BranchPath = std::vector<std::uint64_t>;

class Branches {
  public:
    Branches() { frontiers_[{}] = {}; }

    /// The branch at that path; nullptr where no fork opened it. Valid until the next call.
    Frontier* find(const BranchPath& path);
    /// The branch at that path forks into `count` children; 0: not said. False where it is not
    /// there, or is forked already.
    bool fork(const BranchPath& path, std::uint64_t count);
    /// The fork of the branch at that path ends, and all forks inside it. False where none is open.
    bool join(const BranchPath& path);

  private:
    struct Fork {
        Frontier frontier;        ///< of the parent, when it forked
        std::uint64_t count = 0;  ///< of children; 0: not said
    };

    std::map<BranchPath, Frontier> frontiers_;
    std::map<BranchPath, Fork> forks_;
};

}  // namespace driftless
