/// Lines: text in two columns, a label and what is said of it, 80 columns wide. Prints nothing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftless {

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

}  // namespace driftless
