#include "cmd/compare/whole_columns.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cmd/report/page_column.hpp"

namespace driftless {

void write_whole_columns(JsonWriter& json, const std::vector<WholeColumn>& columns) {
    std::vector<PageColumn> packed;
    for (const WholeColumn& column : columns) {
        Figure figure;
        figure.path = {column.name};
        figure.name = column.name;
        figure.unit = column.unit;
        figure.holds_numbers = true;
        PageColumn& out = packed.emplace_back(figure);
        for (const double value : column.values) {
            TableCell cell;
            if (std::isfinite(value)) {
                cell = {CellKind::number, fmt::format("{:.0f}", value)};
            }
            out.add(cell);
        }
    }
    write_page_columns(json, packed);
}

}  // namespace driftless
