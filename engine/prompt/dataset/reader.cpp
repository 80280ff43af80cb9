#include "engine/prompt/dataset/reader.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/text.hpp"
#include "proto/json/texts.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr const char* shapes =
    "give a JSON array of conversations (ShareGPT), or JSON lines with a text column";

}  // namespace

Result<void> DatasetReader::begin(std::string_view piece) {
    CHECK(shape_ == Shape::unknown && !piece.empty());
    shape_ = piece.front() == '[' ? Shape::array : Shape::lines;
    if (piece.front() == '[' || piece.front() == '{' || piece.front() == '"') {
        return {};
    }
    return refuse(ErrorCode::invalid, std::string("is not a dataset; ") + shapes);
}

Result<void> DatasetReader::read(std::string_view piece, std::vector<std::string>& texts) {
    while (shape_ == Shape::unknown && !piece.empty()) {
        const char byte = piece.front();
        if (mark_bytes_ < byte_order_mark.size() && byte == byte_order_mark[mark_bytes_]) {
            ++mark_bytes_;
        } else if (white_space.find(byte) != white_space.npos) {
            lines_before_ += byte == '\n' ? 1 : 0;
        } else if (const Result<void> begun = begin(piece); !begun) {
            return begun;
        } else {
            break;
        }
        piece.remove_prefix(1);
    }
    if (shape_ == Shape::array) {
        return read_array(piece, texts);
    }
    lines_.feed(piece);
    return read_lines(texts);
}

Result<void> DatasetReader::read_array(std::string_view piece, std::vector<std::string>& texts) {
    CHECK(shape_ == Shape::array);
    elements_.feed(piece);
    while (const auto element = elements_.next()) {
        const std::string row = "element " + std::to_string(elements_.number()) + " ";
        if (const Result<void> good = read_row(*element, row, texts); !good) {
            return good;
        }
    }
    const std::string number = std::to_string(elements_.number() + 1);
    switch (elements_.state()) {
        case JsonElements::State::too_long:
            return refuse(ErrorCode::too_large, "element " + number + " is longer than 64 MiB");
        case JsonElements::State::wrong:
            return refuse(ErrorCode::bad_json,
                          "continues after its array; give one JSON array, or JSON lines");
        default:
            return {};
    }
}

Result<void> DatasetReader::read_lines(std::vector<std::string>& texts) {
    while (const auto line = lines_.next()) {
        const std::string row = "line " + std::to_string(lines_before_ + lines_.number()) + " ";
        const bool is_blank = line->find_first_not_of(white_space) == line->npos;
        if (const Result<void> good = is_blank ? Result<void>{} : read_row(*line, row, texts);
            !good) {
            return good;
        }
    }
    if (lines_.too_long()) {
        return refuse(ErrorCode::too_large,
                      "line " + std::to_string(lines_before_ + lines_.number() + 1) +
                          " is longer than 64 MiB; " + shapes);
    }
    return {};
}

Result<void> DatasetReader::read_row(std::string_view text, const std::string& row,
                                     std::vector<std::string>& texts) {
    const Result<JsonValue> value = document_.parse(text);
    if (!value && utf8_valid_prefix(text) < text.size()) {
        return refuse(ErrorCode::bad_json,
                      row + "is not UTF-8; convert the file, for instance with iconv");
    }
    if (!value) {
        const bool goes_on =
            shape_ == Shape::lines && JsonTexts().take(1, text) == JsonTexts::Found::part;
        return refuse(ErrorCode::bad_json,
                      row + (goes_on ? "ends inside its JSON text; put one text on each line (jq "
                                       "-c . FILE > NEW_FILE), or fetch the whole file"
                                     : "is not JSON (its byte " +
                                           std::to_string(document_.error_offset() + 1) +
                                           "); fetch the file again, or repair it"));
    }
    row_texts_.clear();
    std::string why;
    if (!rows_.read(value.value(), row_texts_, why)) {
        return refuse(ErrorCode::invalid, row + why);
    }
    texts.insert(texts.end(), row_texts_.begin(), row_texts_.end());
    return {};
}

Result<void> DatasetReader::finish(std::vector<std::string>& texts) {
    switch (shape_) {
        case Shape::unknown:
            return refuse(ErrorCode::invalid, std::string("is empty; ") + shapes);
        case Shape::lines:
            lines_.finish();
            return read_lines(texts);
        case Shape::array:
            break;
    }
    if (elements_.state() == JsonElements::State::behind) {
        return {};
    }
    return refuse(ErrorCode::truncated, "ends inside its array, in element " +
                                            std::to_string(elements_.number() + 1) +
                                            "; fetch the whole file");
}

}  // namespace driftless
