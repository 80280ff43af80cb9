/// RowReader: one row after another, of whichever container, into the draft of a trace.
///
/// It hands a JSON object or a CSV record to the chosen format, with the file and the line at which
/// errors are listed, and counts rows out of order. Which bytes of a file are a row is not known
/// here. Owned by a TraceReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/trace/columns.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/format_choice.hpp"
#include "proto/trace/read_options.hpp"

namespace driftless {

class RowReader {
  public:
    /// Both references outlive this.
    RowReader(const ReadOptions& options, Trace& out, InputErrors& errors);
    RowReader(const RowReader&) = delete;
    RowReader& operator=(const RowReader&) = delete;

    void begin_file(std::string_view name);

    /// For a row, or an error, at this line of the file.
    RowContext context(std::uint64_t line);

    /// A row or a conversation. Says how much more of the input is worth reading.
    Stop read(RowContext& context, const JsonValue& row);
    /// A record under a header that the format has admitted.
    Stop read(RowContext& context, const CsvRow& row);

    FormatChoice& choice() { return choice_; }
    TraceDraft& draft() { return draft_; }
    const ColumnNotes& columns() const { return columns_; }

  private:
    void note_order();

    InputErrors& errors_;
    TraceDraft draft_;
    ColumnNotes columns_;
    FormatChoice choice_;
    std::string file_;
    std::size_t rows_ordered_ = 0;  ///< rows that `note_order` has seen
    std::int64_t previous_ns_ = 0;  ///< of the row before, in this file
};

}  // namespace driftless
