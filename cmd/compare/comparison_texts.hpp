/// A comparison for a CI job: the summary page in Markdown, and test cases in JUnit's XML. Pure.
#pragma once

#include <string>

#include "cmd/compare/comparison.hpp"

namespace driftless {

std::string comparison_markdown(const Comparison& comparison);

/// A case for the sameness of work, and one for each `--fail-if`: what is unsure is skipped, or has
/// failed where `unsure_fails`.
std::string comparison_junit(const Comparison& comparison, bool unsure_fails);

}  // namespace driftless
