/// Goodput: what rows are told apart by, and what makes one good. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// GroupKey: what rows are told apart by (`report --by`, `--goodput "tier=gold ttft:200"`). A plain
/// value; reading one touches nothing.
struct GroupKey {
    enum class Kind : std::uint8_t {
        phase,
        turn,
        api,
        url,
        model,
        outcome,
        side,
        kept,
        header,
        input,
    };
    Kind kind = Kind::phase;
    std::string text;         ///< as typed
    std::string member;       ///< of `kept` and `header`
    std::uint32_t parts = 0;  ///< of `input`: so many groups of about equally many rows
};

/// "phase", "turn", "kept.model", "header.X", "input:4", .. Errors: invalid.
Result<GroupKey> parse_group_key(std::string_view text);

/// What a row has of a key: "-" where it has nothing. Of `input` its length in tokens, as digits.
/// `document` is scratch.
std::string group_value(const GroupKey& key, const Record& record, JsonDocument& document);

/// The upper ends of `parts` ranges of lengths with about equally many rows each, ascending and
/// without equals; fewer where lengths are few. Sorts `lengths`.
std::vector<std::uint32_t> length_bounds(std::vector<std::uint32_t>& lengths, std::uint32_t parts);

// What makes a request good (`--goodput`): limits for all rows, and for the rows of a group their
// own. Pure values.

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
