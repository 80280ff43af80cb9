/// ServerForecast: what an infinite prefix cache would hold of each row in the server's own blocks,
/// beside the forecast in the trace's (plan.hpp).
///
/// A server hashes blocks of 16 tokens, say, where the trace names blocks of 512. It also holds the
/// part of a trace's last block that two rows share: rows of 1,902 tokens that are the same share
/// 1,888 of them in blocks of 16, where the trace's full blocks count 1,536. Shared are the
/// template's head, whole blocks of equal ids, and of the first block that is not whole in both
/// rows the shorter part of it; all where two prompts are the same. Accidental sharing (other ids
/// that begin alike) is not counted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Block references of the selected rows up to which it is made: it takes 18 to 36 bytes for each,
/// and for each row, while it works.
inline constexpr std::uint64_t server_forecast_ids_max = 2'000'000;

/// Tokens that stand around every prompt.
struct AroundPrompt {
    std::uint32_t pre = 0;
    std::uint32_t post = 0;
};

/// What `Plan::server_cached` is for server blocks of so many tokens (at least 1): one number for
/// each row of the trace (by its position there; 0 for those that are not selected). Rows count in
/// file order, as in the other forecast. Nothing where the plan has more references.
std::optional<std::vector<std::uint32_t>> expect_server_cached(const Trace& trace,
                                                               AroundPrompt around,
                                                               std::uint32_t server_block,
                                                               const Plan& plan);

}  // namespace driftless
