#include "proto/http/fields.hpp"

#include <algorithm>

namespace driftless {

namespace {
char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : byte;
}
}  // namespace

std::string_view trim_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view header_value(std::string_view head, std::string_view name) {
    while (!head.empty()) {
        std::string_view line = head.substr(0, head.find('\n'));
        head.remove_prefix(std::min(line.size() + 1, head.size()));
        line.remove_suffix(line.ends_with('\r') ? 1 : 0);
        if (line.size() > name.size() && line[name.size()] == ':' &&
            equal_ignoring_case(line.substr(0, name.size()), name)) {
            return trim_blanks(line.substr(name.size() + 1));
        }
    }
    return {};
}

}  // namespace driftless
