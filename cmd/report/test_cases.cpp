#include "cmd/report/test_cases.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "proto/export/xml.hpp"

namespace driftless {

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
