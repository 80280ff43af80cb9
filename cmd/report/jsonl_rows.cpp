#include "cmd/report/jsonl_rows.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace driftless {

namespace {

/// The member of that name from `at` on, or absent.
JsonValue find_from(JsonValue at, std::string_view name) {
    while (at.present() && at.key() != name) {
        at = at.next();
    }
    return at;
}

}  // namespace

Result<JsonlRows> JsonlRows::open(const std::string& path, std::vector<Figure> columns,
                                  std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    return JsonlRows(path, std::move(lines).value(), std::move(columns));
}

const TableRow* JsonlRows::next() {
    const std::optional<std::string_view> line = lines_.next();
    if (!line) {
        why_ = lines_.why();
        return nullptr;
    }
    const Result<JsonValue> root = document_.parse(*line);
    if (!root) {
        why_ = describe_line(path_, lines_.number(), Error{root.error().code, 0, "read a line"});
        return nullptr;
    }
    read_cells(root.value(), columns_, row_);
    return &row_;
}

void read_cells(const JsonValue& line, const std::vector<Figure>& columns, TableRow& out) {
    out.clear();
    // Lines have the order of the columns, so that each column is looked for behind the one before.
    JsonValue at = line.first();
    for (const Figure& column : columns) {
        const JsonValue value = find_from(at, column.path.front());
        out.push_back(cell_of(value));
        at = value.present() ? value.next() : at;
    }
}

}  // namespace driftless
