/// SynthRows: the rows of a SynthSpec, one by one, by their recorded instants. The same spec gives
/// the same rows on every machine.
#pragma once

#include <variant>

#include "engine/synth/flat_rows.hpp"
#include "engine/synth/stress_rows.hpp"
#include "engine/synth/tree_rows.hpp"

namespace driftless {

class SynthRows {
  public:
    explicit SynthRows(const SynthSpec& spec);
    /// False after the last row. `row` is cleared before.
    bool next(SynthRow& row);

  private:
    std::variant<RandomRows, PrefixRows, TreeRows, StressRows> rows_;
};

}  // namespace driftless
