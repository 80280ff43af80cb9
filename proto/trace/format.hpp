/// TraceFormat: a trace format as a table entry, one file per format beside this one.
///
/// A format knows how its rows look and what their fields mean. It sees one parsed row at a time;
/// files, lines, sorting, kept columns and counts of unknown keys are the reader's (read.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proto/json/document.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// What was chosen for this trace: the format's defaults, or the user's overrides.
struct RowRules {
    TimeUnit time_unit = TimeUnit::ms;
    std::uint32_t block_size = 0;
    bool lenient = false;
};

/// Where a format puts a row and its complaints. Lives as long as the reader's call.
struct RowContext {
    const RowRules& rules;
    Trace& trace;  ///< formats append to `ids` and count; rows are the reader's
    InputErrors& errors;
    std::string_view file;
    std::uint64_t line = 0;

    /// Lists an error of this row. `value` is cut to `value_bytes_max`, at a code point.
    void refuse(std::string_view field, std::string_view value, std::string problem,
                std::string remedy) const;
};

/// Bytes of a value that an error quotes.
inline constexpr std::size_t value_bytes_max = 80;

struct TraceFormat {
    const char* name = "";  ///< as `--format` spells it
    TimeUnit time_unit = TimeUnit::ms;
    std::uint32_t block_size = 0;
    TailRule tail_rule = TailRule::ceil;
    std::span<const std::string_view> columns;  ///< keys it reads; all others are unknown

    /// Whether a first row looks like this format. Called for rows that `foreign_shape` lets pass.
    bool (*matches)(const JsonValue& row) = nullptr;
    /// Fills time (not rebased), lengths and block ids of `out`, or lists every error of the row
    /// and returns false.
    bool (*read_row)(const RowContext& context, const JsonValue& row, TraceRow& out) = nullptr;
};

/// All formats, and one by its name (nullptr where there is none).
std::span<const TraceFormat* const> trace_formats();
const TraceFormat* find_trace_format(std::string_view name);
/// The names, comma-separated, for messages.
std::string trace_format_names();

/// What a row or a line looks like, where it is a known shape that no format here reads ("a Qwen
/// trace (chat_id)"); empty otherwise.
std::string_view foreign_shape(const JsonValue& row);
std::string_view foreign_text_shape(std::string_view line);

}  // namespace driftless
