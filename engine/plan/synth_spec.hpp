/// SynthSpec: what `driftless synth` is asked to make, and the laws that its values are drawn from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

// ValueLaw: the distribution of a length or of a time, and seeded draws from it.
//
// Values are whole numbers: tokens, turns, or nanoseconds. The same seed gives the same values on
// every machine (numbers.hpp). Immutable once made.

enum class LawKind : std::uint8_t {
    fixed,        ///< `centre`
    uniform,      ///< every whole number from `low` to `high`
    normal,       ///< mean `centre`, standard deviation `spread`
    lognormal,    ///< median `centre`; `spread` is the deviation of the logarithm
    exponential,  ///< mean `centre`
    histogram,    ///< `bins`
};

/// A part of a histogram: every whole number from `low` to `high` is as probable as the others.
struct LawBin {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::uint64_t upto = 0;  ///< sum of the weights up to this one; each is at least 1
};

struct ValueLaw {
    LawKind kind = LawKind::fixed;
    double centre = 0;
    double spread = 0;
    /// Values lie between these, both included. Of normal, lognormal and exponential laws, what
    /// falls outside is drawn again.
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::vector<LawBin> bins;
    std::string file;       ///< where `bins` are to be read from; empty: they are there
    std::int64_t unit = 1;  ///< of the values in `file`
};

/// The law of one value.
ValueLaw fixed_law(std::int64_t value);

/// Least share of a law that must lie between `low` and `high`: below it, what is drawn has little
/// to do with the law.
inline constexpr double law_share_min = 0.5;

/// The share of a normal, lognormal or exponential law between its bounds, before rounding; 1 for
/// the others.
double share_inside(const ValueLaw& law);

/// One value. A histogram must have its bins.
std::int64_t draw(const ValueLaw& law, Random& random);

/// A stream of random numbers of one purpose: those of another purpose or number do not depend on
/// how many of these are drawn.
Random stream_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number);

/// Bounds of a histogram's text.
inline constexpr std::size_t law_bins_max = 1'000'000;

/// Reads lines of a value, or of a range A..B, and its weight, behind a blank, a comma or a tab:
/// "512,40". Lines that are empty or begin with # are skipped, and so is a first line without
/// digits. A value is a whole number from `least` to `most` times `unit`. On an error, `line` is
/// its number, and `doing` says what is wrong with it. Errors: invalid; out_of_range; missing,
/// where there is no line.
Result<std::vector<LawBin>> read_law_bins(std::string_view text, std::int64_t unit,
                                          std::int64_t least, std::int64_t most,
                                          std::uint64_t& line);

// SynthSpec: what `driftless synth` is asked to make, as plain values.
//
// Made by the command line, of which every value has been checked. All laws have their bins.

/// When rows, or the first rows of sessions, arrive: open loop.
struct ArrivalSpec {
    double per_second = 1;  ///< 0: all at time 0
    bool constant = false;  ///< else a Poisson process
};

/// Rows that share nothing.
struct RandomSpec {
    std::uint64_t rows = 0;
    ValueLaw input;
    ValueLaw output;
};

/// Rows of groups; those of one group begin with one prefix.
struct PrefixSpec {
    std::uint64_t rows = 0;
    std::uint32_t groups = 1;
    ValueLaw prefix;  ///< a length for each group
    ValueLaw suffix;
    ValueLaw output;
    /// Group of rank r has a share of r^-zipf of the rows, drawn for each; below 0: each group has
    /// the same number of rows (the first ones one more), in an order that is drawn.
    double zipf = -1;
    bool ordered = false;  ///< group after group
};

/// Conversations, and agents that start others: trees of sessions.
struct TreeSpec {
    const char* name = "chat";  ///< sessions are "chat-0", their sub-agents "chat-0/1"
    std::uint64_t trees = 0;
    ValueLaw turns;                   ///< of a root
    ValueLaw sub_turns;               ///< of a sub-agent
    std::uint32_t system_tokens = 0;  ///< every root begins with these
    std::uint32_t sub_system_tokens = 0;
    ValueLaw first;      ///< tokens of a first message behind the system prompt
    ValueLaw sub_first;  ///< the same of a sub-agent
    ValueLaw growth;     ///< tokens that each further turn adds to the prompt and the answer before
    ValueLaw output;
    ValueLaw gap;                   ///< ns from an answer to the next turn
    std::uint32_t context_max = 0;  ///< a session whose next prompt would be longer ends
    std::uint32_t compact_at = 0;   ///< a longer prompt asks for a summary instead; 0: never
    ValueLaw summary;               ///< tokens of it, with which the context begins anew
    std::uint32_t depth = 0;        ///< levels of sub-agents; 0: none
    double spawn = 0;               ///< share of turns that start some
    ValueLaw fan_out;               ///< how many
    std::uint32_t parallel = 1;     ///< of those at a time
    bool inherit = false;           ///< their prompts begin with that of their parent
};

enum class StressPattern : std::uint8_t { reuse, working_set, offload };

/// Patterns against a prefix cache. All prompts are `input` tokens long.
struct StressSpec {
    StressPattern pattern = StressPattern::reuse;
    std::uint32_t input = 0;
    ValueLaw output;
    std::uint64_t rows = 0;      ///< reuse: behind those that fill the working set
    std::uint64_t set_low = 1;   ///< prompts of the working set; its least size
    std::uint64_t set_high = 1;  ///< working_set, offload: its greatest size
    std::uint32_t steps = 1;     ///< working_set: sizes from the least to the greatest
    std::uint32_t rounds = 1;    ///< working_set, offload: passes over each size
    std::uint64_t hit_ppm = 0;   ///< reuse: millionths of the tokens that are in the cache
};

struct SynthSpec {
    std::uint64_t seed = 0;
    std::uint32_t block_size = 16;
    ArrivalSpec arrivals;
    /// Assumed time of an answer's token. Recorded instants of turns follow from it.
    std::int64_t token_ns = 20'000'000;
    std::variant<RandomSpec, PrefixSpec, TreeSpec, StressSpec> kind;
};

}  // namespace driftless
