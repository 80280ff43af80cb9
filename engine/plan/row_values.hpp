/// RowValues: what the placeholders of templates stand for in a row (`{session}`, `{kept.NAME}`),
/// for headers, models and bodies alike. What is decided in the run, a pass and a user, is a mark
/// in the text, in whose place a number is put when the row is armed.
///
/// Used before time 0. The trace outlives it; it never touches a file, a clock or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http/field_template.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class RowValues {
  public:
    explicit RowValues(const Trace& trace);

    /// The row that is asked about from now on.
    void set(const TraceRow& row);

    /// The value as text; columns as the trace writes them, strings without their quotes. Nothing:
    /// the row has none. Of a pass or a user its mark.
    std::optional<std::string> text_of(const TemplatePiece& piece) const;
    /// All pieces together; nothing where the row lacks one.
    std::optional<std::string> text_of(const FieldTemplate& field) const;
    /// The same as JSON: a placeholder alone has the type of its value, all else is a string.
    std::optional<std::string> json_of(const FieldTemplate& field) const;

  private:
    std::optional<std::string> name_of(std::uint32_t session) const;
    JsonValue column(const TemplatePiece& piece) const { return kept_.find(piece.text); }

    const Trace& trace_;
    const std::vector<std::uint32_t> roots_;    ///< [sessions]
    const std::vector<std::uint32_t> parents_;  ///< [sessions]
    const TraceRow* row_ = nullptr;
    JsonDocument document_;
    JsonValue kept_;
};

// Bytes in the place of numbers. No header has such a byte, and no JSON.
inline constexpr char pass_mark = '\x01';
inline constexpr char user_mark = '\x02';

std::size_t count_marks(std::string_view text);
/// Upper bound of a marked text's bytes with its numbers.
std::size_t marked_bytes_max(std::string_view text);
/// Marks in JSON that is still to be parsed, where they are written as text, become bytes.
std::string with_marks(std::string json);
/// Copies the text with the numbers in it; returns what is behind it. Takes no memory.
char* write_marked(std::string_view text, std::uint32_t pass, std::uint32_t user, char* out);

}  // namespace driftless
