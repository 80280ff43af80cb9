/// GroupKey: what rows are told apart by (`report --by`, `--goodput "tier=gold ttft:200"`). A plain
/// value; reading one touches nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/record/record.hpp"

namespace driftless {

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

}  // namespace driftless
