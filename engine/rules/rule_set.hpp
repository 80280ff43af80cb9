/// RuleSet: a published set of rules for a run, as plain values: the flags that it fixes and the
/// thresholds that it checks. Read from a file by whoever knows files; judged in judge_rules.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

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
std::optional<Measure> measure_of(std::string_view name);
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

}  // namespace driftless
