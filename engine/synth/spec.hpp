/// SynthSpec: what `driftless synth` is asked to make, as plain values.
///
/// Made by the command line, of which every value has been checked. All laws have their bins.
#pragma once

#include <cstdint>
#include <variant>

#include "engine/synth/value_law.hpp"

namespace driftless {

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
