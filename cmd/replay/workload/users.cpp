#include "cmd/replay/workload/users.hpp"

#include <bit>
#include <cstdio>

#include "cmd/exit_codes.hpp"
#include "engine/plan/row_trees.hpp"
#include "proto/core/counted.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

int check_users(const UserRules& rules, const Trace& trace, const Plan& plan) {
    const std::uint32_t trees = RowTrees(trace, plan).count();
    if (rules.users > trees && !rules.recycle) {
        std::fprintf(stderr,
                     "driftless: --users %u: the selection has %s, and each is played once; give "
                     "%u users at most, or --recycle with --for\n",
                     rules.users, counted(trees, "session tree", "session trees").c_str(), trees);
        return exit_input;
    }
    if (rules.recycle && (trace.recorded || !trace.body_ends.empty())) {
        std::fprintf(stderr,
                     "driftless: --recycle: the trace holds whole requests, which are sent as they "
                     "stand: a second pass would find the first one in the cache; remove the "
                     "flag\n");
        return exit_input;
    }
    return exit_done;
}

std::uint64_t digest_of_users(const UserRules& rules, std::uint64_t waits_digest) {
    Digest digest;
    digest.add_u64(waits_digest);
    digest.add_u64(rules.users);
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
    return digest.value();
}

std::vector<std::string> user_notes(const UserRules& rules, const Trace& trace, const Plan& plan) {
    const std::uint32_t trees = RowTrees(trace, plan).count();
    const std::string end =
        rules.for_ns ? "nothing is due after " + std::to_string(*rules.for_ns / 1'000'000) + " ms"
                     : "until all have ended";
    return {counted(rules.users, "user plays ", "users play ") +
            counted(trees, "session tree", "session trees") + " (" +
            counted(plan.rows.size(), "row", "rows") + "), one at a time each" +
            (rules.recycle ? ", again and again: " : ": ") + end};
}

}  // namespace driftless
