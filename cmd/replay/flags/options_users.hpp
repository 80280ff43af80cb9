/// The flags of users, and of what they do between requests.
///
/// Included by options.cpp only, like the flags that it adds to.
#pragma once

#include "cmd/options_flags.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/flags/user_values.hpp"
#include "cmd/values.hpp"

namespace driftless {

inline void add_user_flags(Flags& flags, ReplayOptions& options) {
    UserRules& users = options.workload.users;
    flags.group("Users");
    flags.value("--users", "N", "N live session trees at any time; implies --sessions closed",
                nullptr, parse_user_count, options.workload.user_count);
    flags.value("--concurrency", "N",
                "a closed loop of rows, without sessions: N are open, and the next in\n"
                "file order is due when one has ended [none]",
                nullptr, parse_positive_u32, options.workload.concurrency);
    flags.value("--grow", "METRIC:LIMIT",
                "with --users A..B: begin with A, and add users up to B at the end of a\n"
                "--period while ttft:p95:2s (or the like) holds with room; never for\n"
                "figures to publish [none]",
                nullptr, parse_grow_rules, options.workload.grow);
    flags.value("--user-ramp", "T", "users begin within this time, at seeded instants", "0s",
                parse_duration_ns, users.ramp_ns);
    flags.value("--session-order", "HOW", "order in which trees are played: file, or shuffle",
                "file", parse_tree_rule, users.order);
    flags.on_off("--recycle",
                 "begin the trace anew when it is used up, sharing no block with before",
                 users.recycle);
    flags.value("--recycle-share", "WHAT",
                "what passes have in common: none, or the system and tool blocks", "none",
                parse_shares_system, users.shares_system);
    flags.value("--barrier", "WHAT",
                "a turn waits for its stream and its joins, or also for what of its\n"
                "tree had ended before it when recorded: stream, tree",
                "stream", parse_tree_barrier, users.tree_barrier);
    flags.value("--for", "T", "nothing is due after this time [to the end]", nullptr,
                parse_positive_duration_ns, users.for_ns);
    flags.value("--drain", "T", "after --for, time for open answers to end [60s]", nullptr,
                parse_duration_ns, users.drain_ns);
    flags.value("--on-failure", "RULE",
                "turns behind one that failed: end-tree (not sent), continue (sent), or\n"
                "retry:N (it is sent again, N times at most) [end-tree]",
                nullptr, parse_failure_rules, options.workload.on_failure);
    flags.value("--on-429", "HOW", "record it as a failure, or wait and send it again", "record",
                parse_wait_for_429, users.failures.waits_for_429);
    flags.value(
        "--tree-idle-cap", "T",
        "longest time in which nothing of a tree is in flight, before\n--speed divides it [none]",
        nullptr, parse_duration_ns, users.idle.tree_ns);
    flags.value("--system-idle-cap", "T", "longest time without any request in flight [none]",
                nullptr, parse_duration_ns, users.idle.system_ns);
    flags.value("--start-within", "A:B",
                "first trees begin inside their recordings, between these shares of\n"
                "them; the turn before goes out in the warm-up [0:0]",
                nullptr, parse_start_within, options.workload.start_within);
    flags.value("--start-by", "WHAT", "shares of the timeline, or of the turns", "timeline",
                parse_start_by_turns, users.start.by_turns);
    flags.value("--prime", "LENGTH", "answers of the warm-up: exact, or one-token", "exact",
                parse_prime_one_token, users.start.prime_one_token);
    flags.value("--warmup-requests", "N", "of each user, of one token, before the measurement", "0",
                parse_u32, users.start.warmup_requests);
}

}  // namespace driftless
