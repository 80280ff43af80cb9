/// The page of many runs: one HTML file with their frontiers and the table, in the shell and with
/// the charts of a run's own page. Its scripts lie in page/.
#pragma once

#include <string>

#include "cmd/compare/table/table_json.hpp"

namespace driftless {

/// `page_path`: where the page will be. Links to the runs, to their report.html where that is
/// there, are relative to it.
std::string table_page(const TableDocument& document, const std::string& page_path);

/// A file or folder as a link from a page in `from`, escaped as in a URL. Both are absolute.
std::string relative_link(const std::string& from, const std::string& to);

}  // namespace driftless
