#include "proto/export/markdown.hpp"

#include "proto/json/printable.hpp"

namespace driftless {

void append_markdown_text(std::string& out, std::string_view text) {
    constexpr std::string_view marks = "\\`*_{}[]<>#|~&@!$";
    for (const char c : printable(text)) {
        if (marks.find(c) != marks.npos) {
            out += '\\';
        }
        out += c;
    }
}

}  // namespace driftless
