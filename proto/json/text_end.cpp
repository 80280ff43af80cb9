#include "proto/json/text_end.hpp"

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

std::size_t JsonTextEnd::find(std::string_view line) {
    std::size_t at = line.find_first_of("\"{}[]");
    while (at != line.npos) {  // each turn goes behind a bracket or a string
        const char c = line[at];
        if (c == '"') {
            at = behind_string(line, at);
            if (at == line.npos) {
                depth_ = 0;
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
