#include "cmd/compare/screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cmd/screen/lines.hpp"
#include "engine/views/view_text.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

constexpr std::size_t cells = 9;
/// Name, unit, A, B, B / A, interval, n_eff, smallest, word: 91 with the blanks between.
constexpr std::array<std::size_t, cells> widths{18, 3, 10, 10, 7, 17, 7, 8, 6};

std::string table_line(const std::vector<std::string>& texts) {
    std::string line = pad_right(texts[0], widths[0]);
    for (std::size_t i = 1; i < cells; ++i) {
        const bool left = i == 1 || i == cells - 1;
        line += (i == cells - 1 ? "  " : " ") +
                (left ? pad_right(texts[i], widths[i]) : pad_left(texts[i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::string ratio_text(double value) {
    return std::isnan(value) ? "-" : fixed(value, 3);
}

void add_where(const Comparison& comparison, Lines& lines) {
    for (const ChangeView& view : comparison.where) {
        lines.blank();
        ViewTable table({fmt::format("{} by {}", name_of(comparison.value), view.by), "requests",
                         "B / A, median", "95 % interval", "these runs"});
        for (const ChangeGroup& group : view.groups) {
            table.add({group.name, with_commas(static_cast<double>(group.rows), 0),
                       ratio_text(group.ratio),
                       std::isnan(group.low)
                           ? "-"
                           : ratio_text(group.low) + " to " + ratio_text(group.high),
                       name_of(group.in_these_runs)});
        }
        std::string text = table.text();
        text.pop_back();
        lines.raw(text);
    }
}

void add_rows(const Comparison& comparison, std::uint64_t wanted, Lines& lines) {
    const auto at = static_cast<std::size_t>(comparison.value);
    const std::string value = name_of(comparison.value);
    ViewTable table({"Changed most: row", "pass", "due, s", "input", "turn", value + " A, ms",
                     value + " B, ms", "B / A"});
    for (const PairedRequest& row : most_changed(comparison.requests, comparison.value, wanted)) {
        table.add({std::to_string(row.row), std::to_string(row.pass), fixed(in_s(row.due_ns), 3),
                   with_commas(row.input_tokens, 0),
                   row.turn > 0 ? std::to_string(row.turn) : std::string("-"),
                   with_commas(row.a[at] / ns_per_ms, 2), with_commas(row.b[at] / ns_per_ms, 2),
                   fixed(row.ratio(comparison.value), 3)});
    }
    lines.blank();
    std::string text = table.text();
    text.pop_back();
    lines.raw(text);
}

void add_thresholds(const Comparison& comparison, Lines& lines) {
    if (comparison.thresholds.empty()) {
        return;
    }
    lines.blank();
    for (const JudgedThreshold& one : comparison.thresholds) {
        lines.add("Fail if", fmt::format("{}: {}, {}", one.threshold.text, found_text(one),
                                         name_of(one.judged)));
    }
}

}  // namespace

std::string comparison_screen(const Comparison& comparison, const ComparisonParts& parts) {
    Lines lines;
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        lines.add(one.label, one.text);
    }
    lines.blank();
    lines.raw(table_line(metric_titles(comparison.groups)));
    for (const MetricComparison& metric : comparison.groups.metrics) {
        lines.raw(table_line(metric_cells(metric, comparison.groups)));
    }
    if (parts.where) {
        add_where(comparison, lines);
    }
    if (parts.rows_listed > 0) {
        add_rows(comparison, parts.rows_listed, lines);
    }
    add_thresholds(comparison, lines);
    return printable_lines(lines.take());
}

}  // namespace driftless
