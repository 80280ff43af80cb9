/// UserRules: how many users there are, and what they play. Plain values.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/plan/shares.hpp"

namespace driftless {

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
    /// A turn waits for whatever of its tree had ended before it (engine/plan/barriers.hpp).
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

}  // namespace driftless
