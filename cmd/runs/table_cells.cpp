/// Frontiers of two figures, then the cells of a table and the figures of its charts.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cmd/flags/summary_values.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/distribution.hpp"

namespace driftless {

/// The point with the sign of each axis turned so that more is better.
static ParetoPoint upward(const ParetoPoint& point, ParetoAxes axes) {
    return {axes.x == Better::high ? point.x : -point.x,
            axes.y == Better::high ? point.y : -point.y};
}

/// `a` is at least as good as `b` on both axes, and better on one.
static bool dominates(const ParetoPoint& a, const ParetoPoint& b, ParetoAxes axes) {
    const ParetoPoint up = upward(a, axes);
    const ParetoPoint other = upward(b, axes);
    const bool nowhere_worse = up.x >= other.x && up.y >= other.y;
    return nowhere_worse && (up.x > other.x || up.y > other.y);
}

std::vector<std::size_t> pareto_frontier(std::span<const ParetoPoint> points, ParetoAxes axes) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const ParetoPoint one = upward(points[a], axes);
        const ParetoPoint other = upward(points[b], axes);
        return one.x != other.x ? one.x > other.x : one.y > other.y;
    });
    // Best x first, and best y among equal x: what comes later is dominated unless its y is better,
    // or the point is equal to the last one that was kept.
    std::vector<std::size_t> frontier;
    for (const std::size_t index : order) {
        const ParetoPoint one = upward(points[index], axes);
        const ParetoPoint last = frontier.empty() ? one : upward(points[frontier.back()], axes);
        const bool equal = one.x == last.x && one.y == last.y;
        if (frontier.empty() || one.y > last.y || equal) {
            frontier.push_back(index);
        }
    }
    return frontier;
}

std::vector<Dominance> pareto_dominance(std::span<const ParetoPoint> points, ParetoAxes axes) {
    const std::vector<std::size_t> frontier = pareto_frontier(points, axes);
    std::vector<Dominance> all(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto beats = [&](const ParetoPoint& one) { return dominates(one, points[i], axes); };
        const auto found =
            std::ranges::find_if(frontier, [&](std::size_t at) { return beats(points[at]); });
        if (found != frontier.end()) {
            all[i].by = *found;
            all[i].count = static_cast<std::size_t>(std::ranges::count_if(points, beats));
        }
    }
    return all;
}

ParetoPoint hypervolume_reference(std::span<const ParetoPoint> points, ParetoAxes axes) {
    ParetoPoint worst;
    for (const ParetoPoint& point : points) {
        worst.x = std::max(worst.x, point.x);
        worst.y = std::max(worst.y, point.y);
    }
    return {axes.x == Better::high ? 0 : worst.x * reference_margin,
            axes.y == Better::high ? 0 : worst.y * reference_margin};
}

double hypervolume(std::span<const ParetoPoint> points, ParetoAxes axes,
                   const ParetoPoint& reference) {
    const ParetoPoint least = upward(reference, axes);
    double area = 0;
    double covered = 0;  // of y, by the points with a better x
    for (const std::size_t index : pareto_frontier(points, axes)) {
        const ParetoPoint best = upward(points[index], axes);
        const double width = best.x - least.x;
        const double height = best.y - least.y;
        if (width > 0 && height > covered) {
            area += width * (height - covered);
            covered = height;
        }
    }
    return area;
}

static constexpr double ms_per_s = 1000;
static constexpr std::string_view gpu_suffix = "/gpu";

static TableUnit unit_of(const FigureName& figure) {
    switch (figure.number) {
        case NumberOf::request_rate:
            return TableUnit::per_second;
        case NumberOf::token_rate:
            return TableUnit::tokens_per_second;
        case NumberOf::joules:
            return TableUnit::joules;
        case NumberOf::things:
            break;
    }
    switch (figure.unit) {
        case FigureUnit::time:
            return TableUnit::ms;
        case FigureUnit::share:
            return TableUnit::share;
        case FigureUnit::number:
            break;
    }
    return TableUnit::count;
}

