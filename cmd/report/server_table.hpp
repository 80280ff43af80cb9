/// The servers' own figures over time, from the lines of server.jsonl: what the page draws them
/// from. Reads the file, prints nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/report/page_column.hpp"
#include "engine/scrape/server_figure.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// So many instants are kept at most; of more every second one, or every third. A chart is not
/// wider.
inline constexpr std::size_t server_instants_max = 4000;

/// What all servers together said of themselves once one more page of them was read.
struct ServerInstant {
    std::int64_t t_ns = 0;
    std::uint32_t segment = 0;
    std::array<std::optional<double>, server_figures> figures;  ///< [ServerFigure]
};

/// An instant for each page that was read, in the order of the file; none without a file. Counters
/// are what they grew by since the first page of the segment. Errors: of reading it; `why` says it.
Result<std::vector<ServerInstant>> read_server_instants(const std::string& path, std::string& why);

/// `t_ns`, `segment`, and a column for each figure of ServerFigure, under its name: of all pages
/// together, counters as what they grew by since the first page of the segment. A row for each page
/// that was read; none without a file. Errors: of reading it; `why` says it.
Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why);

}  // namespace driftless
