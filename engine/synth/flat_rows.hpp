/// RandomRows and PrefixRows: rows that belong to no session. Each `next` makes one row; memory
/// follows the number of groups, not of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/synth/arrivals.hpp"
#include "engine/synth/growing_prompt.hpp"
#include "engine/synth/spec.hpp"
#include "engine/synth/synth_row.hpp"

namespace driftless {

class RandomRows {
  public:
    RandomRows(const SynthSpec& common, const RandomSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    RandomSpec spec_;
    SynthArrivals arrivals_;
    Random input_;
    Random output_;
    std::uint64_t made_ = 0;
};

/// Which group a row belongs to.
class GroupChoice {
  public:
    GroupChoice(const PrefixSpec& spec, std::uint64_t seed);
    std::uint32_t next();

  private:
    std::uint32_t by_share();
    std::uint32_t by_count();

    PrefixSpec spec_;
    Random random_;
    std::vector<double> upto_;  ///< zipf: [group] sum of the shares up to it
    /// Rows that are still to come, as a Fenwick tree over groups.
    std::vector<std::uint64_t> tree_;
    std::uint64_t left_ = 0;
};

class PrefixRows {
  public:
    PrefixRows(const SynthSpec& common, const PrefixSpec& spec);
    bool next(SynthRow& row);

  private:
    struct Group {
        std::uint64_t first_id = 0;
        std::uint32_t tokens = 0;
    };

    PrefixSpec spec_;
    SynthArrivals arrivals_;
    GroupChoice choice_;
    Random suffix_;
    Random output_;
    std::vector<Group> groups_;
    FreshIds fresh_;
    GrowingPrompt blocks_;
    std::uint64_t made_ = 0;
};

}  // namespace driftless
