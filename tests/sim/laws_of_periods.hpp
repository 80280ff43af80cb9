/// Laws of periods.jsonl: its lines follow one another, and say what the records say. Pure
/// functions of a run's result. Where the disk failed lines may be lost, and they hold of
/// themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/run/period.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// The lines of a file; nothing where one cannot be read, or does not read back as itself.
std::optional<std::vector<Period>> read_periods(std::string_view lines);

/// "periods follow one another"
std::string periods_follow(const SimResult& result);
/// "periods sum up": over all of them, to what the records sum up to
std::string periods_sum_up(const SimResult& result);
/// "periods hold what came in them": each of them, by the stamps of the records
std::string periods_hold_what_came(const SimResult& result);

// Laws of the rules by which users play: the warm-up, where it leads to, caps on idle time, and
// turns that are sent again. They hold of themselves where there are no users. Pure functions of a
// run's result.

/// "the warm-up comes first"
std::string warm_up_comes_first(const SimResult& result);
/// "trees go on where they were primed"
std::string trees_go_on_where_primed(const SimResult& result);
/// "idle time is capped"
std::string idle_time_is_capped(const SimResult& result);
/// "failed turns are sent again"
std::string failed_turns_are_sent_again(const SimResult& result);

// Laws of what a killed run would be judged by: its file of those that were fired, and its marks.
// Pure functions of a run's result.

/// "fired.jsonl says who left"
std::string fired_says_who_left(const SimResult& result);
/// "marks say who left"
std::string marks_say_who_left(const SimResult& result);

// Laws of what records expect of a prefix cache where the run decides the order of its requests:
// found the slow way, by comparing prompts with each other. They hold of themselves where all
// instants are recorded. Pure functions of a run's result.

/// "hits are expected in the order of the run"
std::string hits_go_by_the_run(const SimResult& result);

}  // namespace driftless::sim
