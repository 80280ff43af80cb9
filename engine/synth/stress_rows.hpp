/// StressRows: prompts of one length, in patterns that tell one prefix cache from another.
///
/// reuse: first each prompt of the working set once; then rows that begin with a part of one of
/// them, drawn, and go on with new blocks, so that the set share of all tokens of these rows can
/// hit. working_set: passes over all prompts of a set that grows. offload: passes over a set that
/// fits a cache, over one that does not, and over the first one again. Memory is constant.
#pragma once

#include <cstdint>

#include "engine/synth/arrivals.hpp"
#include "engine/synth/growing_prompt.hpp"
#include "engine/synth/spec.hpp"
#include "engine/synth/synth_row.hpp"

namespace driftless {

/// Sizes that a pattern passes through, in order.
std::uint32_t stress_phases(const StressSpec& spec);
/// Prompts of the working set in that phase.
std::uint64_t stress_set(const StressSpec& spec, std::uint32_t phase);
/// Rows of the whole pattern.
std::uint64_t stress_rows(const StressSpec& spec);

class StressRows {
  public:
    StressRows(const SynthSpec& common, const StressSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    std::uint64_t reused_blocks();

    StressSpec spec_;
    std::uint32_t block_size_;
    SynthArrivals arrivals_;
    Random output_;
    Random choice_;
    FreshIds fresh_;
    GrowingPrompt blocks_;
    std::uint64_t made_ = 0;
    std::uint64_t rows_ = 0;
    std::uint64_t reused_tokens_ = 0;
    // Place in the passes:
    std::uint32_t phase_ = 0;
    std::uint32_t round_ = 0;
    std::uint64_t prompt_ = 0;
};

}  // namespace driftless
