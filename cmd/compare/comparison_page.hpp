/// A comparison as one offline page for a browser: both sides on one axis, where requests changed,
/// the table. Pure; its script is page/two_sides.js, all else is the page of a run (page_shell).
#pragma once

#include <string>

#include "cmd/compare/comparison.hpp"

namespace driftless {

/// Of a comparison that was not refused.
std::string comparison_page(const Comparison& comparison);

}  // namespace driftless
