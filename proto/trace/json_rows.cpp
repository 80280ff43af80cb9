#include "proto/trace/json_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

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
    while (stop == Stop::none) {  // each turn takes a text off, or the line's end
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
    return refuse_text(here, text);
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

/// Names the line of the text in which the parser stopped.
Stop JsonRows::refuse_text(const RowContext& at_start, std::string_view text) {
    const bool object = text.front() == '{';
    const bool not_finite = text.find("NaN") != std::string_view::npos ||
                            text.find("Infinity") != std::string_view::npos;
    RowContext here = at_start;
    std::string problem = "is not a JSON object";
    std::string_view shown = text;
    if (object || gathers()) {
        const std::size_t offset = std::min(document_.error_offset(), text.size());
        const std::string_view before = text.substr(0, offset);
        const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
        here.line += static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
        shown = text.substr(begin, text.find('\n', begin) - begin);
        problem = "is not JSON, at byte " + std::to_string(offset - begin + 1);
    }
    const ForeignShape cr_lines = foreign_line_ends(text);
    const bool cr_only = !cr_lines.what.empty();
    const bool comma = text.front() == ',';
    const bool one_line = !gathers();
    here.refuse("", shown, std::move(problem),
                cr_only      ? std::string(cr_lines.remedy)
                : not_finite ? "JSON has no NaN and no Infinity: leave such rows out"
                : one_line   ? "correct or remove the line"
                : comma ? "remove the comma; or put [ before the first object and ] behind the last"
                        : "correct it: JSON texts go over several lines here");
    // Where a broken text ends is not known.
    return one_line ? Stop::none : Stop::file;
}

}  // namespace driftless