static std::string statistic_text(const Threshold& which) {
    const std::size_t colon = which.text.find(':');
    return colon == which.text.npos ? "" : " " + which.text.substr(colon + 1);
}

static bool is_rate(TableUnit unit) {
    return unit == TableUnit::per_second || unit == TableUnit::tokens_per_second;
}

/// Of E2E by token: of records, which no summary has.
static std::optional<double> read_e2e_interactivity(const TableRun& run, const Threshold& which) {
    if (!run.e2e_per_token || run.e2e_per_token->count == 0) {
        return {};
    }
    return quotient(ms_per_s, which.statistic->of(*run.e2e_per_token));
}

static std::optional<double> read(const TableRun& run, const TableFigure& figure) {
    if (figure.needs_records()) {
        return read_e2e_interactivity(run, figure.which);
    }
    const std::optional<double> value = run.summary->figure(figure.which);
    return value && figure.unit == TableUnit::ms ? std::optional(*value / ns_per_ms) : value;
}

/// Values behind the percentiles of a figure.
static std::optional<std::uint64_t> count_of(const TableRun& run, const FigureName& figure) {
    return run.summary->root().find("count_" + std::string(figure.key)).as_u64();
}

std::optional<double> gpus_of(const TableRun& run) {
    const auto value = read_number<double>(run.label("gpus").value_or(""));
    return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

std::optional<double> TableFigure::of(const TableRun& run) const {
    if (!run.summary) {
        return {};
    }
    const std::optional<double> value = read(run, *this);
    return per_gpu ? quotient(value, gpus_of(run)) : value;
}

std::uint64_t TableFigure::floor() const {
    const std::uint32_t per_mille = which.statistic->per_mille;
    return which.figure->has_statistics() && per_mille > 0 ? percentile_floor(per_mille) : 0;
}

bool TableFigure::below_floor(const TableRun& run) const {
    const std::uint64_t least = floor();
    if (least == 0 || !run.summary) {
        return false;
    }
    const std::optional<std::uint64_t> count =
        needs_records() ? run.e2e_per_token ? std::optional(run.e2e_per_token->count) : std::nullopt
                        : count_of(run, *which.figure);
    return count.value_or(least) < least;
}

Result<TableFigure> parse_table_figure(std::string_view text) {
    TableFigure figure;
    figure.name = std::string(text);
    std::string_view name = text;
    if (name.ends_with(gpu_suffix)) {
        figure.per_gpu = true;
        name.remove_suffix(gpu_suffix.size());
    }
    std::string more;
    for (const FigureName& only : figures_of_tables()) {
        more += ", " + std::string(only.name) + (only.has_statistics() ? ":p90" : "");
    }
    Result<Threshold> which = parse_figure(name, more + "; a rate may end in /gpu");
    if (!which) {
        return which.error();
    }
    figure.which = std::move(which).value();
    const FigureName& read = *figure.which.figure;
    figure.title = std::string(read.title) + statistic_text(figure.which);
    figure.unit = unit_of(read);
    figure.better = read.better;
    if (figure.per_gpu && (read.has_statistics() || !is_rate(figure.unit))) {
        return invalid("is not a rate: only rates can be divided by GPUs; remove /gpu");
    }
    figure.title += figure.per_gpu ? " per GPU" : "";
    return figure;
}

TableFigure known_figure(std::string_view text) {
    Result<TableFigure> figure = parse_table_figure(text);
    CHECK(figure);
    return std::move(figure).value();
}

const std::vector<TableFigure>& table_figures() {
    static const std::vector<TableFigure> all = [] {
        std::vector<TableFigure> figures;
        const auto add = [&figures](const std::string& name) {
            figures.push_back(known_figure(name));
        };
        for (const FigureName& figure : figure_names()) {
            if (!figure.has_statistics()) {
                add(std::string(figure.name));
                continue;
            }
            for (const char* const statistic : {":mean", ":p50", ":p90", ":p99", ":p99.9"}) {
                add(std::string(figure.name) + statistic);
            }
        }
        for (const FigureName& figure : figures_of_tables()) {
            if (!figure.has_statistics()) {  // of records, which a folder may lack
                add(std::string(figure.name));
            }
        }
        return figures;
    }();
    return all;
}

/// What a run has under the name of a column: an axis of its sweep, a label, or a flag.
static std::string text_of(const TableRun& run, std::string_view column) {
    for (const auto* values : {&run.values, &run.labels, &run.load}) {
        if (const CellValue* const found = find_value(*values, column)) {
            return found->value;
        }
    }
    return "";
}

/// Names of everything that may be a column, in the order of the first run that has it.
static std::vector<std::string> possible_columns(const std::vector<TableRun>& runs) {
    std::vector<std::string> names;
    std::set<std::string, std::less<>> seen;
    const auto add = [&](const std::string& name) {
        if (seen.insert(name).second) {
            names.push_back(name);
        }
    };
    for (const auto kind : {&TableRun::values, &TableRun::labels, &TableRun::load}) {
        for (const TableRun& run : runs) {
            for (const CellValue& one : run.*kind) {
                add(one.name);
            }
        }
    }
    return names;
}

static bool is_axis(const std::vector<TableRun>& runs, const std::string& name) {
    return std::ranges::any_of(
        runs, [&](const TableRun& run) { return find_value(run.values, name) != nullptr; });
}

/// Axes of sweeps always; of the rest what differs among the runs that say it.
static std::vector<std::string> columns_of(const std::vector<TableRun>& runs) {
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
static std::string key_of(const TableRun& run, std::size_t index, bool each) {
    if (each || (run.sweep.empty() && !run.summary)) {
        return std::to_string(index);
    }
    if (!run.sweep.empty()) {
        return run.sweep + '\0' + run.cell;
    }
    std::string key(1, '\0');
    key += run.other_work + '\0';
    for (const CellValue& one : run.load) {
        key += one.name + '\0' + one.value + '\0';
    }
    std::vector<CellValue> labels = run.labels;
    std::ranges::sort(labels, {},
                      [](const CellValue& one) { return std::tie(one.name, one.value); });
    for (const auto& [name, value] : labels) {
        key += name + '\1' + value + '\1';
    }
    return key;
}

static void choose_shown(const std::vector<TableRun>& runs, RunCell& cell) {
    std::ranges::copy_if(cell.runs, std::back_inserter(cell.shown),
                         [&runs](std::size_t index) { return runs[index].counts(); });
    cell.counts = !cell.shown.empty();
    if (!cell.counts) {
        std::ranges::copy_if(cell.runs, std::back_inserter(cell.shown), [&runs](std::size_t index) {
            return runs[index].summary.has_value();
        });
    }
}

ManyRuns table_of(std::vector<TableRun> runs, bool each) {
    ManyRuns table;
    table.runs = std::move(runs);
    settle_load(table.runs);
    table.columns = columns_of(table.runs);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < table.runs.size(); ++i) {
        const TableRun& run = table.runs[i];
        const std::string key = key_of(run, i, each);
        const auto at = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
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
    std::set<std::string> mixed;
    for (RunCell& cell : table.cells) {
        choose_shown(table.runs, cell);
        const auto& first = table.runs[cell.runs.front()].watched;
        for (const std::size_t index : cell.runs) {
            for (const CellValue& one : table.runs[index].watched) {
                const CellValue* const of_first = find_value(first, one.name);
                if (of_first != nullptr && one.value != of_first->value) {
                    mixed.insert(one.name);
                }
            }
        }
    }
    table.mixed.assign(mixed.begin(), mixed.end());
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
    std::ranges::stable_sort(
        table.cells, [&](const RunCell& a, const RunCell& b) { return place(a) < place(b); });
}

}  // namespace driftless
