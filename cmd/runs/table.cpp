#include "cmd/runs/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::size_t text_columns_max = 28;  ///< of a name or a value; files have the whole

namespace {

struct Column {
    const char* head;
    const char* figure;
    int digits;  ///< behind the point
};

}  // namespace

static constexpr std::array all_columns{
    Column{"req/s", "request_throughput", 2},
    Column{"TTFT p50", "ttft:p50", 2},
    Column{"p99 ms", "ttft:p99", 2},
    Column{"due p99", "ttft_due:p99", 2},
    Column{"TPOT p50", "tpot:p50", 2},
    Column{"E2E p99", "e2e:p99", 1},
    Column{"out tok/s", "output_throughput", 1},
    Column{"tok/s", "total_token_throughput", 1},
    Column{"hits", "hits", 1},
};

namespace {

using Columns = std::vector<Column>;

}  // namespace

static Columns columns_with(bool due) {
    Columns columns(all_columns.begin(), all_columns.end());
    std::erase_if(columns, [due](const Column& one) {
        return !due && std::string_view(one.figure) == "ttft_due:p99";
    });
    return columns;
}

/// The farthest repeat from the mean, in percent of it.
static std::string spread_of(const CellFigure& value) {
    const double far = std::max(value.high - value.mean, value.mean - value.low);
    return value.runs < 2 || value.mean == 0 ? ""
                                             : fmt::format(" ±{:.0f}%", 100 * far / value.mean);
}

static std::string text_of(const std::optional<CellFigure>& value, TableUnit unit, int digits) {
    if (!value) {
        return "-";
    }
    const bool share = unit == TableUnit::share;
    return fmt::format("{:.{}f}{}{}{}", share ? 100 * value->mean : value->mean, digits,
                       share ? " %" : "", value->below_floor ? "*" : "", spread_of(*value));
}

/// Of a URL the host and port: the path is the same in all.
static std::string without_path(const std::string& url) {
    const std::size_t at = url.find("://");
    return at == url.npos ? url : url.substr(at + 3, url.find('/', at + 3) - at - 3);
}

static std::string cut(std::string text) {
    text = printable(text);
    if (text.size() > text_columns_max) {
        text.resize(text_columns_max - 2);
        text = printable(text + "..");  // a character may have been cut
    }
    return text.empty() ? "-" : text;
}

static std::size_t sweeps_in(const ManyRuns& table) {
    std::set<std::string> sweeps;
    for (const TableRun& run : table.runs) {
        sweeps.insert(run.sweep);
    }
    return sweeps.size();
}

/// Of the run behind a cell as it is in lists: "01 speed=2", "old-1 +2".
static std::string short_name(const ManyRuns& table, const RunCell& cell) {
    const TableRun& run = table.runs[cell.runs.front()];
    if (run.sweep.empty()) {
        return run.name + (cell.runs.size() > 1 ? fmt::format(" +{}", cell.runs.size() - 1) : "");
    }
    // "03-speed=2": the values have columns of their own.
    const std::string part = run.folder.substr(run.folder.rfind('/') + 1);
    const std::string number = part.substr(0, part.find('-'));
    return sweeps_in(table) > 1 ? run.sweep.substr(run.sweep.rfind('/') + 1) + "/" + number
                                : number;
}

/// Sum over the shown runs.
static std::string count_text(const ManyRuns& table, const RunCell& cell, const char* name) {
    const std::optional<CellFigure> value = figure_of(table, cell, known_figure(name));
    return value ? fmt::format("{:.0f}", value->mean * static_cast<double>(value->runs)) : "-";
}

/// The verdicts of the shown runs, or what became of the cell.
static std::string verdict_text(const ManyRuns& table, const RunCell& cell) {
    std::set<std::string> words;
    for (const std::size_t index : cell.counts ? cell.shown : cell.runs) {
        const TableRun& run = table.runs[index];
        words.insert(run.counts() ? run.summary->verdict() : run.outcome);
    }
    return joined(words, ", ");
}

