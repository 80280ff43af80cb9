/// A comparison as text for a terminal: 92 columns at most, and 40 lines without `--where` and
/// `--rows`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/compare/comparison.hpp"

namespace driftless {

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

}  // namespace driftless
