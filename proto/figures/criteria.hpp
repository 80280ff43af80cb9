/// What a run must meet: thresholds, bounds on its figures (`--fail-if`), and rules, published sets
/// of them, with what each asks of the run and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/figures/distribution.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// Thresholds: figures of a run that must not lie beyond a bound (`--fail-if "ttft:p99 > 2s"`). A
// threshold says when the run fails. A figure that was not measured fails as well: a run without
// answers is not a good one. Pure.

/// What a `--stop-when` is about: answers of one period, or all requests of the run so far.
enum class StopFigure : std::uint8_t { ttft, ttft_due, tpot, e2e, errors, failed };

enum class Better : std::uint8_t { low, high };
template <>
inline constexpr auto closed_list<Better> = name_list("low", "high");

/// What a figure that is a plain number counts; the rates are per second.
enum class NumberOf : std::uint8_t { things, request_rate, token_rate, joules };

/// A figure of a run, the same for all that name figures: `--fail-if`, `--stop-when`, `--slo`,
/// comparisons, tables. Values that each request has are a distribution, all others one value, or
/// nothing where it was not measured.
struct FigureName {
    std::string_view name;
    std::string_view title;  ///< for people
    FigureUnit unit = FigureUnit::number;
    Better better = Better::low;
    NumberOf number = NumberOf::things;
    bool is_of_stream = false;            ///< `--no-stream` leaves nothing to measure it by
    bool is_part = true;                  ///< a share that is at most 100 %
    bool in_slo = false;                  ///< `find` can search by it
    bool on_screen = false;               ///< the short screen has a line of it
    std::optional<StopFigure> stop = {};  ///< known while a run goes on
    bool is_inverse = false;              ///< tokens/s: 1 s over each time of `distribution`
    const Distribution& (*distribution)(const SummaryFigures& figures) = nullptr;
    /// How far the client may have moved it; null: it has none.
    Bounds SummaryFigures::* bounds = nullptr;
    std::optional<double> (*value)(const SummaryFigures& figures) = nullptr;
    /// The same of `value`; null: it has none.
    std::optional<ErrorBar> (*error)(const SummaryFigures& figures) = nullptr;
    /// ns, where it is a time of which each request has one; null: it is not.
    std::optional<double> (*of_request)(const Record& record) = nullptr;
    /// In summary.json. Of statistics the part that is the same in all of their keys, or, where it
    /// ends in "_ns", the object that has them.
    std::string_view key = name;
    /// What it is, as summary.schema.json says it. Such figures are in summary.json one behind the
    /// other, as this table has them; empty: it has a place of its own there, or is made of others.
    std::string_view meaning = {};
    /// From summary.json; null: it is the number under its key, or has statistics.
    std::optional<double> (*of_summary)(JsonValue root) = nullptr;
    /// It is one of `figures_of_tables`: no run is judged by it.
    bool only_in_tables = false;

    bool has_statistics() const { return distribution != nullptr; }
};

/// All that a run can be judged by, in the order in which people read them.
std::span<const FigureName> figure_names();
/// Only tables have them: a summary has no E2E by token, and its energy comes from the servers.
std::span<const FigureName> figures_of_tables();
/// Also those that only tables have, and by another name (e2el, goodput, throughput). Null where
/// there is none of that name.
const FigureName* find_figure(std::string_view name);
/// "ttft, tpot and e2e (each with :p99 or the like), errors, good": those that are offered.
std::string list_of_figures(bool (*is_offered)(const FigureName& figure));

/// Of figures that may be unknown; nothing where it is not known or a part of nothing.
inline std::optional<double> quotient(std::optional<double> part, std::optional<double> whole) {
    return part && whole && *whole > 0 ? std::optional(*part / *whole) : std::nullopt;
}

enum class Compare : std::uint8_t { above, at_least, below, at_most };

struct Threshold {
    const FigureName* figure = nullptr;
    const Statistic* statistic = find_statistic("p50");  ///< of what has statistics
    Compare compare = Compare::above;
    double bound = 0;               ///< ns, a share or a number
    std::string text;               ///< as it was typed
    std::optional<GroupKey> key{};  ///< of the rows that have `value` of it; nothing: of all
    std::string value{};
};

/// That figure of a run: ns, a share or a number. Nothing: it was not measured.
std::optional<double> value_of(const Threshold& threshold, const SummaryFigures& figures);
/// The same from summary.json.
std::optional<double> value_of(const Threshold& threshold, JsonValue summary);
/// How far the client may have moved it. Nothing: that is not known, or it has no bar, as of a
/// standard deviation.
std::optional<ErrorBar> error_of(const FigureName& figure, const Statistic& statistic,
                                 const SummaryFigures& figures);
