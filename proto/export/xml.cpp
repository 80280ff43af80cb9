#include "proto/export/xml.hpp"

#include "proto/json/printable.hpp"

namespace driftless {

bool begins_noncharacter(std::string_view text) {
    return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

void append_xml_text(std::string& out, std::string_view text) {
    const std::string shown = printable(text);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (begins_noncharacter(std::string_view(shown).substr(i))) {
            out += "\xEF\xBF\xBD";
            i += 2;
            continue;
        }
        switch (shown[i]) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += shown[i];
        }
    }
}

}  // namespace driftless
