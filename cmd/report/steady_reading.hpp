/// `report --steady`: the steady part of a run beside the whole of it.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"
#include "cmd/report/steady_run.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// A pass over the records, and a second one for few of them. Returns why they cannot be read, or
/// the empty text.
std::string read_steady(const ReportedRun& run, SteadyReading& out);
std::string steady_screen(const SteadyReading& reading);
void write_steady(JsonWriter& json, const SteadyReading& reading);

}  // namespace driftless
