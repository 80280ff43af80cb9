#include "proto/trace/csv.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

/// Of a column without a name.
static std::string made_name(std::size_t column) {
    return "Unnamed: " + std::to_string(column);
}

/// `rest` begins behind the opening quote; afterwards, behind the closing one.
Result<std::string_view> CsvCells::take_quoted(std::string_view& rest) {
    std::size_t end = rest.find('"');
    if (end != rest.npos && rest.substr(end + 1, 1) != "\"") {
        const std::string_view cell = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        return cell;
    }
    std::string& cell = unescaped_.emplace_back();
    while (end != rest.npos) {
        cell += rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (!rest.starts_with('"')) {
            return std::string_view(cell);
        }
        cell += '"';
        rest.remove_prefix(1);
        end = rest.find('"');
    }
    return Error{ErrorCode::truncated, 0, "find the end of a quoted cell"};
}

Result<void> CsvCells::split(std::string_view record, char separator) {
    cells_.clear();
    unescaped_.clear();
    for (std::string_view rest = record;;) {  // each turn takes a cell off
        if (rest.starts_with('"')) {
            rest.remove_prefix(1);
            const Result<std::string_view> cell = take_quoted(rest);
            if (!cell) {
                return cell.error();
            }
            cells_.push_back(cell.value());
            if (!rest.empty() && rest.front() != separator) {
                return Error{ErrorCode::invalid, 0, "read a quoted cell"};
            }
        } else {
            const std::size_t end = std::min(rest.find(separator), rest.size());
            cells_.push_back(trim(rest.substr(0, end), " "));
            rest.remove_prefix(end);
        }
        if (rest.empty()) {
            return {};
        }
        rest.remove_prefix(1);
    }
}

bool CsvHeader::read(std::string_view line) {
    names_.clear();
    separator_ = ',';
    for (const char candidate : {',', '\t', ';'}) {
        if (line.find(candidate) != line.npos) {
            separator_ = candidate;
            break;
        }
    }
    CsvCells cells;
    if (!cells.split(line, separator_) || cells.size() < 2) {
        return false;
    }
    std::size_t named = 0;
    named_size_ = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool has_name = !cells[i].empty();
        names_.push_back(has_name ? std::string(cells[i]) : made_name(i));
        named += has_name ? 1 : 0;
        named_size_ = has_name ? i + 1 : named_size_;
    }
    return named >= 2;
}

void CsvHeader::adopt(std::span<const std::string_view> columns) {
    for (std::string& name : names_) {
        for (const std::string_view column : columns) {
            if (equal_ignoring_case(name, column)) {
                name = column;
            }
        }
    }
}

bool CsvHeader::is_name(std::size_t column, std::string_view cell) const {
    return equal_ignoring_case(cell, names_[column]) ||
           (cell.empty() && names_[column] == made_name(column));
}

std::optional<std::size_t> CsvHeader::find(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - names_.begin()));
}

std::optional<std::size_t> CsvHeader::find_in_any_case(std::string_view name) const {
    if (const std::optional<std::size_t> exact = find(name)) {
        return exact;
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (equal_ignoring_case(names_[i], name)) {
            return i;
        }
    }
    return std::nullopt;
}

/// Names of unknown columns that are noted for the message; their count goes on.
static constexpr std::size_t unknown_names_max = 16;

/// Names that a message lists: wide files have hundreds.
static constexpr std::size_t joined_names_max = 24;

/// Whether a cell may be in JSON as it is: a number as RFC 8259 writes it.
static bool is_json_number(std::string_view text) {
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    const bool leading_zero = digits.size() > 1 && digits[0] == '0' && digits[1] != '.';
    return scan_decimal(text) && !text.starts_with('+') && !digits.starts_with('.') &&
           !leading_zero && digits.find(".e") == digits.npos && digits.find(".E") == digits.npos &&
           !digits.ends_with('.');
}

std::string joined(const std::vector<std::string>& names) {
    const std::span<const std::string> first(names.data(),
                                             std::min(names.size(), joined_names_max));
    const std::string all = joined(first, ", ");
    return names.size() <= joined_names_max
               ? all
               : all + " and " + std::to_string(names.size() - joined_names_max) + " more";
}

/// By its name, or by a path into it.
bool ColumnNotes::is_kept(std::string_view name) const {
    return std::any_of(keep_.begin(), keep_.end(), [name](const std::string& kept) {
        return kept.starts_with(name) && (kept.size() == name.size() || kept[name.size()] == '.');
    });
}

