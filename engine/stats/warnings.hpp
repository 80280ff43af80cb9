/// Warnings: what a reader of the figures must know before he believes them, though no row failed.
/// Pure; each is one line for people, with the remedy.
#pragma once

#include <string>
#include <vector>

namespace driftless {

struct SummaryFigures;
struct SummaryInfo;

/// What follows from the figures, from what was seen of the cache before the first row, and from
/// how the run was asked for.
std::vector<std::string> warnings_of(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
