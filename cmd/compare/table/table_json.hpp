/// The table and its charts as JSON (table.schema.json): what `--json` prints, and what the page is
/// made of. Pure.
#pragma once

#include <string>
#include <vector>

#include "cmd/compare/table/pareto_chart.hpp"
#include "cmd/compare/table/run_cell.hpp"

namespace driftless {

inline constexpr int table_schema = 1;

struct TableDocument {
    const ManyRuns& table;
    const std::vector<ParetoChart>& charts;
    const std::string& group;                     ///< what groups are made by; empty: one group
    const std::vector<std::string>& differences;  ///< with --anyway: what is not the same work
};

/// One object, without a line feed at the end; what is unprintable is escaped.
std::string table_json(const TableDocument& document);

}  // namespace driftless
