/// A comparison for people and programs: the screen, JSON, Markdown, JUnit, the page; and which of
/// the files were asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/runs/comparison.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// A comparison as text for a terminal: 92 columns at most, and 40 lines without `--where` and
// `--rows`. Pure.

/// What stands below the table.
struct ComparisonParts {
    bool where = false;             ///< by size, turn, hit and time
    std::uint64_t rows_listed = 0;  ///< the requests that changed most
};

std::string comparison_screen(const Comparison& comparison, const ComparisonParts& parts);

/// Lines for standard error: why the two are not the same work, and what to do.
std::string refusal_text(const Comparison& comparison);

/// What a comparison is made of and speaks for, a line each: label and sentence.
struct ComparisonNote {
    std::string label;
    std::string text;
};
std::vector<ComparisonNote> comparison_notes(const Comparison& comparison);

/// How many metrics are better and worse; or, where that may not be said, higher and lower.
std::string comparison_sentence(const GroupComparison& groups);

/// A metric's figures as people read them: name, unit, A, B, B / A, interval, n_eff, smallest, and
/// the word; or what these runs show, where nothing may be said of B.
std::vector<std::string> metric_cells(const MetricComparison& metric,
                                      const GroupComparison& groups);
/// The names of these cells.
std::vector<std::string> metric_titles(const GroupComparison& groups);

// A comparison as one JSON object; its schema is compare.schema.json. Pure.

/// With a newline at the end. Of a refused comparison: `same_work`, `differences`, the runs, and no
/// metrics.
std::string comparison_json(const Comparison& comparison);

/// An array of objects: value, by, groups.
void write_where(JsonWriter& json, const std::vector<ChangeView>& views, RowValue value);

// A comparison for a CI job: the summary page in Markdown, and test cases in JUnit's XML. Pure.

std::string comparison_markdown(const Comparison& comparison);

/// A case for the sameness of work, and one for each `--fail-if`: what is unsure is skipped, or has
/// failed where `unsure_fails`.
std::string comparison_junit(const Comparison& comparison, bool unsure_fails);

// A comparison as one offline page for a browser: both sides on one axis, where requests changed,
// the table. Pure; its script is page/two_sides.js, all else is the page of a run (page_shell).

/// Of a comparison that was not refused.
std::string comparison_page(const Comparison& comparison);

// The files that `compare` writes beside its screen: which were asked for, and writing them.

/// Paths as typed; empty: not asked for. "-" is standard output.
struct CompareExports {
    std::string json;
    std::string markdown;
    std::string junit;
    std::string html;  ///< a file, never "-"

    /// One of them goes to standard output, which then carries nothing else.
    bool take_stdout() const { return json == "-" || markdown == "-" || junit == "-"; }
};

/// `exit_done` if none of the files exists yet; otherwise prints which one does, and returns
/// `exit_usage`.
int check_exports(const CompareExports& exports);

/// Writes what was asked for; of a refused comparison all but the page. Returns the exit code; what
/// failed is printed.
int write_exports(const CompareExports& exports, const Comparison& comparison, bool unsure_fails);

}  // namespace driftless
