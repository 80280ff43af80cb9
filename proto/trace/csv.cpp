#include "proto/trace/csv.hpp"

#include <algorithm>

#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"

namespace driftless {
namespace {

/// Of a column without a name.
std::string made_name(std::size_t column) {
    return "Unnamed: " + std::to_string(column);
}

}  // namespace

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

}  // namespace driftless
