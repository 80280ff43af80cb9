/// Trees: what belongs together: trees of sessions, of rows of a plan, and families, which share
/// prompts as well; and what users play: how many they are, which tree is next, and where it is
/// entered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/wait_graph.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// DisjointSets: numbers 0, 1, .. in sets that grow together (union-find, with path halving). Plain
/// values; 4 bytes a number, taken when it is made.
class DisjointSets {
  public:
    /// Each number is a set of its own.
    explicit DisjointSets(std::size_t count) : before_(count) {
        std::iota(before_.begin(), before_.end(), 0U);
    }

    /// The smallest number of the set that this one is in. Ends: no number points to a larger one.
    std::uint32_t smallest_of(std::uint32_t number) {
        while (before_[number] != number) {
            before_[number] = before_[before_[number]];
            number = before_[number];
        }
        return number;
    }

    /// The sets of these two become one.
    void join(std::uint32_t one, std::uint32_t other) {
        one = smallest_of(one);
        other = smallest_of(other);
        before_[std::max(one, other)] = std::min(one, other);
    }

  private:
    std::vector<std::uint32_t> before_;  ///< a number of the same set; itself: the smallest
};

/// RowsByIndex: the rows of a trace by their `index`. A plain table; refers to the trace.
class RowsByIndex {
  public:
    explicit RowsByIndex(const Trace& trace) {
        for (const TraceRow& row : trace.rows) {
            rows_.resize(std::max<std::size_t>(rows_.size(), std::size_t{row.index} + 1));
            rows_[row.index] = &row;
        }
    }
    /// nullptr where there is none.
    const TraceRow* find(std::uint32_t index) const {
        return index < rows_.size() ? rows_[index] : nullptr;
    }
    /// `no_session`, too, where there is no such row.
    std::uint32_t session_of(std::uint32_t index) const {
        const TraceRow* const row = find(index);
        return row == nullptr ? no_session : row->session;
    }

  private:
    std::vector<const TraceRow*> rows_;  ///< [row index]
};

// Trees: sessions that belong together because rows of one wait for rows of another, as a session
// and its sub-agents do. Pure; the trace is only read.

/// [session] the session that its tree is named after: the first of the tree in `Trace::sessions`,
/// which readers give to the conversation before its sub-agents.
std::vector<std::uint32_t> roots_of_sessions(const Trace& trace);

/// [session] the session that has spawned it: the one of a row that its first row waits for; of
/// several the first in `Trace::sessions`. `no_session` for the root of a tree, and for a session
/// whose first row waits for none.
std::vector<std::uint32_t> parents_of_sessions(const Trace& trace);

/// RowTrees: which rows of a plan belong together: those of one session, and all that wait for each
/// other, as a session and its sub-agents do. A plain table, made once; 12 bytes a row.
class RowTrees {
  public:
    /// A row without a session that waits for none, and for which none waits, is a tree of its own.
    RowTrees(const Trace& trace, const Plan& plan);
    /// Each row is a tree of its own.
    static RowTrees of_single_rows(const Trace& trace, const Plan& plan);

    /// Trees are numbered in the order of their first rows in the file.
    std::uint32_t count() const { return static_cast<std::uint32_t>(begin_.size()) - 1; }
    /// Of the row at that position in the plan.
    std::uint32_t tree_of(std::uint32_t position) const { return tree_of_[position]; }
    /// Its rows, as positions in the plan, in the plan's order; at least one.
    std::span<const std::uint32_t> rows_of(std::uint32_t tree) const {
        return std::span(rows_).subspan(begin_[tree], begin_[tree + 1] - begin_[tree]);
    }

  private:
    RowTrees() = default;

    std::vector<std::uint32_t> tree_of_;  ///< [plan rows]
    std::vector<std::uint32_t> begin_;    ///< [trees + 1] into `rows_`
    std::vector<std::uint32_t> rows_;     ///< by tree
};

// Families: which rows of a trace belong together, so that a sample of it keeps what they share.
//
// Rows of one session are a family, and so are rows that wait for each other. A row of no session
// joins the families of the rows that it shares a prompt prefix with, unless that prefix is a
// preamble: one that goes on in more than `preamble_branches` ways is a system prompt, which
// strangers share, and not the beginning of a conversation. Pure; the trace is only read.

/// Ways in which a prefix may go on and still be one conversation. In the Mooncake conversation
/// hour any bound from 8 to 7,000 gives the same 7,373 families of at most 43 rows, whose samples
/// of a tenth keep its prefix hit rate of 0.37 (0.31 to 0.38; samples of rows: 0.11).
inline constexpr std::uint32_t preamble_branches = 64;

struct Families {
    std::vector<std::uint32_t> of_row;  ///< [position in Trace::rows] the family's number
    std::uint32_t count = 0;            ///< numbered from 0 by their first rows in file order
};

Families families_of(const Trace& trace);

// UserRules: how many users there are, and what they play. Plain values.

/// The order in which trees are drawn.
enum class TreeRule : std::uint8_t {
    file,     ///< by their first rows in the file
    shuffle,  ///< seeded; the same in each pass
};

/// What becomes of the turns behind one that has failed.
enum class FailureRule : std::uint8_t {
    end_tree,  ///< they are not sent; what does not wait for them goes on
    go_on,     ///< they are sent, as behind an answer
    retry,     ///< the turn is sent again, so many times; then as `end_tree`
};

