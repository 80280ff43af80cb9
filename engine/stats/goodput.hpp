/// What makes a request good (`--goodput`): limits for all rows, and for the rows of a group their
/// own. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/stats/group_key.hpp"
#include "proto/record/record.hpp"

namespace driftless {

/// A request is good when it is ok and meets all that are set; one without a TPOT, because it has
/// one token or all of them came at one instant, passes that limit.
struct GoodputLimits {
    OptionalNs ttft_ns;
    OptionalNs tpot_ns;
    OptionalNs e2e_ns;
    OptionalNs ttft_due_ns = {};  ///< from the due instant: with the time that a cap held the row
    bool set() const { return ttft_ns || tpot_ns || e2e_ns || ttft_due_ns; }
};
/// Nothing: nobody knows. It was abandoned before it had broken a limit; or it is ok, its tokens
/// were not counted, so that it has no TPOT, and it broke no other limit.
std::optional<bool> is_good(const GoodputLimits& limits, const Record& record);

/// Limits of some rows, or of all that no other rule fits.
struct GoodputRule {
    std::optional<GroupKey> key;  ///< nothing: all others
    std::string value;            ///< .. else the rows that have this of it
    GoodputLimits limits;
};
using GoodputRules = std::vector<GoodputRule>;

/// The rule of a row: the first with a key that fits it, else the one without a key. Nothing: no
/// limit says whether it is good.
std::optional<std::size_t> rule_of(const GoodputRules& rules, const Record& record);
/// Limits of the rows of no group; none are set where no rule has them.
GoodputLimits common_limits(const GoodputRules& rules);
/// "tier=gold"; "others" of a rule without a key.
std::string group_text(const GoodputRule& rule);

/// Rows of one rule.
struct GoodputCount {
    std::uint64_t decided = 0;  ///< it is known whether they are good, or they had no chance to be
    std::uint64_t good = 0;
};

}  // namespace driftless
