#include "engine/input/lines.hpp"

#include "proto/core/check.hpp"

namespace driftless {

void LineSplitter::feed(std::string_view piece) {
    CHECK(piece_.empty() && !finished_);
    piece_ = piece;
}

std::optional<std::string_view> LineSplitter::next() {
    if (carry_given_) {
        carry_.clear();
        carry_given_ = false;
    }
    const std::size_t end = piece_.find('\n');
    const std::string_view line = piece_.substr(0, end);
    too_long_ = too_long_ || carry_.size() + line.size() > line_bytes_max;
    if (too_long_) {
        return std::nullopt;
    }
    if (end != std::string_view::npos) {
        piece_.remove_prefix(end + 1);
        if (carry_.empty()) {
            return give(line);
        }
        carry_ += line;
        carry_given_ = true;
        return give(carry_);
    }
    carry_ += line;
    piece_ = {};
    if (finished_ && !carry_.empty()) {
        carry_given_ = true;
        return give(carry_);
    }
    return std::nullopt;
}

std::optional<std::string_view> LineSplitter::give(std::string_view line) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    ++number_;
    if (number_ == 1 && line.starts_with(byte_order_mark)) {
        line.remove_prefix(byte_order_mark.size());
    }
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

}  // namespace driftless
