/// What screens are made of: lines of a label and its text, bars and plots of block characters,
/// grouped numbers, printing them; and the words that tables, the progress line and Markdown share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/figures/criteria.hpp"
#include "proto/figures/summary.hpp"
#include "proto/run/record.hpp"

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
    /// Lines, each with its end.
    void block(const std::string& lines) { text_ += lines; }
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

/// A part of a whole in percent, "12.50 %"; "-" where the whole is 0.
std::string share(std::uint64_t part, std::uint64_t whole);

/// "1 row", "12,031 rows".
std::string rows_text(std::uint64_t rows);

/// Rows that are ok and have no TPOT, by the reason: all tokens at one instant, a server that
/// counts none, or a loss in this client. Nothing where no row has a first token.
std::vector<std::string> no_tpot_texts(const SummaryFigures& figures);
/// The same of those that have no ITL: also where several tokens come a chunk and are counted at
/// the end only, or chunks were not kept.
std::vector<std::string> no_itl_texts(const SummaryFigures& figures, const SummaryInfo& info);

/// "240 of exactly the recorded length", what is off or not reported, and whose fault an unknown
/// one is.
std::string prompts_text(const PromptFigures& prompts);

/// The larger of both ways: "0.042", "24.10".
std::string error_text(const ErrorBar& error, double unit = 1);
/// By how much, in ms, the client may have moved its p99: the larger of both ways. "-": it has no
/// bar; "unknown".
std::string p99_error_text(const FigureName& figure, const SummaryFigures& f);

/// "230 of 240 ok, 10 failed in 12.40 s; the server kept up": the last part where it is known.
std::string requests_text(const SummaryFigures& f, const SummaryInfo& info);

/// What to do about turns that were sent before the turn before them had ended, where the trace
/// allows anything.
const char* overtaken_remedy(const SummaryInfo& info);
/// How many turns held answers of the run, and how long they were beside what was recorded.
std::string live_text(const LiveSums& live);
/// What became of requests that were abandoned; there are some.
std::string abandoned_text(const AbandonedSums& abandoned);

/// Why a row failed, for people: the server's own words, else what the outcome means.
std::string failure_text(Outcome outcome, const std::string& said);

/// "http_5xx 12, truncated 3": the failures among these outcomes, but for `without`.
std::string failed_kinds(const std::array<std::uint64_t, outcome_count>& outcomes,
                         Outcome without = Outcome::ok);

/// The best whole second; nothing where it is not known, or the run is shorter than one.
std::optional<std::uint64_t> shown_peak(const SummaryFigures& f);

}  // namespace driftless
