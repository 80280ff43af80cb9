/// What run.json says of those who decide at run time when a row is sent: users, and gaps behind
/// answers.
#pragma once

#include <optional>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// `users`: null where there are none.
void write_users(JsonWriter& json, const UserRules& rules, const std::optional<GrowRules>& grow);

/// `abandon`: which requests their clients give up; null: none.
void write_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules, std::uint64_t seed);
/// `gaps`: null where nothing waits.
void write_gaps(JsonWriter& json, const WorkloadFlags& flags,
                const std::optional<Waiting>& waiting);

/// The key `arrivals`: null where rows do not arrive at a rate.
void write_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload);

}  // namespace driftless
