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
    line_ = root.value();
    row_.clear();
    // Lines have the order of the columns, so that each column is looked for behind the one before.
    JsonValue at = root.value().first();
    for (const Figure& column : columns_) {
        const JsonValue value = find_from(at, column.path.front());
        row_.push_back(cell_of(value));
        at = value.present() ? value.next() : at;
    }
    return &row_;
}

}  // namespace driftless
