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

}  // namespace driftless::sim
