/// JsonRows: the rows of a file of JSON, from its lines to their format.
///
/// A line is an object or an array of objects; texts that go over several lines are gathered one by
/// one. Owned by a TraceReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/json/document.hpp"
#include "proto/json/texts.hpp"
#include "proto/trace/row_reader.hpp"

namespace driftless {

/// How the lines of a file are JSON.
enum class JsonForm : std::uint8_t {
    lines,     ///< an object each
    arrays,    ///< an array or an object each
    gathered,  ///< texts go over several lines
};

/// What to do with an array that is too long for a line or a text.
inline constexpr const char* array_remedy =
    "put one JSON object on each line; for an array use jq -c '.[]'";

class JsonRows {
  public:
    /// `rows` outlives this.
    explicit JsonRows(RowReader& rows) : rows_(rows) {}

    /// A file begins whose lines are such.
    void begin(JsonForm form);
    /// A line, without the blanks around it unless texts are gathered.
    Stop add_line(std::uint64_t number, std::string_view line);
    /// After the last line: a text that is still open has not been closed in its file.
    Stop end_file();

    bool gathers() const { return form_ == JsonForm::gathered; }

  private:
    Stop gather(std::uint64_t number, std::string_view line);
    Stop refuse_long_text();
    Stop read_text(std::uint64_t number, std::string_view text);
    Stop read_array(RowContext& here, const JsonValue& array);
    /// What the parser found in a text.
    enum class Parse : std::uint8_t { whole, broken, too_deep };
    Stop refuse_text(const RowContext& at_start, std::string_view text, Parse found);

    RowReader& rows_;
    JsonForm form_ = JsonForm::lines;
    JsonDocument document_{JsonArrays::packed};
    JsonTexts texts_;
    std::size_t text_at_ = 0;  ///< offset in its first line where the text at hand begins
};

}  // namespace driftless
