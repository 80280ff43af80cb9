#include "cmd/report/sheet.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "proto/core/check.hpp"
#include "proto/export/xml.hpp"

namespace driftless {

namespace {

/// From here on a double cannot tell neighbours apart: 2^53.
constexpr double exact_max = 9007199254740992.0;
/// Characters of a cell, by Excel's limit; bytes are never fewer.
constexpr std::size_t cell_max = 32767;

std::string cut(std::string_view text) {
    std::size_t size = std::min(text.size(), cell_max);
    while (size < text.size() && size > 0 &&
           (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
        --size;  // never inside a character
    }
    std::string out(text.substr(0, size));
    // A workbook is XML, which has no U+FFFE and U+FFFF; U+FFFD stands for them.
    for (std::size_t at = out.find('\xEF'); at != out.npos; at = out.find('\xEF', at + 1)) {
        if (begins_noncharacter(std::string_view(out).substr(at))) {
            out[at + 2] = '\xBD';
        }
    }
    return out;
}

void write_text(lxw_worksheet* sheet, lxw_row_t row, lxw_col_t column, std::string_view text) {
    // Fails for lack of memory alone, which nothing here outlives; places and lengths are right.
    (void)worksheet_write_string(sheet, row, column, cut(text).c_str(), nullptr);
}

void write_number(lxw_worksheet* sheet, lxw_row_t row, lxw_col_t column,
                  const std::string& digits) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (std::abs(value) >= exact_max) {
        write_text(sheet, row, column, digits);
    } else {
        (void)worksheet_write_number(sheet, row, column, value, nullptr);
    }
}

}  // namespace

Sheet::Sheet(lxw_workbook* workbook, std::string name, std::span<const std::string_view> columns,
             std::uint32_t rows_max)
    : workbook_(workbook),
      name_(std::move(name)),
      columns_(columns.begin(), columns.end()),
      rows_max_(rows_max) {
    begin_sheet();
}

void Sheet::begin_sheet() {
    const std::string name = sheets_ == 0 ? name_ : name_ + " " + std::to_string(sheets_ + 1);
    ++sheets_;
    sheet_ = workbook_add_worksheet(workbook_, name.c_str());
    if (sheet_ == nullptr) {  // the names are ours, so that it is the temporary file
        return;
    }
    lxw_format* const bold = workbook_add_format(workbook_);
    format_set_bold(bold);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const auto column = static_cast<lxw_col_t>(i);
        const double width = static_cast<double>(std::max<std::size_t>(columns_[i].size() + 4, 12));
        (void)worksheet_set_column(sheet_, column, column, width, nullptr);
        (void)worksheet_write_string(sheet_, 0, column, columns_[i].c_str(), bold);
    }
    worksheet_freeze_panes(sheet_, 1, 0);
    next_row_ = 1;
}

void Sheet::add(const TableRow& row) {
    if (sheet_ != nullptr && next_row_ == rows_max_) {
        finish();
        begin_sheet();
    }
    if (sheet_ == nullptr) {
        return;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto column = static_cast<lxw_col_t>(i);
        switch (row[i].kind) {
            case CellKind::empty:
                break;
            case CellKind::number:
                write_number(sheet_, next_row_, column, row[i].text);
                break;
            case CellKind::boolean:
                (void)worksheet_write_boolean(sheet_, next_row_, column, row[i].text == "true",
                                              nullptr);
                break;
            case CellKind::text:
                write_text(sheet_, next_row_, column, row[i].text);
                break;
        }
    }
    ++next_row_;
    first_rows_ += sheets_ == 1 ? 1 : 0;
}

void Sheet::finish() {
    if (sheet_ == nullptr) {
        return;
    }
    (void)worksheet_autofilter(sheet_, 0, 0, next_row_ - 1,
                               static_cast<lxw_col_t>(columns_.size() - 1));
}

std::uint16_t Sheet::place_of(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    CHECK(found != columns_.end());
    return static_cast<std::uint16_t>(found - columns_.begin());
}

}  // namespace driftless
