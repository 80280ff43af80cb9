/// `report --why`: what sets the slowest rows apart, in words.
#pragma once

#include <string>
#include <string_view>

#include "cmd/report/reported_run.hpp"
#include "engine/stats/why.hpp"
#include "engine/stats/why_records.hpp"
#include "proto/core/result.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// "tpot", "10%", "tpot:10%". Errors: invalid.
Result<WhyWish> parse_why(std::string_view text);

/// Gives `records` what the servers of the run said of themselves. Returns why their file cannot be
/// read, or the empty text.
std::string set_servers(const ReportedRun& run, WhyRecords& records);
/// Returns why the records cannot be read, or the empty text.
std::string read_why(const ReportedRun& run, const WhyWish& wish, WhyFinding& out);
std::string why_screen(const WhyFinding& finding, const WhyWish& wish);
void write_why(JsonWriter& json, const WhyFinding& finding, const WhyWish& wish);

}  // namespace driftless
