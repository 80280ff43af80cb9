#include "cmd/report/junit.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/stats/verdict.hpp"
#include "proto/export/xml.hpp"

namespace driftless {

namespace {

enum class CaseEnd : std::uint8_t { passed, failed, skipped };

struct TestCase {
    std::string group;
    std::string name;
    CaseEnd end = CaseEnd::passed;
    std::string message;  ///< of a failure, or why it was skipped
    std::string details;  ///< what was found, whatever became of it
};

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

TestCase verdict_case(const SummaryInfo& info) {
    TestCase one{"verdict", "the run is trustworthy", CaseEnd::failed, info.verdict, ""};
    for (const std::string& reason : info.verdict_reasons) {
        one.details += (one.details.empty() ? "" : "; ") + reason;
    }
    if (info.unfinished) {
        one.message =
            fmt::format("{}, and {} rows have no record", info.verdict, info.unfinished->rows);
    } else if (info.verdict == name_of(Verdict::certified) ||
               info.verdict == name_of(Verdict::certified_with_exclusions)) {
        one.end = CaseEnd::passed;
    } else if (info.verdict == name_of(Verdict::uncalibrated)) {
        one.end = CaseEnd::skipped;
    }
    return one;
}

std::vector<TestCase> cases_of(const SummaryInfo& info) {
    std::vector<TestCase> cases{verdict_case(info)};
    for (const ThresholdFinding& one : info.thresholds) {
        const std::string found = value_text(one);
        cases.push_back({"fail-if", one.condition, one.fails ? CaseEnd::failed : CaseEnd::passed,
                         found, found});
    }
    return cases;
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

std::string junit_report(const ReportedRun& run) {
    const std::vector<TestCase> cases = cases_of(run.info);
    const std::string counts = fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"0\"",
                                           cases.size(), count(cases, CaseEnd::failed));
    const std::string skipped = fmt::format(" skipped=\"{}\"", count(cases, CaseEnd::skipped));
    const std::string time =
        fmt::format(" time=\"{:.3f}\"", static_cast<double>(run.figures.duration_ns) / 1e9);
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                       attribute("name", "driftless") + counts + time + ">\n  <testsuite" +
                       attribute("name", run.info.trace) + counts + skipped + time;
    if (const std::string at = timestamp(run.info.date); !at.empty()) {
        text += attribute("timestamp", at);
    }
    text += ">\n";
    for (const TestCase& one : cases) {
        text += case_text(one);
    }
    return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace driftless
