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

}  // namespace driftless::sim
