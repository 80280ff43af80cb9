#include "cmd/compare/table/run_cell.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cmd/compare/table/run_keys.hpp"

namespace driftless {

namespace {

/// What a run has under the name of a column: an axis of its sweep, a label, or a flag.
std::string text_of(const TableRun& run, std::string_view column) {
    if (has_value(run.values, column)) {
        return std::string(value_in(run.values, column));
    }
    if (const std::optional<std::string> label = run.label(column)) {
        return *label;
    }
    return std::string(value_in(run.load, column));
}

/// Names of everything that may be a column, in the order of the first run that has it.
std::vector<std::string> possible_columns(const std::vector<TableRun>& runs) {
    std::vector<std::string> names;
    std::set<std::string, std::less<>> seen;
    const auto add = [&](const std::string& name) {
        if (seen.insert(name).second) {
            names.push_back(name);
        }
    };
    for (const TableRun& run : runs) {
        for (const CellValue& one : run.values) {
            add(one.name);
        }
    }
    for (const TableRun& run : runs) {
        for (const auto& [name, value] : run.labels) {
            add(name);
        }
    }
    for (const TableRun& run : runs) {
        for (const CellValue& one : run.load) {
            add(one.name);
        }
    }
    return names;
}

bool is_axis(const std::vector<TableRun>& runs, const std::string& name) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const TableRun& run) { return has_value(run.values, name); });
}

/// Axes of sweeps always; of the rest what differs among the runs that say it.
std::vector<std::string> columns_of(const std::vector<TableRun>& runs) {
    std::vector<std::string> columns;
    for (const std::string& name : possible_columns(runs)) {
        std::set<std::string> texts;
        for (const TableRun& run : runs) {
            if (run.summary) {
                texts.insert(text_of(run, name));
            }
        }
        if (is_axis(runs, name) || texts.size() > 1) {
            columns.push_back(name);
        }
    }
    return columns;
}

/// Equal for repeats of one cell. The parts are parted by bytes that no value has.
std::string key_of(const TableRun& run, std::size_t index, bool each) {
    if (each || (run.sweep.empty() && !run.summary)) {
        return std::to_string(index);
    }
    if (!run.sweep.empty()) {
        return run.sweep + '\0' + run.cell;
    }
    std::string key(1, '\0');
    for (const CellValue& one : run.load) {
        key += one.name + '\0' + one.value + '\0';
    }
    std::vector<std::pair<std::string, std::string>> labels = run.labels;
    std::sort(labels.begin(), labels.end());
    for (const auto& [name, value] : labels) {
        key += name + '\1' + value + '\1';
    }
    return key;
}

void choose_shown(const std::vector<TableRun>& runs, RunCell& cell) {
    const auto take = [&](auto wanted) {
        std::copy_if(cell.runs.begin(), cell.runs.end(), std::back_inserter(cell.shown),
                     [&](std::size_t index) { return wanted(runs[index]); });
    };
    take([](const TableRun& run) { return run.counts(); });
    cell.counts = !cell.shown.empty();
    if (!cell.counts) {
        take([](const TableRun& run) { return run.summary.has_value(); });
    }
}

}  // namespace

ManyRuns table_of(std::vector<TableRun> runs, bool each) {
    ManyRuns table;
    table.runs = std::move(runs);
    table.columns = columns_of(table.runs);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < table.runs.size(); ++i) {
        const TableRun& run = table.runs[i];
        const std::string key = key_of(run, i, each);
        const auto at =
            static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
        if (at < keys.size()) {
            table.merged = table.merged || run.sweep.empty();
        } else {
            keys.push_back(key);
            table.cells.push_back({run.name, {}, {}, {}, false});
            for (const std::string& column : table.columns) {
                table.cells.back().values.push_back(text_of(run, column));
            }
        }
        table.cells[at].runs.push_back(i);
    }
    for (RunCell& cell : table.cells) {
        choose_shown(table.runs, cell);
    }
    return table;
}

std::optional<CellFigure> figure_of(const ManyRuns& table, const RunCell& cell,
                                    const TableFigure& figure) {
    CellFigure out;
    double sum = 0;
    for (const std::size_t index : cell.shown) {
        const TableRun& run = table.runs[index];
        const std::optional<double> value = figure.of(run);
        if (!value) {
            continue;
        }
        out.low = out.runs == 0 ? *value : std::min(out.low, *value);
        out.high = out.runs == 0 ? *value : std::max(out.high, *value);
        out.below_floor = out.below_floor || figure.below_floor(run);
        sum += *value;
        ++out.runs;
    }
    if (out.runs == 0) {
        return {};
    }
    out.mean = sum / static_cast<double>(out.runs);
    return out;
}

std::string value_of(const ManyRuns& table, const RunCell& cell, std::string_view column) {
    return text_of(table.runs[cell.runs.front()], column);
}

void sort_cells(ManyRuns& table, const TableFigure& by) {
    const auto place = [&](const RunCell& cell) {
        const std::optional<CellFigure> value = figure_of(table, cell, by);
        const double sign = by.better == Better::low ? 1 : -1;
        return std::pair(!value, value ? sign * value->mean : 0);
    };
    std::stable_sort(table.cells.begin(), table.cells.end(),
                     [&](const RunCell& a, const RunCell& b) { return place(a) < place(b); });
}

}  // namespace driftless
