#include "cmd/replay/workload/users.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/values.hpp"
#include "engine/host/host.hpp"
#include "engine/schedule/tree_order.hpp"
#include "engine/schedule/users.hpp"
#include "proto/core/counted.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

/// Of each request that can be open or waiting, in all tables of the schedule and of the records:
/// 204 by their sizes.
constexpr std::uint64_t request_bytes = 384;

/// As many copies of all rows as the users need have to fit half of the memory that is free, where
/// that is known.
int check_memory(const UserRules& rules, std::uint32_t trees, const Plan& plan) {
    const std::uint64_t copies = TreeOrder::copies_of(trees, rules);
    const std::uint64_t free_bytes = available_memory();
    const std::uint64_t room =
        free_bytes > 0 ? free_bytes / 2 / request_bytes : Users::requests_max;
    const std::uint64_t requests_max = std::min(room, Users::requests_max);
    if (!rules.recycle || copies <= requests_max / plan.rows.size()) {
        return exit_done;
    }
    complain(
        "driftless: --%s %u: with %s, that many users need %llu copies of %s, but half of the free "
        "memory has room for %llu; use fewer users, or a trace with more sessions",
        rules.single_rows ? "concurrency" : "users", rules.users,
        counted(trees, "session tree", "session trees").c_str(),
        static_cast<unsigned long long>(copies), counted(plan.rows.size(), "row", "rows").c_str(),
        static_cast<unsigned long long>(requests_max / plan.rows.size()));
    return exit_input;
}

}  // namespace

int check_users(const UserRules& rules, bool is_bound, std::uint32_t trees, const Trace& trace,
                const Plan& plan) {
    if (rules.users > trees && !rules.recycle && !is_bound) {
        complain(
            "driftless: --users %u: the selection has %s, each replayed once; give at "
            "most %s, --users ..%u for up to so many, or --recycle with --for",
            rules.users, counted(trees, "session tree", "session trees").c_str(),
            counted(trees, "user", "users").c_str(), rules.users);
        return exit_input;
    }
    if (rules.recycle && (trace.recorded || !trace.body_ends.empty())) {
        complain(
            "driftless: --recycle: the trace has whole requests, which are sent unchanged, so a "
            "second pass would find the first in the cache; remove the flag, or, where another "
            "tool's time brought it, end the run by its rows: --limit %zu",
            plan.rows.size());
        return exit_input;
    }
    return check_memory(rules, trees, plan);
}

std::uint64_t digest_of_users(const UserRules& rules, std::uint64_t waits_digest) {
    Digest digest;
    digest.add_u64(waits_digest);
    digest.add_u64(rules.users);
    if (rules.first() != rules.users) {
        digest.add_u64(rules.first());
    }
    digest.add_u64(static_cast<std::uint64_t>(rules.ramp_ns));
    digest.add_u64(static_cast<std::uint64_t>(rules.order));
    digest.add_u64(rules.recycle ? 1 : 0);
    digest.add_u64(static_cast<std::uint64_t>(rules.for_ns.value_or(-1)));
    digest.add_u64(static_cast<std::uint64_t>(rules.failures.rule));
    digest.add_u64(rules.failures.retries_max);
    digest.add_u64(rules.failures.waits_for_429 ? 1 : 0);
    digest.add_u64(static_cast<std::uint64_t>(rules.idle.tree_ns.value_or(-1)));
    digest.add_u64(static_cast<std::uint64_t>(rules.idle.system_ns.value_or(-1)));
    digest.add_u64(std::bit_cast<std::uint64_t>(rules.start.from));
    digest.add_u64(std::bit_cast<std::uint64_t>(rules.start.to));
    digest.add_u64(rules.start.by_turns ? 1 : 0);
    digest.add_u64(rules.start.prime_one_token ? 1 : 0);
    digest.add_u64(rules.start.warmup_requests);
    digest.add_u64(rules.seed);
    if (rules.single_rows) {
        digest.add_u64(2);
    }
    if (rules.shares_system) {  // else digests are those of versions without it
        digest.add_u64(1);
    }
    return digest.value();
}

std::vector<std::string> user_notes(const UserRules& rules, std::uint32_t trees, const Plan& plan) {
    const std::string end = rules.for_ns ? "nothing is due after " + duration_to_text(*rules.for_ns)
                                         : "until all have ended";
    if (rules.single_rows) {
        return {counted(rules.users, "row is", "rows are") + " open at once, of " +
                counted(plan.rows.size(), "row", "rows") + " in file order" +
                (rules.recycle ? ", repeatedly: " : ": ") + end};
    }
    const std::string growth =
        rules.first() == rules.users ? "" : std::to_string(rules.first()) + " to ";
    return {growth + counted(rules.users, "user plays", "users play") + " " +
            counted(trees, "session tree", "session trees") + " (" +
            counted(plan.rows.size(), "row", "rows") + "), one at a time each" +
            (rules.recycle ? ", repeatedly: " : ": ") + end};
}

}  // namespace driftless
