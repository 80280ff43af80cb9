#include "proto/json/elements.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/text.hpp"

namespace driftless {

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
