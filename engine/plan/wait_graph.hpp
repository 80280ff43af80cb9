/// What waits for what, and how long: gaps and barriers as the rules re-time a trace, what is known
/// of waits before a run, turns behind live answers, and the graph that the schedule goes by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/core/lists.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Gaps: how long turns of closed sessions wait behind what they wait for (`--gap`, `--gap-cap`).
//
// Pure: the dependencies of a trace, as recorded, are re-timed. The order of the steps is fixed:
// the gap is derived, then capped; whoever plays it divides it by the speed (engine/plan). Which
// rows wait for which never changes.

/// From where the gap of a turn counts.
enum class GapRule : std::uint8_t {
    end_to_start,  ///< from the end of what it waits for, as recorded
    /// The recorded distance of the two starts, less what the answer takes in this run, at least 0:
    /// a row waits for the end of the other (no delay), and for its start (the distance).
    start_to_start,
    none,  ///< a turn is due as soon as what it waits for lets it go
};

struct GapRules {
    GapRule rule = GapRule::end_to_start;
    /// Longest gap of a turn, in time of the trace; of `start_to_start` the longest distance.
    std::optional<std::int64_t> cap_ns;
};

/// Gaps above 0 between rows that are both in the plan. Sums stop at the largest int64.
struct GapFigures {
    std::uint64_t gaps = 0;
    std::uint64_t capped = 0;
    std::int64_t derived_ns = 0;  ///< their sum before the cap; of `none`: as recorded
    std::int64_t kept_ns = 0;     ///< what is left of it
};

/// A turn that waits for a row of its own session joins the others that it waits for: of those only
/// the end counts under `start_to_start`. Keeps the order of the dependencies: by row, and of one
/// row as recorded, the wait for an end before that for the start of the same row.
GapFigures retime(const GapRules& rules, const Plan& plan, Trace& trace);

// Barriers: turns that wait for whatever of their tree had ended, in the recording, before they
// began (`--barrier tree`), beside their own stream and its joins.
//
// A row waits, of each other session of its tree, for the latest row whose answer had ended when
// it began; not for one that another row of those has waited for itself. Rows that overlapped, or
// began at one instant, do not wait for each other. An answer without a recorded end ended where
// it began. Any end of the other row will do, and there is no gap behind it (Trigger::over). As
// AgentX does: aiperf src/aiperf/timing/replay_dependencies.py (agentic-rules.md 1.4, step 10).
//
// Pure. Rows of a tree times its sessions are looked at.

struct BarrierFigures {
    std::uint64_t waits = 0;  ///< that were added
    std::uint64_t rows = 0;   ///< that wait so
    /// Trees without: there a row waits for one that was recorded behind it, and barriers, which go
    /// by time, could make both wait for ever.
    std::uint64_t trees_out_of_order = 0;
};

/// Barriers between rows of the plan, behind the other dependencies of each row.
BarrierFigures add_barriers(const Plan& plan, Trace& trace);

// Waits: what can be said before a closed run of the rows that wait for others. Pure functions of
// trace and plan; which of them leaves when is the schedule's to find out.

/// Assumed time per output token where needs are estimated. Nearly all servers need more, and the
/// prompt is counted as 0: more requests are open in truth, and a closed run takes longer.
inline constexpr std::int64_t token_ns_estimated = 5'000'000;

struct WaitFigures {
    std::uint64_t rows = 0;     ///< of the plan: they wait for others of it
    std::uint64_t outside = 0;  ///< of the plan: they would wait for rows that are not in it
    /// From time 0, of the rows that wait for none: the last due instant.
    std::int64_t last_due_ns = 0;
    /// From time 0: no run of this plan fires its last row before this. Recorded gaps alone, as if
    /// answers took no time.
    std::int64_t least_ns = 0;
};

/// The same rows with the instants at which they would be due if each output token took so long,
/// and a prompt no time: what a closed run may need is estimated by it.
Plan answered_in(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns);

WaitFigures waits_of(const Trace& trace, const Plan& plan, Speed speed);

/// In the place of `Plan::schedule_digest` where dues are decided at run time: of the rows, their
/// recorded instants and what they wait for.
std::uint64_t digest_of_waits(const Trace& trace, const Plan& plan, Speed speed);

// LiveTurns: which rows of a plan go on behind an answer of this run (`--assistant live`), and
// where in their bodies that stands. A plain table, made with the bodies (recorded_bodies.hpp),
// never changed afterwards.
//
//     {"messages":[ what was said before , the row's own messages " words" ],"tools":..}
//                  ^ before_at                              pad_at ^       ^ messages_end

/// Of one row. Offsets are of its body.
struct LiveTurn {
    /// Position in `Trace::rows` of the row whose answer comes right before its messages; `no_row`:
    /// its body stands as it is.
    std::uint32_t behind = no_row;
    /// So far in front of its request stands the one that it goes on behind.
    std::uint32_t back = 0;
    std::uint32_t followers = 0;     ///< rows that go on behind its answer
    std::uint32_t before_at = 0;     ///< what was said before goes here
    std::uint32_t messages_end = 0;  ///< behind its last message
    std::uint32_t pad_at = 0;        ///< words that fill it up go here; 0: nowhere
};

/// What was found, for people and run.json.
struct LiveFigures {
    std::uint64_t conversations = 0;  ///< first rows that others follow
    std::uint64_t turns = 0;          ///< rows behind an answer of this run
    /// Rows that are not the first of their session and repeat none of the rows that they wait for:
    /// their recorded words stand as they are.
    std::uint64_t edited = 0;
};

struct LiveTurns {
    std::vector<LiveTurn> turns;  ///< [rows of the trace]
    LiveFigures figures;
    /// A word of one token, with its blank, that fills up prompts that are shorter than recorded.
    std::string pad_word = " the";

    const LiveTurn& of(std::uint32_t row) const { return turns[row]; }
    bool goes_on(std::uint32_t row) const { return turns[row].behind != no_row; }
    /// Words that fill up a row whose prompt lacks so many tokens.
    std::uint32_t words_for(std::uint32_t row, std::int32_t short_by) const {
        return turns[row].pad_at > 0 && short_by > 0 ? static_cast<std::uint32_t>(short_by) : 0;
    }
    /// The messages of the row itself, with so many words more. `body`: its own.
    Spliced own_messages(std::uint32_t row, std::string_view body, std::uint32_t words) const;
};

/// Upper bound of the bytes of what was said before each row, [rows of the trace], where answers
/// have at most the recorded length, or `tokens_unknown`.
std::vector<std::size_t> history_room(const Trace& trace, const LiveTurns& live,
                                      std::uint32_t tokens_unknown);

/// TurnGraph: which requests wait for which, and how long after it they are due. A plain table,
/// made once: 12 bytes a row of the plan, 24 a dependency, and 24 a row that goes on behind the
/// words of an answer.
///
/// Where users play there are copies of all requests: that of copy c and position p in the plan is
/// c times the rows and p. Each copy waits for requests of its own.
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
