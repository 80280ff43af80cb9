/// Values of the flags that every command with a summary has: limits as people type them
/// (`--fail-if "ttft:p99 > 2s"`), what makes a row good (`--goodput`), and which table is printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/values.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

/// Whether the one who asks takes a figure: an unknown name gets only such ones offered.
using TakesFigure = bool (*)(const FigureName& figure);
inline constexpr TakesFigure takes_all = [](const FigureName&) { return true; };

/// "ttft:p99 > 2s", "errors > 0.1 %", "completed < 240"; blanks count for nothing. A time needs its
/// statistic and a unit. Errors: invalid; the `doing` is a clause with the remedy.
Result<Threshold> parse_threshold(std::string_view text, TakesFigure takes = takes_all);
/// The same as somebody types it now: one that no run decides is refused.
Result<Threshold> parse_fail_if(std::string_view text);
/// The same of an earlier run: what always or never holds is no error.
Result<Threshold> parse_group_threshold(std::string_view text);

/// "ttft:p99", "errors": what a threshold measures, without a bound. Errors as above. `more`: what
/// is offered beside figures.
Result<Threshold> parse_figure(std::string_view text, std::string_view more = "");

/// "errors > 5 %", "ttft:p99 > 10s for 30s": a threshold of a figure that is known while a run goes
/// on, and how long it has to hold. Errors as above.
Result<StopRule> parse_stop_rule(std::string_view text);
/// What it means, however it was typed.
std::string text_of(const StopRule& rule);
std::string text_of(const GoodputRule& rule);

/// "ttft:200 tpot:50 e2e:3000", milliseconds, blanks or commas between; `e2el` means `e2e`. Of some
/// rows, "tier=gold ttft:200 tpot:50": a key of `--by`, or a name of `kept`, and its value. Errors:
/// invalid.
Result<GoodputRule> parse_goodput_rule(std::string_view text);

/// What is asked, and what `before` says of other rows.
GoodputRules with_rules(GoodputRules asked, const GoodputRules& before);

/// Why rules for all rows that are given more than once cannot stand together, or the empty text.
std::string repeated_goodput(const GoodputRules& rules);
/// Why a condition that counts good requests cannot be judged where no limits are set, or the empty
/// text.
std::string limits_missing(const std::vector<Threshold>& fail_if);
/// The same of one rule on a figure; `who` says where limits are missing.
std::string limits_missing(std::string_view figure, const std::string& rule,
                           const std::string& who);
/// Why the rules cannot stand together in a run that keeps these columns of its trace, or a
/// condition cannot be judged there, or the empty text.
std::string group_refusal(const GoodputRules& rules, const std::vector<Threshold>& fail_if,
                          const std::vector<std::string>& keep);

/// `--table`, of the commands that print a summary.
enum class TableKind : std::uint8_t { compact, full };

inline constexpr Choices<TableKind> table_choices{{"short", TableKind::compact},
                                                  {"full", TableKind::full}};

}  // namespace driftless
