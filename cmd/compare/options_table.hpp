/// The flags that only `driftless compare --table` has; it shares --json and --html.
///
/// Included by the options file only, like the flags that it adds to.
#pragma once

#include "cmd/compare/table/table.hpp"
#include "cmd/options_flags.hpp"

namespace driftless {

inline Result<std::string> parse_table_path(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "is empty; give it a value"};
    }
    return std::string(text);
}

inline void add_table_flags(Flags& flags, TableCommand& table) {
    flags.group("With --table");
    flags.value("--sort", "FIGURE", "the best first: ttft:p99, output_throughput .. [as given]",
                nullptr, parse_table_figure, table.sort);
    flags.on_off("--each", "show each repeat on its own line", table.each);
    flags.values("--pareto", "X:Y",
                 "frontier of two figures, as in ttft:p99:output_throughput; low or\n"
                 "high before a figure says which is better [16 pairs]",
                 parse_chart_axes, table.charts);
    flags.value("--group", "NAME", "a frontier for each value of a label, an axis or a flag [one]",
                nullptr, parse_table_path, table.group);
    flags.value("--csv", "FILE", "a line per cell, with InferenceX's sweep columns", nullptr,
                parse_table_path, table.csv);
    flags.value("--inferencex", "FILE", "aggregate rows of InferenceX, a JSON array", nullptr,
                parse_table_path, table.inferencex);
    flags.value("--llm-d", "FILE", "benchmark reports 0.2.1 of llm-d, a JSON array", nullptr,
                parse_table_path, table.llmd);
}

/// Why flags of --table do not go together, or were given without it; empty: all is well.
inline std::string why_not_table(const TableCommand& table, bool is_table) {
    const bool any = table.sort || table.each || !table.charts.empty() || !table.group.empty() ||
                     !table.csv.empty() || !table.inferencex.empty() || !table.llmd.empty();
    if (any && !is_table) {
        return "--sort, --each, --pareto, --group, --csv, --inferencex and --llm-d need --table";
    }
    return "";
}

}  // namespace driftless
