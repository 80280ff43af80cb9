/// The lines of work of one run of an agent, and the rows that the next request on one waits for.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "proto/trace/draft.hpp"

namespace driftless {

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
