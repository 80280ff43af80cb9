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
/// Owned by the schedule. All memory is taken when it is made: 32 bytes a request, 24 a dependency
/// and 72 more a request that waits; twice that where requests are used again. Reads no clock;
/// instants are run time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/due.hpp"
#include "engine/schedule/earlier_rows.hpp"
#include "engine/schedule/lookahead.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Requests by their dues; those of one instant by their numbers. Bounded: of each request that
/// waits there is one at most.
class DueHeap {
  public:
    struct Entry {
        std::int64_t due_ns = 0;
        std::uint32_t request = 0;
        std::uint32_t pass = 0;  ///< the request is used once in each
    };
    void reserve(std::size_t entries_max) { entries_.reserve(entries_max); }
    bool empty() const { return entries_.empty(); }
    bool full() const { return entries_.size() == entries_.capacity(); }
    const Entry& top() const { return entries_.front(); }
    void push(const Entry& entry);
    void pop();
    /// Takes out those of which `stale` says so.
    template <class Stale>
    void remove_if(Stale stale) {
        std::erase_if(entries_, stale);
        restore();
    }

  private:
    void restore();

    std::vector<Entry> entries_;
};

class Releases {
  public:
    /// Dependencies on rows that are neither in the plan nor among the earlier ones are over before
    /// it begins. No earlier row has failed those that wait for it.
    Releases(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier);
    /// Of users: `copies` requests for each row, of which that of copy c and position p in the plan
    /// is c times the rows and p. All of them are asleep. What is due at `end_ns` or later is cut.
    Releases(const Trace& trace, const Plan& plan, Speed speed, std::uint32_t copies,
             std::optional<std::int64_t> end_ns);

    /// The rows of a tree wait, in that pass; those that wait for no other are to be armed.
    void renew(std::span<const std::uint32_t> positions, std::uint32_t copy, std::uint32_t pass);
    /// They begin: those that wait for no other are due so long after `at_ns` as they are recorded
    /// behind the first of them.
    void begin(std::span<const std::uint32_t> positions, std::uint32_t copy, std::int64_t at_ns);
    std::uint32_t pass_of(std::uint32_t request) const { return turns_[request].pass; }
    /// It was dropped, in its pass: nobody sends it.
    bool was_dropped(std::uint32_t request) const {
        return turns_[request].state == State::dropped;
    }
    /// It has left, in its pass.
    bool has_left(std::uint32_t request) const { return turns_[request].left; }
    /// The next request that was cut, each once; nothing where there is none.
    std::optional<std::uint32_t> take_cut();

    /// It is due at its recorded instant, and no business of this.
    bool is_root(std::uint32_t request) const { return turns_[request].state == State::root; }
    /// Requests that are no roots.
    std::uint32_t count() const { return count_; }
    /// The most requests that wait for one and the same.
    std::uint32_t widest() const { return widest_; }

    /// The earliest due that is known and not taken; nullptr: none is.
    const DueHeap::Entry* peek() const { return known_.empty() ? nullptr : &known_.top(); }
    void take(std::uint32_t request);
    bool has_taken(std::uint32_t request) const {
        return turns_[request].state == State::taken || turns_[request].state == State::dropped;
    }

    /// As in Schedule, of these requests alone. Those to be armed come as soon as all that they
    /// wait for have left: their due is not known yet, and the horizon means nothing.
    std::optional<DueHeap::Entry> within(Lookahead reader, std::int64_t horizon_ns);
    void pass(Lookahead reader, std::uint32_t request);
    bool has_passed(Lookahead reader, std::uint32_t request) const;
    void go_back(Lookahead reader, std::uint32_t request);

    void fired(std::uint32_t request, std::int64_t at_ns);
    /// `answered`: its answer is whole, so that others may go on behind it.
    void ended(std::uint32_t request, std::int64_t at_ns, bool answered);

    /// When the last of its parents let it go; `Due::no_parent` before any has.
    std::int64_t parent_end_ns(std::uint32_t request) const {
        return turns_[request].parent_end_ns;
    }

