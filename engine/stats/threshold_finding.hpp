/// ThresholdFinding: what became of one threshold (`--fail-if`) in a run. A value; thresholds.hpp
/// judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

enum class FigureUnit : std::uint8_t {
    time,    ///< of a latency
    share,   ///< 0 to 1
    number,  ///< a count, or a rate per second
};

struct ThresholdFinding {
    std::string condition;        ///< as it was typed
    std::optional<double> value;  ///< ms, a share or a number; nothing: nobody measured it
    FigureUnit unit = FigureUnit::number;
    bool fails = false;
};

bool any_fails(const std::vector<ThresholdFinding>& findings);

/// "2.310 ms", "5.00 %", "12.5".
std::string value_text(const ThresholdFinding& finding);

/// The key `thresholds` of `summary.json`.
void write_thresholds(JsonWriter& json, const std::vector<ThresholdFinding>& findings);

}  // namespace driftless
