/// Values of the flags of users: from typed text and back. Pure. The `doing` of an Error is a
/// clause for the message: what is wrong, and the remedy.
#pragma once

#include <string>
#include <string_view>

#include "engine/record/grow_rules.hpp"
#include "engine/schedule/user_rules.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// `--users`: "8", or "2..64" where `--grow` adds them.
struct UserCount {
    std::uint32_t first = 0;
    std::uint32_t most = 0;
    bool is_bound = false;  ///< "..8": as many as there are trees, up to 8
};
Result<UserCount> parse_user_count(std::string_view text);
/// `--grow`: "ttft:2s", "ttft:p95:2s"; the metric is ttft, ttft_due, tpot or e2e, and its figure
/// avg, p50, p90, p95, p99 or max. Sets all but the numbers of users.
Result<GrowRules> parse_grow_rules(std::string_view text);
/// As it is typed: "ttft:p95:2s"; empty where there is none.
std::string text_of(const GrowRules& rules);

/// "file" or "shuffle".
Result<TreeRule> parse_tree_rule(std::string_view text);
const char* name_of(TreeRule rule);

/// "end-tree", "continue", or "retry:N" with N from 1 to 30. Keeps `waits_for_429` false.
Result<FailureRules> parse_failure_rules(std::string_view text);
/// As it is typed, `--on-429` left out.
std::string text_of(const FailureRules& rules);
/// `--on-429`: "record" or "wait".
Result<bool> parse_wait_for_429(std::string_view text);

/// Shares of a recording, from and to, "0.25:0.75" or "0:50%"; both up to 1, in that order.
struct StartWithin {
    double from = 0;
    double to = 0;
};
Result<StartWithin> parse_start_within(std::string_view text);
/// `--start-by`: "timeline" or "turns"; true: turns.
Result<bool> parse_start_by_turns(std::string_view text);
/// `--barrier`: "stream" or "tree"; true: tree.
Result<bool> parse_tree_barrier(std::string_view text);
/// `--recycle-share`: "none" or "system"; true: system.
Result<bool> parse_shares_system(std::string_view text);
/// `--prime`: "exact" or "one-token"; true: one token.
Result<bool> parse_prime_one_token(std::string_view text);

}  // namespace driftless
