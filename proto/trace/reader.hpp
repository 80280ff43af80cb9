/// TraceReader: lines in, a Trace out. It knows files and their containers, and sorts.
///
/// Bytes and files are the caller's (engine/input); the reader sees one line at a time and keeps
/// the row index only. JSON objects are rows or conversations, a line each; JSON texts that go over
/// several lines, objects or arrays, are gathered one by one (JsonRows); anything else is CSV
/// (CsvRows). Both hand rows to a RowReader, which knows the format; what only the whole trace
/// shows is checked at the end (whole_trace.hpp). A trace of several files is one trace: rows are
/// numbered over all of them, and each file is a namespace of block ids of its own where its format
/// does not say otherwise. Never guesses: what contradicts the format is an error with its remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace/csv_rows.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/json_rows.hpp"
#include "proto/trace/read_options.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/row_reader.hpp"

namespace driftless {

class TraceReader {
  public:
    /// Fills `out` (name, bytes and digest are the caller's) and lists what is wrong in `errors`.
    /// Both outlive the reader. Wrong options are listed at once.
    TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors);

    /// What follows comes from this file.
    void begin_file(std::string_view name);

    /// One line without its end; blank ones are skipped. False where reading on in this file is
    /// pointless: the options or the format are not known.
    bool add_line(std::uint64_t number, std::string_view line);

    /// The line of that number is longer than a reader can hold; it begins so.
    void refuse_long_line(std::uint64_t number, std::string_view beginning);

    /// After the last line: rebases times to the earliest row and sorts. True without errors.
    bool finish();

    /// Names of unknown keys, as far as they were noted.
    const std::vector<std::string>& unknown_names() const {
        return rows_.columns().unknown_names();
    }

  private:
    /// How the bytes of the current file are rows.
    enum class Container : std::uint8_t { unknown, json, csv, refused };

    Stop begin_container(std::uint64_t number, std::string_view line, std::string_view trimmed);
    Stop take_line(std::uint64_t number, std::string_view line);
    bool goes_on(Stop stop);
    void end_file();
    void rebase_and_sort();

    Trace& trace_;
    InputErrors& errors_;
    RowReader rows_;
    JsonRows json_;
    CsvRows csv_;
    Container container_ = Container::unknown;
    bool stopped_ = false;  ///< the options are wrong for this trace
};

}  // namespace driftless
