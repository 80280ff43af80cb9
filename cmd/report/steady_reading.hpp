/// `report --steady`: the steady part of a run beside the whole of it.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"
#include "engine/stats/steady_state.hpp"
#include "engine/stats/summary.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// What both sides of the table say.
struct SteadySide {
    std::uint64_t requests = 0;  ///< that left in it
    double seconds = 0;
    double requests_per_s = 0;  ///< answered in it
    double tokens_per_s = 0;    ///< whose chunks came in it
    SummaryFigures figures;     ///< of those that left in it
};

struct SteadyReading {
    SteadyState state;
    SteadySide whole;
    SteadySide window;
};

/// Two passes over the records. Returns why they cannot be read, or the empty text.
std::string read_steady(const ReportedRun& run, SteadyReading& out);
std::string steady_screen(const SteadyReading& reading);
void write_steady(JsonWriter& json, const SteadyReading& reading);

}  // namespace driftless
