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
    flags.value("--users", "N",
                "N live session trees at any time, or up to N (..N); implies\n"
                "--sessions closed",
                nullptr, parse_user_count, options.workload.user_count);
    flags.value("--concurrency", "N",
                "a closed loop of rows, without sessions: N are open, and the next one\n"
                "in file order is due when one ends [none]",
                nullptr, parse_positive_u32, options.workload.concurrency);
    flags.value("--grow", "METRIC:LIMIT",
                "with --users A..B: begin with A and add users up to B at the end of a\n"
                "--period while ttft:p95:2s (or the like) holds with room; not for\n"
                "published figures [none]",
                nullptr, parse_grow_rules, options.workload.grow);
    flags.value("--user-ramp", "T", "users begin within this time, at seeded instants", "0s",
                parse_duration_ns, users.ramp_ns);
    flags.value("--session-order", "HOW", "order in which trees are played: file, or shuffle",
                "file", parse_tree_rule, users.order);
    flags.on_off("--recycle", "repeat the trace when it is used up, sharing no blocks with before",
                 users.recycle);
    flags.value("--recycle-share", "WHAT",
                "what passes share: none, or system (system and tool blocks)", "none",
                parse_shares_system, users.shares_system);
    flags.value("--barrier", "WHAT",
                "a turn waits for its stream and its joins (stream), or also for all\n"
                "of its tree that ended before it in the recording (tree)",
                "stream", parse_tree_barrier, users.tree_barrier);
    flags.value("--for", "T", "nothing is due after this time [to the end]", nullptr,
                parse_positive_duration_ns, users.for_ns);
    flags.value("--drain", "T", "after --for, time for open answers to end [60s]", nullptr,
                parse_duration_ns, users.drain_ns);
    flags.value("--on-failure", "RULE",
                "turns after a failed one: end-tree (not sent), continue (sent), or\n"
                "retry:N (the failed one is sent again, at most N times) [end-tree]",
                nullptr, parse_failure_rules, options.workload.on_failure);
    flags.value("--on-429", "HOW", "record a 429 as a failure, or wait and send the row again",
                "record", parse_wait_for_429, users.failures.waits_for_429);
    flags.value(
        "--tree-idle-cap", "T",
        "longest time without a request of a tree in flight, before --speed\ndivides it [none]",
        nullptr, parse_duration_ns, users.idle.tree_ns);
    flags.value("--system-idle-cap", "T", "longest time without any request in flight [none]",
                nullptr, parse_duration_ns, users.idle.system_ns);
    flags.value("--start-within", "A:B",
                "first trees begin inside their recordings, between these shares of\n"
                "them; the warm-up sends the turn before [0:0]",
                nullptr, parse_start_within, options.workload.start_within);
    flags.value("--start-by", "WHAT", "what --start-within divides: timeline or turns", "timeline",
                parse_start_by_turns, users.start.by_turns);
    flags.value("--prime", "LENGTH", "answers of the warm-up: exact, or one-token", "exact",
                parse_prime_one_token, users.start.prime_one_token);
    flags.value("--warmup-requests", "N", "one-token requests per user before the measurement", "0",
                parse_u32, users.start.warmup_requests);
}

}  // namespace driftless
