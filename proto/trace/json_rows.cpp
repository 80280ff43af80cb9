#include "proto/trace/json_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/core/text.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {

void JsonRows::begin(JsonForm form) {
    form_ = form;
    texts_.clear();  // of a file that was given up
}

Stop JsonRows::add_line(std::uint64_t number, std::string_view line) {
    return gathers() ? gather(number, line) : read_text(number, line);
}

Stop JsonRows::end_file() {
    const bool open = gathers() && !texts_.text().empty();
    const Stop stop = open ? read_text(texts_.line(), texts_.text()) : Stop::none;
    texts_.clear();
    return stop;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
Stop JsonRows::gather(std::uint64_t number, std::string_view line) {
    Stop stop = Stop::none;
    const std::size_t line_bytes = line.size();
    while (stop == Stop::none) {  // each turn takes a text off, or the line's end
        if (texts_.text().empty()) {
            text_at_ = line_bytes - line.size() +
                       std::min(line.find_first_not_of(white_space), line.size());
        }
        const JsonTexts::Found found = texts_.take(number, line);
        if (found == JsonTexts::Found::part) {
            return Stop::none;
        }
        stop = found == JsonTexts::Found::too_long ? refuse_long_text()
                                                   : read_text(texts_.line(), texts_.text());
        texts_.clear();
    }
    return stop;
}

Stop JsonRows::refuse_long_text() {
    const ForeignShape shape = foreign_long_shape(texts_.text());
    rows_.context(texts_.line())
        .refuse("", "",
                shape.what.empty() ? "is one JSON text of more than 64 MiB"
                                   : "looks like " + std::string(shape.what),
                shape.what.empty() ? array_remedy : std::string(shape.remedy));
    return Stop::file;
}

/// One row or one conversation, or an array of them.
Stop JsonRows::read_text(std::uint64_t number, std::string_view text) {
    RowContext here = rows_.context(number);
    const Result<JsonValue> json = document_.parse(text);
    if (json && json.value().is(JsonType::object)) {
        return rows_.read(here, json.value());
    }
    if (json && json.value().is(JsonType::array) && form_ != JsonForm::lines) {
        return read_array(here, json.value());
    }
    return refuse_text(here, text,
                       json                                        ? Parse::whole
                       : json.error().code == ErrorCode::too_large ? Parse::too_deep
                                                                   : Parse::broken);
}

Stop JsonRows::read_array(RowContext& here, const JsonValue& array) {
    Stop stop = Stop::none;
    std::uint64_t number = 0;
    for (JsonValue row = array.first(); row.present() && stop == Stop::none; row = row.next()) {
        here.place = "[" + std::to_string(number++) + "]";
        if (row.is(JsonType::object)) {
            stop = rows_.read(here, row);
        } else {
            here.refuse("", row.raw(), "is not a JSON object", "correct or remove it");
        }
    }
    return stop;
}

namespace {

/// So much of a line as an error quotes, with what stands around that place.
std::string_view piece_around(std::string_view line, std::size_t at) {
    constexpr std::size_t before_max = value_bytes_max / 2;
    if (line.size() <= value_bytes_max || at <= before_max) {
        return line;
    }
    std::size_t begin = std::min(at - before_max, line.size() - value_bytes_max);
    const auto continues = [&line](std::size_t byte) {
        return (static_cast<unsigned char>(line[byte]) & 0xC0U) == 0x80U;  // of a code point
    };
    for (unsigned moved = 0; moved < 3 && continues(begin); ++moved) {
        ++begin;
    }
    return line.substr(begin);
}

}  // namespace

/// Names the line of the text in which the parser stopped, and shows what stands there.
Stop JsonRows::refuse_text(const RowContext& at_start, std::string_view text, Parse found) {
    const bool rows = text.front() == '{' || (text.front() == '[' && form_ != JsonForm::lines);
    const bool not_finite = text.find("NaN") != std::string_view::npos ||
                            text.find("Infinity") != std::string_view::npos;
    RowContext here = at_start;
    std::string problem = "is not a JSON object";
    std::string_view shown = text;
    const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
    bool nul = false;
    const bool ends_early = found == Parse::broken && document_.error_offset() >= end;
    if (found != Parse::whole && (rows || gathers() || text.front() == '\0')) {
        const std::size_t offset = std::min(document_.error_offset(), end);
        const std::string_view before = text.substr(0, offset);
        const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
        here.line += static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
        shown = piece_around(text.substr(begin, text.find('\n', begin) - begin), offset - begin);
        const std::size_t line_at = gathers() && begin == 0 ? text_at_ : 0;
        nul = found == Parse::broken && offset < text.size() && text[offset] == '\0';
        problem = (found == Parse::too_deep ? "is nested too deeply, at byte "
                   : nul                    ? "has a NUL byte, at byte "
                   : ends_early             ? "ends too early, at byte "
                                            : "is not JSON, at byte ") +
                  std::to_string(line_at + offset - begin + 1);
    }
    const ForeignShape cr_lines = foreign_line_ends(text);
    const bool cr_only = !cr_lines.what.empty();
    const bool comma = text.front() == ',';
    const bool one_line = !gathers();
    here.refuse("", shown, std::move(problem),
                nul ? "remove it: tr -d '\\0' < FILE > NEW_FILE; or write or fetch the file again"
                : cr_only ? std::string(cr_lines.remedy)
                : found == Parse::too_deep
                    ? "at most " + std::to_string(json_depth_max) + " levels are supported"
                : not_finite ? "JSON has no NaN and no Infinity; remove such rows"
                : one_line && rows && text.front() == '['
                    ? "correct it: the line is an array of rows"
                : one_line ? "correct or remove the line"
                : comma ? "remove the comma, or put [ before the first object and ] after the last"
                : ends_early ? "it may have been cut off: write or fetch it again"
                             : "correct it: JSON texts span several lines here");
    // Where a broken text ends is not known.
    return one_line ? Stop::none : Stop::file;
}

}  // namespace driftless