/// What the screen says of a cell; of none, what its columns are called.
static std::vector<std::string> row_of(const ManyRuns& table, const RunCell* cell,
                                       const Columns& columns) {
    std::vector<std::string> row{cell == nullptr ? "run" : cut(short_name(table, *cell))};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const std::string& text = cell == nullptr ? table.columns[i] : cell->values[i];
        row.push_back(
            cut(cell != nullptr && table.columns[i] == "url" ? without_path(text) : text));
    }
    const auto add = [&](const char* head, const auto& of) {
        row.push_back(cell == nullptr ? head : of(*cell));
    };
    add("runs", [](const RunCell& one) { return std::to_string(one.shown.size()); });
    add("ok", [&](const RunCell& one) { return count_text(table, one, "completed"); });
    add("failed", [&](const RunCell& one) { return count_text(table, one, "failed"); });
    for (const Column& column : columns) {
        add(column.head, [&](const RunCell& one) {
            const TableFigure shown = known_figure(column.figure);
            return text_of(figure_of(table, one, shown), shown.unit, column.digits);
        });
    }
    add("verdict", [&](const RunCell& one) { return printable(verdict_text(table, one)); });
    return row;
}

static bool any_below_floor(const ManyRuns& table, const Columns& columns) {
    return std::ranges::any_of(table.cells, [&](const RunCell& cell) {
        return std::ranges::any_of(columns, [&](const Column& column) {
            const std::optional<CellFigure> value =
                figure_of(table, cell, known_figure(column.figure));
            return value && value->below_floor;
        });
    });
}

static std::string notes_of(const ManyRuns& table, const Columns& columns, bool due) {
    std::string text;
    const bool repeats =
        std::ranges::any_of(table.cells, [](const RunCell& one) { return one.shown.size() > 1; });
    if (repeats) {
        text +=
            "A line of several runs sums requests and averages the rest; ± is the run farthest "
            "from the mean.\n";
    }
    if (table.cells.size() > 1 && std::ranges::any_of(table.cells, [](const RunCell& one) {
            return one.shown.size() == 1;
        })) {
        text +=
            "A line of one run is of that run alone: another may be as far off as two lines "
            "differ. "
            "Three runs each tell more.\n";
    }
    if (table.merged) {
        text +=
            "Runs of the same server, load, settings and labels share a line; --each lists them "
            "separately.\n";
    }
    if (due) {
        text +=
            "due p99: TTFT from the due instant, with the wait of rows that were held back or left "
            "late.\n";
    }
    if (any_below_floor(table, columns)) {
        text += fmt::format("* fewer requests than the percentile needs (p50: {}, p99: {}).\n",
                            known_figure("ttft:p50").floor(), known_figure("ttft:p99").floor());
    }
    for (const TableRun& run : table.runs) {
        if (!run.counts()) {
            text +=
                printable(run.folder + ": left out of means and frontiers: " + run.left_out) + "\n";
        }
    }
    return text;
}

static std::string area_text(double area, const ChartAxes& axes) {
    const auto unit = [](const TableFigure& one) {
        return std::string(*name_of(one.unit) == '\0' ? "1" : name_of(one.unit));
    };
    return fmt::format("{:.4g} {} x {}", area, unit(axes.x), unit(axes.y));
}

static std::string arrow(const TableFigure& figure) {
    return figure.title + (figure.better == Better::low ? " (low)" : " (high)");
}

static std::string names_of(const ManyRuns& table, const ParetoChart& chart,
                            const std::vector<std::size_t>& frontier) {
    const std::string text = joined(frontier, ", ", [&](std::size_t index) {
        const ChartPoint& point = chart.points[index];
        return short_name(table, table.cells[point.cell]) + (point.below_floor() ? "*" : "");
    });
    return text.empty() ? "none" : text;
}

