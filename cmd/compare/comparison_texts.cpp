#include "cmd/compare/comparison_texts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cmd/compare/screen.hpp"
#include "cmd/report/test_cases.hpp"
#include "engine/views/view_text.hpp"
#include "proto/export/markdown.hpp"

namespace driftless {

namespace {

std::string escaped(std::string_view text) {
    std::string out;
    append_markdown_text(out, text);
    return out;
}

std::string table_row(const std::vector<std::string>& texts) {
    std::string line = "|";
    for (const std::string& text : texts) {
        line += " " + escaped(text) + " |";
    }
    return line + "\n";
}

std::string where_text(const Comparison& comparison) {
    std::string text;
    const auto ratio = [](double value) {
        return std::isnan(value) ? std::string("-") : fixed(value, 3);
    };
    for (const ChangeView& view : comparison.where) {
        text +=
            fmt::format("\n### {} by {}\n\n", escaped(name_of(comparison.value)), escaped(view.by));
        text +=
            "| | requests | B / A, median | interval | these runs |\n|---|---:|---:|---:|---|\n";
        for (const ChangeGroup& one : view.groups) {
            text += table_row({one.name, with_commas(static_cast<double>(one.rows), 0),
                               ratio(one.ratio), ratio(one.low) + " to " + ratio(one.high),
                               name_of(one.in_these_runs)});
        }
    }
    return text;
}

TestCase work_case(const Comparison& comparison) {
    TestCase one{"compare", "both played the same work", CaseEnd::passed, "", ""};
    for (const WorkDifference& difference : comparison.differences) {
        one.details += (one.details.empty() ? "" : "; ") + text_of(difference);
        if (difference.weight != Weight::told && one.end == CaseEnd::passed) {
            one.end = CaseEnd::failed;
            one.message = difference.what + " differs";
        }
    }
    return one;
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
    if (comparison.groups.metrics.empty()) {
        return "## driftless compare: not the same work\n\n```\n" + refusal_text(comparison) +
               "```\n";
    }
    std::string text = "## driftless compare: " + comparison_sentence(comparison.groups) +
                       "\n\n| | |\n|---|---|\n";
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        text += table_row({one.label, one.text});
    }
    std::vector<std::string> titles = metric_titles(comparison.groups);
    text += "\n" + table_row(titles) + "|---|---|---:|---:|---:|---:|---:|---:|---|\n";
    for (const MetricComparison& one : comparison.groups.metrics) {
        text += table_row(metric_cells(one, comparison.groups));
    }
    if (!comparison.thresholds.empty()) {
        text += "\n| | fails if | found |\n|---|---|---|\n";
        for (const JudgedThreshold& one : comparison.thresholds) {
            text += table_row({name_of(one.judged), one.threshold.text, found_text(one)});
        }
    }
    return text + where_text(comparison);
}

std::string comparison_junit(const Comparison& comparison, bool unsure_fails) {
    std::vector<TestCase> cases{work_case(comparison)};
    for (const JudgedThreshold& one : comparison.thresholds) {
        const bool unsure = one.judged == Judged::unsure;
        const bool fails = one.judged == Judged::fails || (unsure && unsure_fails);
        const std::string found = std::string(name_of(one.judged)) + ": " + found_text(one);
        cases.push_back({"fail-if", one.threshold.text,
                         fails    ? CaseEnd::failed
                         : unsure ? CaseEnd::skipped
                                  : CaseEnd::passed,
                         found, found});
    }
    const PlayedRun& run = comparison.b.front();
    return junit_text(run.facts.info.trace, cases, run.compared.duration_ns, run.facts.info.date);
}

}  // namespace driftless
