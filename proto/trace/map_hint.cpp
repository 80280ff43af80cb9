#include "proto/trace/map_hint.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "proto/core/decimal.hpp"
#include "proto/core/letter_case.hpp"
#include "proto/trace/columns.hpp"
#include "proto/trace/decimal_time.hpp"

namespace driftless {
namespace {

/// Names that leave no doubt, the most usual first.
constexpr std::string_view time_names[] = {"time", "timestamp", "arrival", "arrival_time", "ts"};
constexpr std::string_view in_names[] = {"prompt_tokens", "input_tokens", "input_length", "in"};
constexpr std::string_view out_names[] = {"completion_tokens", "output_tokens", "output_length",
                                          "out"};

/// The column that has one of these names, as it is spelled; "usage.out" has "out".
std::optional<std::string> column_named(const std::vector<std::string>& columns,
                                        std::span<const std::string_view> names) {
    for (const std::string_view name : names) {
        for (const std::string& column : columns) {
            const std::string_view whole = column;
            if (equal_ignoring_case(whole.substr(whole.rfind('.') + 1), name)) {
                return column;
            }
        }
    }
    return std::nullopt;
}

/// A row of a log may have hundreds.
std::string listed_first(std::vector<std::string> names) {
    constexpr std::size_t most = 24;
    const bool more = names.size() > most;
    names.resize(std::min(names.size(), most));
    return joined(names) + (more ? " .." : "");
}

}  // namespace

std::vector<std::string> map_names(const JsonValue& row) {
    std::vector<std::string> names;
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        const std::string name(value.key());
        if (!value.is(JsonType::object)) {
            names.push_back(name);
            continue;
        }
        for (JsonValue inner = value.first(); inner.present(); inner = inner.next()) {
            names.push_back(name + "." + std::string(inner.key()));
        }
    }
    return names;
}

std::vector<std::string> map_names(const CsvHeader& header) {
    return {header.names().begin(), header.names().end()};
}

std::string map_remedy(const std::vector<std::string>& names, std::string_view time_unit) {
    const auto time = column_named(names, time_names);
    const auto in = column_named(names, in_names);
    const auto out = column_named(names, out_names);
    const std::string map = "--map time=" + time.value_or("COLUMN") +
                            ",in=" + in.value_or("COLUMN") + ",out=" + out.value_or("COLUMN");
    if (!time || !in || !out) {
        return "name the columns with " + map +
               (names.empty() ? "" : "; there are " + listed_first(names));
    }
    return "use " + map +
           (time_unit.empty() ? ", and --time-unit s, ms, us or ns (dates and epochs need none)"
                              : "");
}

bool is_row_of_numbers(const CsvHeader& header) {
    for (std::size_t i = 0; i < header.named_size(); ++i) {
        const std::string_view name = header.names()[i];
        if (!scan_decimal(name) && !parse_time(name, TimeUnit::iso)) {
            return false;
        }
    }
    return true;
}

}  // namespace driftless
