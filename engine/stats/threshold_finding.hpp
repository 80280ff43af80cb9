/// ThresholdFinding, StoppedWhen: what became of a threshold (`--fail-if`), and which condition
/// ended a run (`--stop-when`). Values; thresholds.hpp and engine/record/early_stop.hpp judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

enum class FigureUnit : std::uint8_t {
    time,    ///< of a latency
    share,   ///< 0 to 1
    number,  ///< a count, or a rate per second
};

/// "ms", "share" or "number".
const char* name_of(FigureUnit unit);

struct ThresholdFinding {
    std::string condition;        ///< as it was typed
    std::optional<double> value;  ///< ms, a share or a number; nothing: nobody measured it
    FigureUnit unit = FigureUnit::number;
    bool fails = false;
};

/// Why a run ended early.
struct StoppedWhen {
    std::string condition;  ///< as it was typed
    double at_s = 0;        ///< run time: the end of the period at which it was found to hold
    double value = 0;       ///< ms, a share or a number
    FigureUnit unit = FigureUnit::number;
};

bool any_fails(const std::vector<ThresholdFinding>& findings);

/// "2.310 ms", "5.00 %", "12.5".
std::string value_text(const ThresholdFinding& finding);

std::string value_text(const StoppedWhen& stopped);

/// The key `stopped_when` of `summary.json`, and of `end` in `run.json`. Null: the run was not
/// stopped so.
void write_stopped_when(JsonWriter& json, const std::optional<StoppedWhen>& stopped);
/// What that says; nothing where it is null, or not there.
std::optional<StoppedWhen> read_stopped_when(JsonValue value);

/// The key `thresholds` of `summary.json`.
void write_thresholds(JsonWriter& json, const std::vector<ThresholdFinding>& findings);

}  // namespace driftless
