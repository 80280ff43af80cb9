/// What screens are made of: lines of a label and its text, bars and plots of block characters,
/// grouped numbers; and printing them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

// Lines: text in two columns, a label and what is said of it, 80 columns wide. Prints nothing.

inline constexpr std::size_t table_columns = 80;
inline constexpr std::size_t label_columns = 16;
inline constexpr std::size_t list_max = 4;  ///< of a list; files have all

/// Lines of a label and text; text that does not fit goes on below itself.
class Lines {
  public:
    void rule(std::string_view title) {
        const std::string text = title.empty() ? "" : fmt::format(" {} ", title);
        const std::size_t left = (table_columns - text.size()) / 2;
        text_.append(left, '=').append(text).append(table_columns - text.size() - left, '=') +=
            '\n';
    }
    void blank() { text_ += '\n'; }
    void add(std::string_view label, std::string_view value) {
        while (true) {  // bounded by the text: each turn takes at least one byte of it
            constexpr std::size_t room = table_columns - label_columns;
            std::size_t cut = value.size();
            if (cut > room) {
                cut = value.rfind(' ', room);
                cut = cut == value.npos || cut == 0 ? room : cut;
            }
            fmt::format_to(std::back_inserter(text_), "{:<{}}{}\n", label, label_columns,
                           value.substr(0, cut));
            value.remove_prefix(cut);
            value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
            if (value.empty()) {
                return;
            }
            label = "";
        }
    }
    void list(std::string_view label, const std::vector<std::string>& texts) {
        for (std::size_t i = 0; i < texts.size() && i < list_max; ++i) {
            add(i == 0 ? label : "", texts[i]);
        }
        if (texts.size() > list_max) {
            add("", fmt::format("and {} more in summary.json", texts.size() - list_max));
        }
    }
    void raw(const std::string& line) { text_ += line + '\n'; }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

// Plots of block characters for the terminal. Text in UTF-8 out; they print nothing.
//
// Every plot has the width that was asked for, whatever its values: a cell is one column.

/// A bar of `width` cells for value / full, to an eighth of a cell, blanks behind it; what is above
/// 0 shows at least an eighth.
std::string bar(double value, double full, std::size_t width);

/// Columns from left to right, one cell each, to an eighth of a cell of `height` lines; the highest
/// value fills its column. Lines from the top.
std::vector<std::string> columns(std::span<const std::uint64_t> values, std::size_t height);

/// 12031 as "12,031".
std::string grouped(std::uint64_t value);
/// The same of a sum to which not all could be added: "at least 1,234", or "unknown" of 0.
std::string grouped_sum(std::uint64_t sum, bool is_whole);

// `print`: formatted text to a stream, for screens. `fmt::print` throws if the stream cannot be
// written, and a full disk must not end a command that way. Main checks stdout at the end.

template <typename... Values>
void print(std::FILE* stream, fmt::format_string<Values...> format, Values&&... values) {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace driftless
