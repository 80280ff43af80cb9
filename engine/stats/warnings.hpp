/// Warnings: what a reader of the figures must know before he believes them, though no row failed.
/// Pure; each is one line for people, with the remedy.
#pragma once

#include <string>
#include <vector>

namespace driftless {

struct SummaryFigures;
struct RunDescription;

std::vector<std::string> warnings_of(const SummaryFigures& figures);
/// Adds what follows from how the run was asked for: one that adapts its load.
void add_warnings(SummaryFigures& figures, const RunDescription& run);

}  // namespace driftless
