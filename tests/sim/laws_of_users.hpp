/// Laws of users: how many trees are live, and how one follows another. They hold of themselves
/// where there are no users. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "users play one tree each"
std::string users_play_one_tree_each(const SimResult& result);
/// "users do not rest"
std::string users_do_not_rest(const SimResult& result);
/// "trees are played whole"
std::string trees_are_played_whole(const SimResult& result);
/// "nothing is due when the time is up"
std::string nothing_due_after_the_end(const SimResult& result);
/// "no more rows are open than asked"
std::string no_more_rows_open(const SimResult& result);
/// "single rows come in file order"
std::string single_rows_in_order(const SimResult& result);
std::string users_begin_when_wanted(const SimResult& result);

// Laws of closed sessions: when a turn may leave, and what becomes of those that never may. They
// hold of themselves where no row waits for another. Pure functions of a run's result.

struct KilledRun;

/// Others go on behind it: it was answered, as far as framing tells (what its content lacks is
/// known too late), or its client gave it up.
inline bool is_answered(const Record& record) {
    return record.outcome == Outcome::abandoned ||
           (record.done_ns.has_value() && record.status == 200);
}

/// "turns wait for their parents"
std::string turns_wait(const SimResult& result);
/// "no release is lost"
std::string no_release_is_lost(const SimResult& result);
/// "failures end their trees"
std::string failures_end_trees(const SimResult& result);
/// "no turn before what its barrier names"
std::string barriers_hold(const SimResult& result);

// The same of a run that dies and goes on, in whatever segment each of them ended. What was sent
// again left when its parents had let it go before, and let others go then.
/// "turns wait over segments"
std::string turns_wait_over_segments(const KilledRun& run);
/// "no release is lost over segments"
std::string no_release_is_lost_over_segments(const KilledRun& run);
/// "failures end trees over segments"
std::string failures_end_trees_over_segments(const KilledRun& run);

// Laws of live conversations: what prompts hold of the answers of the run. They hold of themselves
// where there are none. Pure functions of a run's result.

/// "prompts hold what was said"
std::string prompts_hold_what_was_said(const SimResult& result);
/// "prompts are filled up"
std::string prompts_are_filled_up(const SimResult& result);

// The laws (laws.hpp) that speak of what waited in the client: bytes of answers that nobody read,
// parts of requests that nobody sent, and how long a record says that they did. Pure functions.

/// What a record may say at most of how late it was read, where nothing kept the process from
/// reading (`SimResult::calm`). The latest look that is known to have found nothing is no more than
/// 0.1 ms old when a turn reads nothing (`unread_max` of run.cpp), and such a turn may sleep, 0.5
/// ms at most while answers stream (`stream_nap_max` of settings.hpp). What is due has half of
/// the time where both are behind, but its turns take less than 1 us each in virtual time.
inline constexpr Duration calm_delay_max = microseconds(500 + 100);

std::string late_reads_are_known(const SimResult& result);
std::string chunks_came_within_their_bounds(const SimResult& result);
std::string bytes_are_read_in_time(const SimResult& result);
std::string ends_are_seen_in_time(const SimResult& result);
std::string no_false_alarm_of_late_reads(const SimResult& result);
std::string timeouts_keep_to_what_came(const SimResult& result);
std::string parts_that_waited_are_reported(const SimResult& result);
std::string only_a_full_cap_holds_back(const SimResult& result);
std::string late_bodies_make_rows_late(const SimResult& result);
std::string sleeps_of_the_host_are_reported(const SimResult& result);

}  // namespace driftless::sim
