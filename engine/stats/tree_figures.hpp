/// TreeFigures: what became of the trees of a run: the sessions that wait for each other, as a
/// conversation and its sub-agents do. A tree that was answered whole is a job. Owns 24 bytes a
/// request and about 200 a tree; reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/stats/distribution.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct TreeTotals {
    std::uint64_t trees = 0;
    std::uint64_t finished = 0;    ///< every request of it was answered whole, in the end
    std::uint64_t failed = 0;      ///< a request of it failed
    std::uint64_t unfinished = 0;  ///< cut off, given up or not sent to its end
    std::uint64_t rows_alone = 0;  ///< requests of no session: they are in no tree
    std::uint64_t users = 0;       ///< that played them; 0: the run had none
    // Of finished trees; s and tokens.
    Distribution duration_s;  ///< from the first fire to the last end
    Distribution turns;       ///< requests
    Distribution answer_s;    ///< some request of it was in flight
    Distribution gap_s;       ///< none was
    Distribution computed;    ///< prompt tokens that no cache had, where the server tells
    Distribution cached;
    Distribution output;  ///< where it was counted
    /// Finished trees per hour of the run; nothing where its time is 0.
    std::optional<double> jobs_per_hour;
    std::optional<double> jobs_per_hour_per_user;
    std::optional<double> joules_per_tree;  ///< of finished ones; set by who knows the energy
};

class TreeFigures {
  public:
    void add(const Record& record);
    TreeTotals totals(std::int64_t duration_ns) const;

  private:
    struct Tree {
        std::vector<std::pair<std::int64_t, std::int64_t>> flights;  ///< fired, ended
        std::set<std::uint32_t> whole;                               ///< rows
        std::set<std::uint32_t> not_whole;
        bool failed = false;
        bool cache_known = true;
        bool output_known = true;
        double computed = 0;
        double cached = 0;
        double output = 0;
    };
    std::unordered_map<std::string, Tree> trees_;
    std::set<std::uint32_t> users_;
    std::uint64_t alone_ = 0;
};

}  // namespace driftless
