/// Branches: the lines of work of one run of an agent, by their paths.
///
/// The root's path is empty; child i of a fork has its parent's path and i. A fork is open until it
/// is joined; its children begin where the parent stood. Owned by the reader of a run.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "proto/trace/frontier.hpp"

namespace driftless {

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