static std::string chart_lines(const ManyRuns& table, const ParetoChart& chart) {
    std::string text =
        fmt::format("{} against {}; hypervolume up to {:.6g}, {:.6g}\n", arrow(chart.axes.x),
                    arrow(chart.axes.y), chart.reference.x, chart.reference.y);
    for (const ChartGroup& group : chart.groups) {
        const double part = chart.hypervolume > 0 ? group.hypervolume / chart.hypervolume : 0;
        text +=
            fmt::format("  {}{}: {}\n", group.name.empty() ? "frontier" : printable(group.name),
                        chart.groups.size() > 1 ? fmt::format(", {} of all", percent_text(part))
                                                : ", " + area_text(group.hypervolume, chart.axes),
                        printable(names_of(table, chart, group.frontier)));
    }
    if (chart.groups.size() > 1) {
        text += fmt::format("  all, {}: {}\n", area_text(chart.hypervolume, chart.axes),
                            printable(names_of(table, chart, chart.frontier)));
    }
    const std::string missing = joined(chart.missing, ", ", [&](std::size_t index) {
        return short_name(table, table.cells[index]);
    });
    return missing.empty() ? text : text + "  without these figures: " + printable(missing) + "\n";
}

bool shows_due(const std::vector<TableRun>& runs) {
    const Threshold ttft = known_figure("ttft:p99").which;
    const Threshold due = known_figure("ttft_due:p99").which;
    return std::ranges::any_of(runs, [&](const TableRun& run) {
        const auto of = [&run](const Threshold& which) {
            return run.summary ? run.summary->figure(which).value_or(0) : 0;
        };
        return is_longer_from_due(of(due), of(ttft));
    });
}

std::string table_screen(const ManyRuns& table) {
    const bool due = shows_due(table.runs);
    const Columns columns = columns_with(due);
    ViewTable lines(row_of(table, nullptr, columns));
    for (const RunCell& cell : table.cells) {
        lines.add(row_of(table, &cell, columns));
    }
    return lines.text(1 + table.columns.size(), true) + notes_of(table, columns, due);
}

std::string charts_screen(const ManyRuns& table, const std::vector<ParetoChart>& charts) {
    std::string text;
    for (const ParetoChart& chart : charts) {
        if (!chart.points.empty()) {
            text += "\n" + chart_lines(table, chart);
        }
    }
    return text;
}

static constexpr std::size_t differences_printed = 10;

static void say(const std::string& text) {
    complain("driftless compare: %s", printable(text).c_str());
}

/// Prints what is not the same work. False: the command ends here.
static bool accept_corpus(const std::vector<std::string>& differences, bool anyway) {
    for (std::size_t i = 0; i < differences.size() && i < differences_printed; ++i) {
        say(differences[i]);
    }
    if (differences.size() > differences_printed) {
        say("and " + std::to_string(differences.size() - differences_printed) + " runs more");
    }
    if (!differences.empty() && !anyway) {
        say("these runs did not play the same work as the first; leave them out, or use --anyway");
    }
    return differences.empty() || anyway;
}

static bool needs_records(const TableCommand& command) {
    return (command.sort && command.sort->needs_records()) ||
           std::ranges::any_of(command.charts, [](const ChartAxes& axes) {
               return axes.x.needs_records() || axes.y.needs_records();
           });
}

static std::vector<ParetoChart> charts_of(const TableCommand& command, const ManyRuns& table) {
    const std::vector<ChartAxes> axes =
        command.charts.empty() ? standard_charts(knows_gpus(table)) : command.charts;
    std::vector<ParetoChart> charts;
    for (const ChartAxes& one : axes) {
        charts.push_back(pareto_chart(table, one, command.group));
    }
    return charts;
}

/// Whether some cell has a value for the groups.
static bool has_group(const ManyRuns& table, const std::string& group) {
    return std::ranges::any_of(
        table.cells, [&](const RunCell& cell) { return !value_of(table, cell, group).empty(); });
}