void ColumnNotes::note_unless_known(std::string_view name,
                                    std::span<const std::string_view> known) {
    if (std::ranges::find(known, name) != known.end()) {
        return;
    }
    ++unknown_;
    const bool noted = std::ranges::find(unknown_names_, name) != unknown_names_.end();
    if (!noted && unknown_names_.size() < unknown_names_max) {
        unknown_names_.emplace_back(name);
    }
}

bool ColumnNotes::same_names(const JsonValue& row) const {
    JsonValue value = row.first();
    for (const std::string& name : names_) {
        if (!value.present() || value.key() != name) {
            return false;
        }
        value = value.next();
    }
    return !names_.empty() && !value.present();
}

void ColumnNotes::note(const JsonValue& row, std::span<const std::string_view> known) {
    if (same_names(row)) {
        unknown_ += names_unknown_;
        return;
    }
    const std::uint64_t before = unknown_;
    names_.clear();
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        names_.emplace_back(value.key());
        if (!is_kept(names_.back())) {
            note_unless_known(names_.back(), known);
        }
    }
    names_unknown_ = unknown_ - before;
    if (paths_.empty()) {
        paths_ = map_names(row);
    }
}

void ColumnNotes::note(const CsvRow& row, std::span<const std::string_view> known) {
    const CsvHeader& header = row.header();
    kept_columns_.clear();
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        if (const std::optional<std::size_t> at = header.find_in_any_case(keep_[i])) {
            seen_[i] = true;
            kept_columns_.push_back(*at);
        }
    }
    for (std::size_t i = 0; i < header.names().size(); ++i) {
        const bool kept = std::ranges::find(kept_columns_, i) != kept_columns_.end();
        if (!kept && !row[i].empty()) {
            note_unless_known(header.names()[i], known);
        }
    }
    if (paths_.empty()) {
        paths_ = header.names();
    }
}

std::string ColumnNotes::kept(const JsonValue& row) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        const JsonValue value = row.find_path(keep_[i]);
        seen_[i] = seen_[i] || value.present();
        writer.key(keep_[i]).raw(value.present() ? value.raw() : "null");
    }
    writer.end_object();
    return text;
}

std::string ColumnNotes::kept(const CsvRow& row) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const std::string& name : keep_) {
        const auto cell = row.find_in_any_case(name);
        writer.key(name);
        if (!cell || cell->empty()) {
            writer.null();
        } else if (is_json_number(*cell)) {
            writer.raw(*cell);
        } else {
            writer.string(*cell);
        }
    }
    writer.end_object();
    return text;
}

std::vector<std::string> ColumnNotes::missing() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < keep_.size(); ++i) {
        if (!seen_[i]) {
            names.push_back(keep_[i]);
        }
    }
    return names;
}

/// Names that leave no doubt, the most usual first.
static constexpr std::string_view time_names[] = {"time", "timestamp", "arrival", "arrival_time",
                                                  "ts"};
static constexpr std::string_view in_names[] = {"prompt_tokens", "input_tokens", "input_length",
                                                "in"};
static constexpr std::string_view out_names[] = {"completion_tokens", "output_tokens",
                                                 "output_length", "out"};

/// The column that has one of these names, as it is spelled; "usage.out" has "out".
static std::optional<std::string> column_named(const std::vector<std::string>& columns,
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
static std::string listed_first(std::vector<std::string> names) {
    constexpr std::size_t most = 24;
    const bool more = names.size() > most;
    names.resize(std::min(names.size(), most));
    return joined(names) + (more ? " .." : "");
}

std::vector<std::string> map_names(const JsonValue& row) {
    std::vector<std::string> names;
    std::vector<std::pair<JsonValue, std::string>> open{{row.first(), ""}};
    while (!open.empty()) {  // each turn takes a member, or leaves an object
        const JsonValue value = open.back().first;
        if (!value.present()) {
            open.pop_back();
            continue;
        }
        open.back().first = value.next();
        const std::string name = open.back().second + std::string(value.key());
        if (value.is(JsonType::object) && value.size() > 0) {
            open.emplace_back(value.first(), name + ".");
        } else {
            names.push_back(name);
        }
    }
    return names;
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
    const std::span<const std::string> named(header.names().data(), header.named_size());
    return std::ranges::all_of(named, [](std::string_view name) {
        return scan_decimal(name) || parse_time(name, TimeUnit::iso);
    });
}

}  // namespace driftless
