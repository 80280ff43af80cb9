/// TurnGraph: which requests wait for which, and how long after it they are due. A plain table,
/// made once: 12 bytes a row of the plan, 24 a dependency, and 24 a row that goes on behind the
/// words of an answer.
///
/// Where users play there are copies of all requests: that of copy c and position p in the plan is
/// c times the rows and p. Each copy waits for requests of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/live_turns.hpp"
#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class TurnGraph {
  public:
    /// One that waits.
    struct Edge {
        std::int64_t delay_ns = 0;  ///< divided by the speed
        std::uint32_t child = 0;    ///< position in the plan
        Trigger trigger = Trigger::completion;
        bool words = false;  ///< it waits for the words of the answer, too (`--assistant live`)
    };

    /// Dependencies on rows that are not in the plan are none. `live`: where prompts hold answers
    /// of the run; else null.
    TurnGraph(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
              const LiveTurns* live);

    std::uint32_t rows() const { return static_cast<std::uint32_t>(parents_.size()); }
    std::uint32_t copies() const { return copies_; }
    /// Those that wait for the request.
    std::span<const Edge> behind(std::uint32_t request) const {
        const std::uint32_t position = copies_ == 1 ? request : request % rows();
        return std::span(edges_).subspan(begin_[position], begin_[position + 1] - begin_[position]);
    }
    /// The request at that position, in the same copy.
    std::uint32_t beside(std::uint32_t request, std::uint32_t position) const {
        return copies_ == 1 ? position : request - request % rows() + position;
    }
    /// How many requests that at the position waits for; one whose words it needs counts twice.
    std::uint32_t parents_of(std::uint32_t position) const { return parents_[position]; }
    /// None of them says when it is due: that is so long after the begin of its tree as recorded,
    /// or when the last of them is over, if that is later.
    bool begins_with_tree(std::uint32_t position) const { return timed_[position] == 0; }
    /// The request waits until others are over.
    bool is_barred(std::uint32_t request) const {
        const std::uint32_t position = request % rows();
        return parents_[position] > timed_[position];
    }
    /// The most requests that wait for one and the same.
    std::uint32_t widest() const { return widest_; }

  private:
    std::uint32_t copies_;
    std::vector<std::uint32_t> parents_;  ///< [plan rows]
    std::vector<std::uint32_t> timed_;    ///< [plan rows] of those: not just until they are over
    std::vector<std::uint32_t> begin_;    ///< [plan rows + 1] into `edges_`
    std::vector<Edge> edges_;             ///< by the row that is waited for
    std::uint32_t widest_ = 0;
};

}  // namespace driftless
