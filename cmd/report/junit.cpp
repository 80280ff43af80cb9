#include "cmd/report/junit.hpp"

#include <fmt/format.h>

#include <vector>

#include "cmd/report/test_cases.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

namespace {

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

}  // namespace

std::string junit_report(const ReportedRun& run) {
    return junit_text(run.info.trace, cases_of(run.info), run.figures.duration_ns, run.info.date);
}

}  // namespace driftless
