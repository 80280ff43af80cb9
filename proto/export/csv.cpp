#include "proto/export/csv.hpp"

#include <charconv>

namespace driftless {

namespace {

bool is_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// A spreadsheet would compute it instead of showing it. The last four are the full-width forms,
/// which some of them take, too.
bool is_formula(std::string_view text) {
    for (const char* begin :
         {"=", "+", "-", "@", "\t", "\r", "\n", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"}) {
        if (text.starts_with(begin)) {
            return !is_number(text);
        }
    }
    return false;
}

}  // namespace

void append_csv_field(std::string& out, std::string_view text) {
    const std::string_view guard = is_formula(text) ? "'" : "";
    if (text.find_first_of(",\"\r\n") == text.npos) {
        out += guard;
        out += text;
        return;
    }
    out += '"';
    out += guard;
    for (const char c : text) {
        out.append(c == '"' ? 2 : 1, c);
    }
    out += '"';
}

}  // namespace driftless