struct FailureRules {
    FailureRule rule = FailureRule::end_tree;
    std::uint32_t retries_max = 0;  ///< of `retry`
    bool waits_for_429 = false;     ///< after a 429 the turn is sent again when its server says
};

/// Longest stretches without any request in flight; none: as the gaps are.
struct IdleCaps {
    std::optional<std::int64_t> tree_ns;    ///< of a tree, in time of the trace
    std::optional<std::int64_t> system_ns;  ///< of the whole run, in its own time
    bool any() const { return tree_ns.has_value() || system_ns.has_value(); }
};

/// The warm-up: where in its recording the first tree of a user begins, and what is sent before.
struct StartRules {
    /// Seeded places between these shares of the tree; 0 and 0: at its first row.
    double from = 0;
    double to = 0;
    bool by_turns = false;         ///< shares of the rows, not of the recorded time
    bool prime_one_token = false;  ///< primers ask for one token, not for the recorded ones
    /// Longest way from a primer to the place, and from there to what follows, in time of the
    /// trace; none: as recorded.
    std::optional<std::int64_t> gap_cap_ns;
    /// Of each user: so many requests more, of one token and without gaps, before the measurement.
    std::uint32_t warmup_requests = 0;

    bool is_inside() const { return to > 0; }
    bool warms_up() const { return is_inside() || warmup_requests > 0; }
};

struct UserRules {
    std::uint32_t users = 0;  ///< 0: there are none, and sessions begin at their recorded instants
    /// `--concurrency`: each row is a tree of its own, whatever it waited for, and they are taken
    /// in order by whoever is free first. `users` is how many are open at once.
    bool single_rows = false;
    /// Of them that begin by themselves: the others when they are asked for (`--grow`). 0: all.
    std::uint32_t users_first = 0;
    std::int64_t ramp_ns = 0;  ///< they begin within so long
    TreeRule order = TreeRule::file;
    bool recycle = false;  ///< the corpus begins anew when it is used up
    /// What a pass has in common with all others: nothing, or the blocks of system and tools.
    bool shares_system = false;
    /// A turn waits for whatever of its tree had ended before it (engine/plan/wait_graph.hpp).
    bool tree_barrier = false;
    /// Nothing is due so long after the begin of the measurement, or later; nothing: to the end.
    std::optional<std::int64_t> for_ns;
    /// Behind that: what is open then may end; nothing: `drain_default_ns`.
    std::optional<std::int64_t> drain_ns;
    FailureRules failures;
    IdleCaps idle;
    StartRules start;
    std::uint64_t seed = 0;
    /// Of several that play them (processes of `--shard`, engines): `users` are those of this one,
    /// and the ramp is that of all, of whom there are so many. 0: as `users`.
    ShardPlace place;
    std::uint32_t users_in_all = 0;

    std::uint32_t first() const { return users_first == 0 ? users : users_first; }

    static constexpr std::int64_t drain_default_ns = 60'000'000'000;
    std::int64_t drain() const { return drain_ns.value_or(drain_default_ns); }
};

/// Those users that one of several has, each of which plays its own trees.
inline UserRules users_of(UserRules rules, ShardPlace place) {
    if (!place.is_part()) {
        return rules;
    }
    rules.users_in_all = rules.users_in_all == 0 ? rules.users : rules.users_in_all;
    rules.users = part_of(rules.users, place.count, place.index);
    rules.place = place.within(rules.place);
    return rules;
}

/// IdleFigures: what caps on idle time have done. Plain values.
struct IdleFigures {
    std::uint64_t tree_jumps = 0;  ///< how often dues of a tree were moved left
    std::int64_t tree_skipped_ns = 0;
    std::uint64_t system_jumps = 0;  ///< how often all dues were
    std::int64_t system_skipped_ns = 0;
};

/// One playing of a tree.
struct DrawnTree {
    std::uint32_t tree = 0;
    std::uint32_t copy = 0;
    std::uint32_t pass = 0;
};

// StartPoint: a tree that is entered inside its recording, as a server would have met it there:
// what is over by then, what goes out before, so that the server knows each conversation that goes
// on, and what is still to come, and when. A pure function; takes memory, reads no clock.
//
// The place is seeded: the same for a tree and a seed, however many users there are. Of each
// session that has turns before it and turns behind it, the last one before is its primer.

/// A row of a tree that was entered.
struct EnteredRow {
    std::uint32_t position = 0;  ///< in the plan
    bool primes = false;         ///< it goes out in the warm-up
    bool starts = false;         ///< it waits for the begin of the measurement, too
    std::uint32_t parents = 0;   ///< rows that it waits for, primers among them
    /// Of a primer: so long it was sent before the place. Of one that starts: behind it. Divided by
    /// the speed.
    std::int64_t distance_ns = 0;
};

struct StartPoint {
    /// In the order of the plan; those that are over by then are not among them.
    std::vector<EnteredRow> rows;
    std::int64_t place_ns = 0;  ///< in the recording, behind the tree's first row
};

/// What bounds the distances; divided by the speed. `none`: 0 for all of them (`--gap none`).
struct StartBounds {
    std::optional<std::int64_t> lead_max_ns;  ///< of primers
    std::optional<std::int64_t> wait_max_ns;  ///< of rows that start
};

/// `rows` are those of the tree, in the order of the plan. `seed` is that of this playing.
StartPoint enter(const Trace& trace, const Plan& plan, const TurnGraph& graph,
                 std::span<const std::uint32_t> rows, const StartRules& rules,
                 const StartBounds& bounds, std::uint64_t seed);

}  // namespace driftless
