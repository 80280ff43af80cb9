/// The laws (laws.hpp) that speak of what waited in the client: bytes of answers that nobody read,
/// parts of requests that nobody sent, and how long a record says that they did. Pure functions.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// What a record may say at most of how late it was read, where nothing kept the process from
/// reading (`SimResult::calm`). The latest look that is known to have found nothing is no more than
/// 0.1 ms old when a turn reads nothing (`unread_max` of run.cpp), and such a turn may sleep, 0.5
/// ms at most while answers stream (`stream_nap_max` of settings.hpp). What is due has half of
/// the time where both are behind, but its turns take less than 1 us each in virtual time.
inline constexpr Duration calm_delay_max = microseconds(500 + 100);

std::string late_reads_are_known(const SimResult& result);
std::string bytes_are_read_in_time(const SimResult& result);
std::string ends_are_seen_in_time(const SimResult& result);
std::string no_false_alarm_of_late_reads(const SimResult& result);
std::string timeouts_keep_to_what_came(const SimResult& result);
std::string parts_that_waited_are_reported(const SimResult& result);
std::string only_a_full_cap_holds_back(const SimResult& result);
std::string late_bodies_make_rows_late(const SimResult& result);
std::string sleeps_of_the_host_are_reported(const SimResult& result);

}  // namespace driftless::sim
