/// What `--users` makes of a workload: whether it can be played so, what is said of it before the
/// run, and what it is estimated to need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/user_rules.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Exit code; prints why where that is none of `exit_done`. `trees`: RowTrees of the plan.
int check_users(const UserRules& rules, bool is_bound, std::uint32_t trees, const Trace& trace,
                const Plan& plan);

/// In the place of `Plan::schedule_digest`: of what rows wait for, and of the rules.
std::uint64_t digest_of_users(const UserRules& rules, std::uint64_t waits_digest);

/// Who plays what, as lines for a person.
std::vector<std::string> user_notes(const UserRules& rules, std::uint32_t trees, const Plan& plan);

}  // namespace driftless
