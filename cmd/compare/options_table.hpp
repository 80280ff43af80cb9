/// The flags of `driftless compare --table`.
///
/// Included by the options file only, like the flags that it adds to.
#pragma once

#include "cmd/compare/options.hpp"
#include "cmd/compare/table/table.hpp"
#include "cmd/options_flags.hpp"

namespace driftless {

inline Result<std::string> parse_table_path(std::string_view text) {
    if (text.empty()) {
        return Error{ErrorCode::invalid, 0, "names no file"};
    }
    return std::string(text);
}

inline void add_table_flags(Flags& flags, TableCommand& table) {
    flags.group("Of --table, which also takes --json and --anyway");
    flags.value("--sort", "FIGURE", "the best first: ttft:p99, output_throughput .. [as given]",
                nullptr, parse_table_figure, table.sort);
    flags.on_off("--each", "repeats are lines of their own", table.each);
    flags.values("--pareto", "X:Y",
                 "frontier of two figures, as in ttft:p99:output_throughput; low or\n"
                 "high before one says which is better [16 pairs: README.md of table]",
                 parse_chart_axes, table.charts);
    flags.value("--group", "NAME", "a frontier for each value of a label, an axis or a flag [one]",
                nullptr, parse_table_path, table.group);
    flags.value("--csv", "FILE", "a line per cell, with the columns of InferenceX's sweeps",
                nullptr, parse_table_path, table.csv);
    flags.value("--html", "FILE", "a page with the frontiers and the table", nullptr,
                parse_table_path, table.html);
    flags.value("--inferencex", "FILE", "aggregate rows of InferenceX, a JSON array", nullptr,
                parse_table_path, table.inferencex);
    flags.value("--llm-d", "FILE", "benchmark reports 0.2.1 of llm-d, a JSON array", nullptr,
                parse_table_path, table.llmd);
}

/// Why flags of --table were given without it, or those of a comparison with it; empty: all is
/// well.
inline std::string why_not_table(const TableCommand& table, const CompareCommand& compared,
                                 bool is_table) {
    const bool any = table.sort || table.each || !table.charts.empty() || !table.group.empty() ||
                     !table.csv.empty() || !table.html.empty() || !table.inferencex.empty() ||
                     !table.llmd.empty();
    if (any && !is_table) {
        return "--sort, --each, --pareto, --group, --csv, --html, --inferencex and --llm-d need "
               "--table";
    }
    const bool two_sides = !compared.wish.metrics.empty() || !compared.wish.thresholds.empty() ||
                           compared.parts.where || compared.parts.rows_listed > 0 ||
                           !compared.exports.markdown.empty() || !compared.exports.junit.empty();
    if (two_sides && is_table) {
        return "--metric, --fail-if, --where, --rows, --markdown and --junit compare two sides, "
               "and "
               "--table has none";
    }
    return "";
}

}  // namespace driftless
