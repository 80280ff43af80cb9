/// The block `server` of summary.json: what the servers measured of themselves.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/scrape/server_totals.hpp"
#include "engine/stats/sent_tokens.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// What energy is divided by: requests that are ok, and their tokens; 0 of what is not known.
struct EnergyDivisors {
    std::uint64_t requests = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;
    std::uint64_t finished_trees = 0;
};

/// Writes the member `server`; null where no page was read.
void write_server(JsonWriter& json, const std::optional<ServerTotals>& totals,
                  const EnergyDivisors& divisors, const SentTokens& sent);

}  // namespace driftless
