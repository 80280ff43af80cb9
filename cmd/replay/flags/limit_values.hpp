/// Values of the flags that hold requests back: token budgets. Pure. The `doing` of an Error is a
/// clause for the message: what is wrong, and the remedy.
#pragma once

#include <string>
#include <string_view>

#include "engine/replay/settings.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// A budget as it is typed.
struct TypedBudget {
    TokenRate rate;
    bool uncached = false;
};

/// `--budget-input`: "500k/m", "20000/s", "30M/h"; behind it ":uncached", or not. k and M are a
/// thousand and a million tokens. Errors: invalid, out_of_range.
Result<TypedBudget> parse_input_budget(std::string_view text);
/// `--budget-output`: the same without ":uncached".
Result<TypedBudget> parse_output_budget(std::string_view text);

/// As it is typed: "500000/m:uncached"; empty where there is none.
std::string text_of(const TokenRate& rate, bool uncached);

}  // namespace driftless