/// What is made of the records of the runs.
static std::string text_of_records(const char* flag, const ManyRuns& table, int& code,
                                   std::string (*make)(const ManyRuns& table, std::string& why)) {
    std::string why;
    std::string text = make(table, why);
    if (!why.empty()) {
        say(std::string(flag) + ": " + why);
        code = exit_input;
    }
    return text;
}

/// Refer to both.
static std::vector<NewText> files_of(const TableCommand& command, const TableDocument& document) {
    const ManyRuns& table = document.table;
    return {
        {"--json", command.json, [&](int&) { return table_json(document) + "\n"; }},
        {"--csv", command.csv, [&](int&) { return table_csv(table); }},
        {"--html", command.html, [&](int&) { return table_page(document, command.html); }},
        {"--inferencex", command.inferencex,
         [&](int& code) { return text_of_records("--inferencex", table, code, inferencex_rows); }},
        {"--llm-d", command.llmd,
         [&](int& code) { return text_of_records("--llm-d", table, code, llmd_reports); }}};
}

/// Of the standard charts those at p90: sixteen are too many to read.
static std::string charts_text(const TableCommand& command, const TableDocument& document) {
    if (!command.charts.empty()) {
        return charts_screen(document.table, document.charts);
    }
    std::vector<ParetoChart> shown;
    for (const ParetoChart& chart : document.charts) {
        if (chart.axes.x.name.ends_with(":p90")) {
            shown.push_back(chart);
        }
    }
    return charts_screen(document.table, shown) +
           "\np50, p99 and p99.9 of these are in --json and --html; --pareto X:Y gives other "
           "pairs\n";
}

int compare_table(const TableCommand& command) {
    ManyRuns table;
    std::vector<ParetoChart> charts;
    std::vector<std::string> differences;
    const TableDocument document{table, charts, command.group, differences};
    const std::vector<NewText> files = files_of(command, document);
    if (files_on_stdout(files) > 1) {
        return refuse_cells("compare",
                            "only one of --json, --csv, --html, --inferencex and --llm-d can be -",
                            exit_usage);
    }
    if (const int code = refuse_existing_files(files, command.force); code != exit_done) {
        return code;
    }
    std::vector<TableRun> runs;
    if (const std::string why = read_table_runs(command.runs, runs); !why.empty()) {
        return refuse_cells("compare", why, exit_usage);
    }
    if (std::ranges::none_of(runs, [](const TableRun& run) { return run.summary.has_value(); })) {
        return refuse_cells("compare", runs.front().folder + ": " + runs.front().left_out,
                            exit_input);
    }
    differences = corpus_differences(runs);
    if (!accept_corpus(differences, command.anyway)) {
        return exit_input;
    }
    if (needs_records(command)) {
        if (const std::string why = read_e2e_per_token(runs); !why.empty()) {
            return refuse_cells("compare", why, exit_input);
        }
    }
    for (TableRun& run : runs) {
        for (const std::string& one : differences) {
            if (one.starts_with(run.folder + ": ")) {
                run.other_work = one.substr(run.folder.size());
            }
        }
    }
    table = table_of(std::move(runs), command.each);
    if (!table.mixed.empty()) {
        say("runs that share a line differ in " + joined(table.mixed, ", ") +
            "; --each lists them separately");
    }
    if (command.sort) {
        sort_cells(table, *command.sort);
    }
    if (!command.group.empty() && !has_group(table, command.group)) {
        return refuse_cells(
            "compare", "--group: no run has a label, an axis or a flag \"" + command.group + "\"",
            exit_usage);
    }
    charts = charts_of(command, table);
    if (files_on_stdout(files) == 0) {
        std::fputs((table_screen(table) + charts_text(command, document)).c_str(), stdout);
    }
    return write_new_files(files, command.force);
}

}  // namespace driftless
