/// The servers' own figures over time, from the lines of server.jsonl: what the page draws them
/// from. Reads the file, prints nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/report/page_column.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// So many instants are kept at most; of more every second one, or every third. A chart is not
/// wider.
inline constexpr std::size_t server_instants_max = 4000;

/// `t_ns`, `segment`, and a column for each figure of ServerFigure, under its name: of all pages
/// together, counters as what they grew by since the first page of the segment. A row for each page
/// that was read; none without a file. Errors: of reading it; `why` says it.
Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why);

}  // namespace driftless
