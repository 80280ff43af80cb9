/// Averages: the repeats of each combination of values, taken together. A cell that began warm, was
/// spoiled, stopped early or failed is left out, and counted. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cmd/sweep/ledger.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// A figure of cells that is averaged.
struct AveragedFigure {
    const char* key;  ///< in `summary`
    std::optional<double> mean;
};

struct Average {
    std::string name;  ///< "speed=2 users=8"
    std::vector<CellValue> values;
    std::size_t averaged = 0;  ///< cells
    std::size_t warm = 0;      ///< left out, though they ended well
    std::size_t others = 0;    ///< left out: spoiled, failed, stopped early, not run yet
    std::vector<AveragedFigure> figures;

    std::optional<double> figure(std::string_view key) const;
};

/// In the order of the first repeat.
std::vector<Average> averages_of(const Ledger& ledger);

/// The key `averages` of `sweep.json`.
void write_averages(JsonWriter& json, const std::vector<Average>& averages);

}  // namespace driftless
