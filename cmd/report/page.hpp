/// The page of a run: one HTML file that needs nothing else, with its charts, its tables and the
/// records behind them. Its scripts and styles lie in page/.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/report/reported_run.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// So many records are on a page at most; of more it has every second one, or every third, and
/// says so. 50,000 are about 8 MB, which browsers draw without a pause that people notice.
inline constexpr std::uint64_t page_records_max = 50'000;

/// The text of the page, from the files of a run. Errors: those of reading them; `why` says it.
Result<std::string> page_of(const ReportedRun& run, std::string& why,
                            std::uint64_t records_max = page_records_max);

}  // namespace driftless