    struct Dropped {
        std::uint32_t request = 0;
        std::uint32_t failed = none;  ///< the request that has failed it; `none`: a stop
        static constexpr std::uint32_t none = UINT32_MAX;
    };
    /// The next request that will never be due; nothing where there is none.
    std::optional<Dropped> dropped() const;
    void take_dropped();
    /// Whatever waits is dropped.
    void stop();

  private:
    enum class State : std::uint8_t { root, asleep, waiting, known, taken, dropped };
    /// What is known of a request. 32 bytes.
    struct Turn {
        std::int64_t due_ns = 0;  ///< by the parents so far
        std::int64_t parent_end_ns = Due::no_parent;
        std::uint32_t parents = 0;  ///< that it still waits for
        std::uint32_t unfired = 0;  ///< parents that have not left
        std::uint32_t pass = 0;
        State state = State::root;
        bool left = false;
        std::uint8_t passed = 0;  ///< a bit for each Lookahead
    };
    struct Edge {
        std::int64_t delay_ns = 0;
        std::uint32_t child = 0;  ///< position in the plan
        Trigger trigger = Trigger::completion;
    };

    void link(const Trace& trace, const Plan& plan, Speed speed, const EarlierRows& earlier);
    void reserve(std::size_t uses);
    bool is_used_again() const { return !parents_.empty(); }
    /// The row's position in the plan, and the request of its copy at that position.
    std::uint32_t position_of(std::uint32_t request) const {
        return copies_ == 1 ? request : request % rows_;
    }
    std::uint32_t beside(std::uint32_t request, std::uint32_t position) const {
        return copies_ == 1 ? position : request - request % rows_ + position;
    }
    std::span<const Edge> edges_of(std::uint32_t request) const {
        const std::uint32_t position = position_of(request);
        return std::span(edges_).subspan(edges_begin_[position],
                                         edges_begin_[position + 1] - edges_begin_[position]);
    }
    void push(Lookahead reader, std::int64_t order, std::uint32_t request);
    void cut(std::uint32_t request);
    void cut_descendants();
    void release_waiting();
    void move_due(Turn& turn, std::int64_t at_ns, std::int64_t delay_ns);
    void meet(std::uint32_t child, const Edge& edge, std::int64_t at_ns);
    void make_known(std::uint32_t request);
    void want_armed(std::uint32_t request);
    void drop(std::uint32_t request, std::uint32_t failed);
    void drop_descendants();
    bool is_stale(Lookahead reader, const DueHeap::Entry& entry) const;
    DueHeap& heap_of(Lookahead reader) { return ahead_[static_cast<std::size_t>(reader)]; }

    std::uint32_t rows_ = 0;  ///< of the plan
    std::uint32_t copies_ = 1;
    std::int64_t end_ns_ = INT64_MAX;
    std::vector<Turn> turns_;                 ///< [copies * plan rows]
    std::vector<std::uint32_t> edges_begin_;  ///< [plan rows + 1]
    std::vector<Edge> edges_;                 ///< by the row that is waited for
    std::vector<std::uint32_t> parents_;      ///< [plan rows] where requests are used again
    std::vector<std::int64_t> recorded_ns_;   ///< [plan rows] the plan's dues, there
    std::uint32_t count_ = 0;
    std::uint32_t widest_ = 0;
    DueHeap known_;
    std::array<DueHeap, lookahead_count> ahead_;
    std::uint32_t wanted_ = 0;        ///< requests that were told to the armer so far
    std::vector<Dropped> dropped_;    ///< in the order in which they were
    std::size_t spread_ = 0;          ///< dropped ones whose descendants are dropped, too
    std::size_t ended_ = 0;           ///< dropped ones that were taken
    std::vector<std::uint32_t> cut_;  ///< in the order in which they were
    std::size_t spread_cuts_ = 0;     ///< ... whose descendants are cut, too
    std::size_t taken_cuts_ = 0;
};

}  // namespace driftless
