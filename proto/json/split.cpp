#include "proto/json/split.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

/// Offset behind the closing quote of the string that begins at `at`; npos where it stays open.
std::size_t behind_string(std::string_view line, std::size_t at) {
    for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
            return at + 1;
        }
        at += line[at] == '\\' ? 1 : 0;
    }
    return line.npos;
}

}  // namespace

JsonTexts::Found JsonTexts::take(std::uint64_t number, std::string_view& line) {
    if (text_.empty()) {
        line.remove_prefix(std::min(line.find_first_not_of(white_space), line.size()));
        line_ = number;
    }
    const std::size_t end = find_end(line);
    const std::string_view part = line.substr(0, end);
    if (text_.size() + part.size() >= bytes_max) {
        return Found::too_long;
    }
    text_ += part;
    line.remove_prefix(part.size());
    if (end == line.npos) {
        text_ += text_.empty() ? "" : "\n";
        return Found::part;
    }
    return Found::whole;
}

void JsonTexts::clear() {
    text_.clear();
    depth_ = 0;
}

/// Offset just behind the bracket that closes the text; npos where the line does not hold it.
std::size_t JsonTexts::find_end(std::string_view line) {
    std::size_t at = line.find_first_of("\"{}[]");
    while (at != line.npos) {  // each turn goes behind a bracket or a string
        const char c = line[at];
        if (c == '"') {
            at = behind_string(line, at);
            if (at == line.npos) {
                return line.size();
            }
        } else if (c == '{' || c == '[') {
            ++depth_;
            ++at;
        } else {
            ++at;
            depth_ -= depth_ > 0 ? 1 : 0;
            if (depth_ == 0) {
                return at;
            }
        }
        at = line.find_first_of("\"{}[]", at);
    }
    return line.npos;
}

void JsonElements::feed(std::string_view piece) {
    CHECK(piece_.empty());
    piece_ = piece;
}

/// Whether a byte of an element is its end: a comma or a bracket that is not of the element.
bool JsonElements::ends_here(char byte) {
    if (in_string_) {
        in_string_ = escaped_ || byte != '"';
        escaped_ = !escaped_ && byte == '\\';
        return false;
    }
    switch (byte) {
        case '"':
            in_string_ = true;
            return false;
        case '[':
        case '{':
            ++depth_;
            return false;
        case ']':
        case '}':
            if (depth_ == 0) {
                return byte == ']';
            }
            --depth_;
            return false;
        default:
            return byte == ',' && depth_ == 0;
    }
}

/// Moves over what stands in front of the array, or behind it.
void JsonElements::skip_outside() {
    piece_.remove_prefix(std::min(piece_.find_first_not_of(white_space), piece_.size()));
    if (piece_.empty()) {
        return;
    }
    const bool opens = state_ == State::before && piece_.front() == '[';
    state_ = opens ? State::inside : State::wrong;
    piece_.remove_prefix(opens ? 1 : piece_.size());
}

std::optional<std::string_view> JsonElements::next() {
    if (carry_given_) {
        carry_.clear();
        carry_given_ = false;
    }
    if (state_ == State::before || state_ == State::behind) {
        skip_outside();
    }
    if (state_ != State::inside) {
        piece_ = {};
        return std::nullopt;
    }
    std::size_t end = 0;
    while (end < piece_.size() && !ends_here(piece_[end])) {
        ++end;
    }
    if (carry_.size() + end > json_element_bytes_max) {
        state_ = State::too_long;
        piece_ = {};
        return std::nullopt;
    }
    const std::string_view text = piece_.substr(0, end);
    const bool ended = end < piece_.size();
    const bool last = ended && piece_[end] == ']';
    piece_.remove_prefix(ended ? end + 1 : end);
    if (ended && carry_.empty()) {
        return give(text, last);
    }
    carry_ += text;
    carry_given_ = ended;
    return ended ? give(carry_, last) : std::nullopt;
}

std::optional<std::string_view> JsonElements::give(std::string_view text, bool last) {
    state_ = last ? State::behind : State::inside;
    text = trim(text, white_space);
    if (last && number_ == 0 && text.empty()) {
        return next();  // an array of nothing: what is left stands behind it
    }
    ++number_;
    return text;
}

}  // namespace driftless
