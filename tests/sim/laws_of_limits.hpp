/// The laws (laws.hpp) that speak of what held a row back, or failed it, through no fault of its
/// server: our own limits, and segments that were lost. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

std::string losses_are_reported(const SimResult& result);
std::string our_limits_taint(const SimResult& result);
std::string lost_answers_count_nothing(const SimResult& result);

// The laws (laws.hpp) of token budgets: how much may leave in a time, and when a budget holds
// rows back. Pure functions, in whole numbers, which know nothing of the buckets of the engine.

/// A budget that is used up, by the rows that left before `until_ns`; run time.
struct UsedUp {
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;  ///< when it is above 0 again
};
std::vector<UsedUp> used_up(const SimResult& result, std::int64_t until_ns);

/// When the bucket was full and nobody took of it, of rows that left before `until_ns`; of a run
/// with one budget.
std::vector<UsedUp> ran_over(const SimResult& result, std::int64_t until_ns);

std::string budgets_are_kept(const SimResult& result);

// Laws of rows that arrive at a rate. Each returns what broke it; empty: nothing.

/// "rows arrive as asked"
std::string rows_arrive_as_asked(const SimResult& result);

// The laws (laws.hpp) of runs that end early (`--stop-when`). Pure functions of a run's result.

/// "nothing leaves when the run has to stop"
std::string nothing_leaves_behind_a_stop(const SimResult& result);
/// "runs stop for what they have measured"
std::string stops_have_their_cause(const SimResult& result);

// Laws of what is left over when a run has ended: nothing. Pure functions of a run's result.

/// "bodies are returned"
std::string bodies_returned(const SimResult& result);
/// "frames are returned"
std::string frames_returned(const SimResult& result);
/// "no operation in flight"
std::string operations_ended(const SimResult& result);
/// "sockets are closed"
std::string sockets_closed(const SimResult& result);
/// "every event is read"
std::string events_read(const SimResult& result);

// The laws (laws.hpp) of requests that are abandoned as planned: which they are, and when. Pure
// functions of a run's result.

/// When the client gives the request up, in run time; nothing where it waits or nothing left.
std::optional<std::int64_t> given_up_at_ns(const SimResult& result, const Record& record);

/// "requests are abandoned as drawn"
std::string abandoned_as_drawn(const SimResult& result);

}  // namespace driftless::sim