/// The value lies beyond the bound.
bool crosses(const Threshold& threshold, double value);

/// In the order in which they were given.
std::vector<ThresholdFinding> judge_thresholds(const std::vector<Threshold>& thresholds,
                                               const SummaryFigures& figures);

// StopRule: a condition that ends a run early (`--stop-when`). A plain value;
// engine/record/grow_and_stop.hpp judges.

struct StopRule {
    StopFigure figure = StopFigure::errors;
    Threshold threshold;
    std::int64_t for_ns = 0;  ///< it has to hold for so long; 0: at the end of one period
    std::string text;         ///< as it was typed
};

// RuleSet: a published set of rules for a run, as plain values: the flags that it fixes and the
// thresholds that it checks. Read from a file by whoever knows files.

/// What a user's own value of a fixed flag does.
enum class OtherValue : std::uint8_t {
    allowed,   ///< it holds, and the rules say nothing of it
    violated,  ///< it holds, and the run violates the set
    refused,   ///< a lock: the run does not begin
};

struct FixedFlag {
    std::string name;                  ///< ours, "--gap-cap"
    std::optional<std::string> value;  ///< set unless the user gave one; empty of a switch
    bool is_switch = false;            ///< it takes no value
    bool required = false;             ///< the user must give one
    bool absent = false;               ///< the user must not give one
    OtherValue other = OtherValue::violated;
    std::string why;  ///< may be empty
};

/// What a rule compares with its bounds. The names in a file are these, with `_`.
enum class Measure : std::uint8_t {
    trees,             ///< session trees that are played
    rows,              ///< rows that are played
    digest,            ///< of the trace: compared with `equals`
    ceiling_hit_rate,  ///< prompt tokens that an infinite cache can hit, of all
    first_turn_hits,   ///< hits of trees' first requests beyond the possible, of their tokens
    ttft_coverage,     ///< how far into the phase the last first token came
    token_coverage,    ///< the same, of the last token
    error_share,       ///< failed requests of those that were answered or failed
    answered,          ///< requests with a whole answer
    overflow_share,    ///< requests that the server's context had no room for, of the same
    duration,          ///< of the profile phase, s
    users_live,        ///< users that sent requests, of those that were asked for
    exact_output,      ///< answers of the recorded length, of those that were counted
    mean_output,       ///< tokens an answer
    cut_short,         ///< 1: the run was interrupted or killed
    warmup_failures,   ///< requests of the warm-up without a whole answer
    overtaken,         ///< turns that left before a turn before them had ended
    barrier,           ///< compared with `equals`: what a turn waits for, stream or tree
    unchecked,         ///< nothing here tells: always unknown
};
template <>
inline constexpr auto closed_list<Measure> =
    name_list("trees", "rows", "digest", "ceiling_hit_rate", "first_turn_hits", "ttft_coverage",
              "token_coverage", "error_share", "answered", "overflow_share", "duration",
              "users_live", "exact_output", "mean_output", "cut_short", "warmup_failures",
              "overtaken", "barrier", "unchecked");
/// It is compared with `equals`, and has no number.
constexpr bool is_text(Measure measure) {
    return measure == Measure::digest || measure == Measure::barrier;
}

struct Rule {
    std::string name;
    Measure measure = Measure::unchecked;
    std::optional<double> min;  ///< both inclusive
    std::optional<double> max;
    std::string equals;
    std::optional<double> exempt_below_s;  ///< a shorter phase is not judged, and meets it
    bool published = true;
    std::string why;  ///< of `unchecked`: why nothing tells
};

struct RuleSet {
    std::string name;
    std::string version;
    std::string source;  ///< with its commit
    std::vector<FixedFlag> flags;
    std::vector<Rule> rules;
};

// What became of each rule of a set in a run. Rules look at what a run did, and not at its flags,
// but for those that leave no trace in it. Pure.

/// Whether two values of a flag mean the same, as "60" and "1m" do.
using SameValue = bool (*)(std::string_view a, std::string_view b);

/// In the order of the sets, flags before thresholds.
std::vector<RuleFinding> judge_rules(const std::vector<RuleSet>& sets, const RunDescription& run,
                                     const SummaryFigures& figures, SameValue same);

bool any_violated(const std::vector<RuleFinding>& findings);

/// The values that were given of a flag; a switch has one that is empty.
std::vector<std::string> values_given(const std::vector<std::string>& arguments,
                                      std::string_view flag);

}  // namespace driftless
