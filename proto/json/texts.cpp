#include "proto/json/texts.hpp"

#include <algorithm>

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

}  // namespace driftless
