#include "proto/export/csv.hpp"

namespace driftless {

void append_csv_field(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == text.npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        out.append(c == '"' ? 2 : 1, c);
    }
    out += '"';
}

}  // namespace driftless
