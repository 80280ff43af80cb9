#include "cmd/report/text_formats.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>

#include "proto/json/utf8.hpp"

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

void append_script_json(std::string& out, std::string_view json) {
    for (std::size_t from = 0; from <= json.size();) {
        const std::size_t at = json.find('<', from);
        out += json.substr(from, at - from);
        if (at == json.npos) {
            return;
        }
        out += "\\u003c";
        from = at + 1;
    }
}

void append_base64_of(std::string& out, std::span<const std::uint8_t> bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const unsigned group = (unsigned{bytes[i]} << 16) |
                               (left > 1 ? unsigned{bytes[i + 1]} << 8 : 0U) |
                               (left > 2 ? unsigned{bytes[i + 2]} : 0U);
        out += digits[group >> 18];
        out += digits[(group >> 12) & 63];
        out += left > 1 ? digits[(group >> 6) & 63] : '=';
        out += left > 2 ? digits[group & 63] : '=';
    }
}

void append_markdown_text(std::string& out, std::string_view text) {
    constexpr std::string_view marks = "\\`*_{}[]<>#|~&@!$";
    for (const char c : printable(text)) {
        if (marks.find(c) != marks.npos) {
            out += '\\';
        }
        out += c;
    }
}

std::string markdown_text(std::string_view text) {
    std::string out;
    append_markdown_text(out, text);
    return out;
}

namespace {

std::string attribute(std::string_view name, std::string_view value) {
    std::string text = fmt::format(" {}=\"", name);
    append_xml_text(text, value);
    return text + '"';
}

std::string element(std::string_view name, std::string_view text) {
    std::string out = fmt::format("      <{}>", name);
    append_xml_text(out, text);
    return out + fmt::format("</{}>\n", name);
}

std::size_t count(const std::vector<TestCase>& cases, CaseEnd end) {
    std::size_t found = 0;
    for (const TestCase& one : cases) {
        found += one.end == end ? 1 : 0;
    }
    return found;
}

std::string case_text(const TestCase& one) {
    std::string text = "    <testcase" + attribute("classname", "driftless." + one.group) +
                       attribute("name", one.name) + ">\n";
    if (one.end == CaseEnd::failed) {
        text += "      <failure" + attribute("message", one.message) +
                attribute("type", one.group) + "/>\n";
    } else if (one.end == CaseEnd::skipped) {
        text += "      <skipped" + attribute("message", one.message) + "/>\n";
    }
    return text + element("system-out", one.details) + "    </testcase>\n";
}

/// "20261121-034512" as ISO 8601 has it.
std::string timestamp(const std::string& date) {
    if (date.size() != std::string_view("20261121-034512").size()) {
        return "";
    }
    return date.substr(0, 4) + "-" + date.substr(4, 2) + "-" + date.substr(6, 2) + "T" +
           date.substr(9, 2) + ":" + date.substr(11, 2) + ":" + date.substr(13, 2) + "Z";
}

}  // namespace

std::string junit_text(std::string_view suite, const std::vector<TestCase>& cases,
                       std::int64_t duration_ns, const std::string& date) {
    const std::string counts = fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"0\"",
                                           cases.size(), count(cases, CaseEnd::failed));
    const std::string skipped = fmt::format(" skipped=\"{}\"", count(cases, CaseEnd::skipped));
    const std::string time =
        fmt::format(" time=\"{:.3f}\"", static_cast<double>(duration_ns) / 1e9);
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                       attribute("name", "driftless") + counts + time + ">\n  <testsuite" +
                       attribute("name", suite) + counts + skipped + time;
    if (const std::string at = timestamp(date); !at.empty()) {
        text += attribute("timestamp", at);
    }
    text += ">\n";
    for (const TestCase& one : cases) {
        text += case_text(one);
    }
    return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace driftless
