/// TraceReader: lines in, a Trace out. It detects the format, lists every error, and sorts.
///
/// Bytes and files are the caller's (engine/input); the reader sees one line at a time and keeps
/// the row index only. A trace of several files is one trace: rows are numbered over all of them,
/// and each file is a namespace of block ids of its own. Never guesses: what contradicts the format
/// is an error with its remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct ReadOptions {
    std::string format;             ///< `--format`; empty: by the keys of the first row
    std::string time_unit;          ///< `--time-unit`; empty: the format's
    std::uint32_t block_size = 0;   ///< `--block-size`; 0: the format's
    bool lenient = false;           ///< `--lenient`
    std::vector<std::string> keep;  ///< `--keep`
};

class TraceReader {
  public:
    /// Fills `out` (name, bytes and digest are the caller's) and lists what is wrong in `errors`.
    /// Both outlive the reader. Wrong options are listed at once.
    TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors);

    /// What follows comes from this file; its block ids are its own.
    void begin_file(std::string_view name);

    /// One line without its end; blank ones are skipped. False where reading on is pointless: the
    /// options or the format are not known.
    bool add_line(std::uint64_t number, std::string_view line);

    /// After the last line: rebases times to the earliest row and sorts. True without errors.
    bool finish();

    /// Names of unknown keys, as far as they were noted.
    const std::vector<std::string>& unknown_names() const { return unknown_names_; }

  private:
    void choose(const TraceFormat& format);
    bool detect(const RowContext& context, const JsonValue& row);
    bool refuse_text(const RowContext& context, std::string_view line);
    void add_row(const RowContext& context, const JsonValue& json);
    void note_keys(const JsonValue& json);
    std::string kept_columns(const JsonValue& json);
    void check_kept();
    void rebase_and_sort();

    ReadOptions options_;
    Trace& trace_;
    InputErrors& errors_;
    JsonDocument document_;
    const TraceFormat* format_ = nullptr;
    RowRules rules_;
    std::string file_;
    std::uint32_t files_ = 0;
    std::int64_t previous_ns_ = 0;  ///< of the row before, in this file
    bool stopped_ = false;
    std::vector<bool> kept_seen_;  ///< [keep] some row had it
    std::vector<std::string> unknown_names_;
};

}  // namespace driftless
