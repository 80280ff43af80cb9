/// Releases: the requests of a plan whose dues are not known before others have left or ended, as a
/// trace has recorded it (`Trace::dependencies`). A turn is due so long after the last of those
/// that it waits for as the recording says, divided by the speed.
///
/// A turn whose parents cannot release it any more (one of them never left, or has no whole answer)
/// is dropped, and with it all that wait for it: nobody goes on behind an answer that never came.
///
///     waiting --last parent--> known --take--> taken
///        +----a parent failed--> dropped
///
/// In a run that is resumed a turn may wait for rows of earlier segments: it is due by what is
/// written of them, and known from the beginning where it waits for no others.
///
/// Where users play trees (users.hpp) no request has a recorded instant: all of a tree wait until
/// it is `renew`ed, and those that wait for no other until it `begin`s. The same requests serve
/// each pass through the corpus. What would be due when the time is up is cut:
///
///     asleep --renew--> waiting --begin, last parent--> known --take--> taken
///        ^                 +--a parent failed--> dropped      |            |
///        +-------cut, stop-+------------------------+---------+---renew----+
///
/// Owned by the schedule. All memory is taken when it is made: 40 bytes a request, 24 a dependency
/// and 72 more a request that waits; 136 where requests are used again. Reads no clock; instants
/// are run time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/due.hpp"
#include "engine/schedule/due_heap.hpp"
#include "engine/schedule/earlier_rows.hpp"
#include "engine/schedule/fallen.hpp"
#include "engine/schedule/lookahead.hpp"
#include "engine/schedule/turn_graph.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

enum class TurnState : std::uint8_t { root, asleep, waiting, known, taken, dropped };

/// What is known of a request. 32 bytes.
struct PendingTurn {
    std::int64_t due_ns = 0;  ///< by the parents so far
    /// When the last of its parents let it go; `Due::no_parent` before any has.
    std::int64_t parent_end_ns = Due::no_parent;
    std::uint32_t parents = 0;  ///< that it still waits for
    std::uint32_t unfired = 0;  ///< parents that have not left
    std::uint32_t pass = 0;     ///< through the corpus
    TurnState state = TurnState::root;
    bool left = false;
    std::uint8_t passed = 0;  ///< a bit for each Lookahead

    /// Its turn has come, or never will.
    bool is_taken() const { return state == TurnState::taken || state == TurnState::dropped; }
    bool has_passed(Lookahead reader) const {
        return (passed >> static_cast<unsigned>(reader) & 1U) != 0;
    }
    /// A parent lets it go.
    void move_due(std::int64_t at_ns, std::int64_t delay_ns);
};

class Releases {
  public:
    /// Dependencies on rows that are neither in the plan nor among the earlier ones are over before
    /// it begins. No earlier row has failed those that wait for it.
    Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier);
    /// Of users: so many copies of all requests (turn_graph.hpp), all of them asleep. What is due
    /// at `end_ns` or later is cut.
    Releases(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
             std::optional<std::int64_t> end_ns);

    /// The rows of a tree wait, in that pass; those that wait for no other are to be armed.
    void renew(std::span<const std::uint32_t> positions, std::uint32_t copy, std::uint32_t pass);
    /// They begin: those that wait for no other are due so long after `at_ns` as they are recorded
    /// behind the first of them.
    void begin(std::span<const std::uint32_t> positions, std::uint32_t copy, std::int64_t at_ns);
    /// The next request that was cut, each once; nothing where there is none.
    std::optional<std::uint32_t> take_cut();

    /// A root is due at its recorded instant, and no business of this.
    const PendingTurn& turn(std::uint32_t request) const { return turns_[request]; }
    const TurnGraph& graph() const { return graph_; }
    /// Requests that are no roots.
    std::uint32_t count() const { return count_; }

    /// The earliest due that is known and not taken; nullptr: none is.
    const DueHeap::Entry* peek() const { return known_.empty() ? nullptr : &known_.top(); }
    void take(std::uint32_t request);

    /// As in Schedule, of these requests alone. Those to be armed come as soon as all that they
    /// wait for have left: their due is not known yet, and the horizon means nothing.
    std::optional<DueHeap::Entry> within(Lookahead reader, std::int64_t horizon_ns);
    void pass(Lookahead reader, std::uint32_t request);
    void go_back(Lookahead reader, std::uint32_t request);

    void fired(std::uint32_t request, std::int64_t at_ns);
    /// `answered`: its answer is whole, so that others may go on behind it.
    void ended(std::uint32_t request, std::int64_t at_ns, bool answered);

    /// The next request that will never be due, and which one has failed it; nothing where there is
    /// none. `Fallen::none`: a stop.
    std::optional<Fallen::One> dropped() const { return dropped_.first(); }
    void take_dropped() { dropped_.take_first(); }
    /// Whatever waits is dropped; or cut, where users play.
    void stop();

  private:
    bool is_used_again() const { return !recorded_ns_.empty(); }
    void take_past(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier);
    void reserve(std::size_t uses);
    void want_armed(std::uint32_t request);
    void make_known(std::uint32_t request);
    void meet(std::uint32_t child, const TurnGraph::Edge& edge, std::int64_t at_ns);
    bool is_stale(Lookahead reader, const DueHeap::Entry& entry) const;
    void push(Lookahead reader, std::int64_t order, std::uint32_t request);
    void drop(std::uint32_t request, std::uint32_t failed);
    void cut(std::uint32_t request);
    void spread();

    const TurnGraph graph_;
    std::int64_t end_ns_ = INT64_MAX;
    std::vector<PendingTurn> turns_;         ///< [copies * plan rows]
    std::vector<std::int64_t> recorded_ns_;  ///< [plan rows] the plan's dues, of users
    std::uint32_t count_ = 0;
    DueHeap known_;
    std::array<DueHeap, lookahead_count> ahead_;
    std::uint32_t wanted_ = 0;  ///< requests that were told to the armer so far
    Fallen dropped_;
    Fallen cut_;  ///< the time is up for these: nobody hears of them
};

}  // namespace driftless
