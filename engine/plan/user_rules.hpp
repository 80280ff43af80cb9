/// What users play: how many they are (UserRules), which tree is next (TreeOrder), and where it is
/// entered (StartPoint).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/waits.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
    /// A turn waits for whatever of its tree had ended before it (engine/plan/waits.hpp).
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

// TreeOrder: which tree is played next. Each tree is drawn once in a pass through the corpus;
// without recycling there is one pass.
//
// Where the corpus is gone through again, a tree of the last pass may still be played: each tree
// has copies, one more than all users need. A tree all of whose copies are being played is passed
// over in that pass. Pure: no clock; memory is taken when it is made.

/// One playing of a tree.
struct DrawnTree {
    std::uint32_t tree = 0;
    std::uint32_t copy = 0;
    std::uint32_t pass = 0;
};

class TreeOrder {
  public:
    /// Neither `trees` nor `rules.users` is 0.
    TreeOrder(std::uint32_t trees, const UserRules& rules);

    /// The next tree, which counts as played until `ended`; nothing where all were drawn, or all
    /// are being played.
    std::optional<DrawnTree> draw();
    void ended(const DrawnTree& drawn);

    /// So many copies of each tree there are.
    static std::uint64_t copies_of(std::uint32_t trees, const UserRules& rules);

    /// Nothing will be drawn any more, whatever ends.
    bool used_up() const { return !recycles_ && next_ == order_.size(); }
    std::uint32_t copies() const { return copies_; }

  private:
    std::vector<std::uint32_t> order_;  ///< [trees]
    bool recycles_ = false;
    std::uint32_t copies_ = 1;
    std::uint32_t next_ = 0;  ///< in `order_`
    std::uint32_t pass_ = 0;
    std::vector<std::uint32_t> free_;  ///< [trees * copies] those not played, per tree a stack
    std::vector<std::uint32_t> free_count_;  ///< [trees] of them
    std::size_t free_in_all_ = 0;
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
