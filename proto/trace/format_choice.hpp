/// FormatChoice: which format a trace has, and by which rules its rows are read.
///
/// The user names a format, or the first row or the CSV header shows it. Once chosen it stays: all
/// files of a trace are of one format. Never guesses: what fits no format or several is an error.
/// Part of a RowReader.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "proto/trace/csv.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/read_options.hpp"

namespace driftless {

class FormatChoice {
  public:
    /// `draft` outlives this.
    FormatChoice(const ReadOptions& options, TraceDraft& draft);

    /// Chooses what the options name. False after an error: they are wrong.
    bool take_options(const RowContext& none);
    /// The first row of the file that follows is held against the format, unless it was named.
    void begin_file();

    /// Whether the first row of a file fits the format; chooses the format if there is none yet.
    /// Later rows are not looked at. False after an error.
    bool admit(const RowContext& context, const JsonValue& row);
    /// The same for the header of a CSV file, which takes the spelling of the format's columns. The
    /// map takes the header's spelling. Lists no error.
    bool admit(CsvHeader& header);

    const ReadOptions& options() const { return options_; }
    /// nullptr: not known yet.
    const TraceFormat* format() const { return format_; }
    RowRules& rules() { return rules_; }
    /// The columns that the format reads.
    std::span<const std::string_view> known() const { return known_; }

  private:
    bool check_options(const RowContext& none, const TraceFormat* named) const;
    void choose(const TraceFormat& format);
    void list_known();
    void spell_map(const CsvHeader& header);
    const TraceFormat* find_format(CsvHeader& header) const;

    ReadOptions options_;
    TraceDraft& draft_;
    const TraceFormat* format_ = nullptr;
    RowRules rules_;
    std::vector<std::string_view> known_;
    bool file_checked_ = false;  ///< the file's first row looks like the format
};

}  // namespace driftless
