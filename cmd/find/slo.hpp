/// SLOs as people type them: "ttft:p99<2s tpot:p95<50ms errors<0.1%". Each says what a run must
/// keep; a run fails where its opposite holds, which is a `--fail-if` of the replay. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/stats/thresholds.hpp"
#include "proto/core/result.hpp"

namespace driftless {

struct Slo {
    std::string text;         ///< as it was typed, without blanks: "ttft:p99<2s"
    std::string fail_if;      ///< its opposite: "ttft:p99>=2s"
    Threshold threshold;      ///< of `fail_if`
    std::uint64_t floor = 1;  ///< independent values that its percentile needs (floors.hpp)
};

struct Slos {
    std::vector<Slo> list;
    std::uint64_t rows_min = 1;  ///< the highest floor
};

/// Failed requests are in no percentile, so that a server that refuses everything would be fast:
/// where the SLO says nothing of errors, this is a part of it.
inline constexpr std::string_view errors_slo = "errors<1%";

/// Conditions with blanks or commas between them. Errors: invalid; the `doing` is a clause with the
/// remedy.
Result<Slos> parse_slos(std::string_view text);

}  // namespace driftless
