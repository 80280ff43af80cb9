/// A run rebuilt from its files: for `report`, which prints it, and for `merge`, which writes what
/// it has put together. Only reads; prints on standard error what it had to leave out of the
/// servers' metrics.
#pragma once

#include <string>
#include <vector>

#include "engine/history/past.hpp"
#include "engine/history/unrecorded.hpp"
#include "engine/stats/summary.hpp"
#include "engine/stats/thresholds.hpp"

namespace driftless {

/// `info` refers to `past`: it stays where it is.
struct RebuiltRun {
    explicit RebuiltRun(RunFacts of) : facts(std::move(of)), past(facts) {}
    RebuiltRun(const RebuiltRun&) = delete;
    RebuiltRun& operator=(const RebuiltRun&) = delete;

    RunFacts facts;
    Past past;
    PastFiles files;
    bool live = false;  ///< another process writes it now
    Unrecorded lost;    ///< what left and has no record
    SummaryFigures figures;
    Judgement judged;  ///< by its calibration, or by those of its shards
    SummaryInfo info;  ///< with verdict, rules and thresholds
};

/// Reads the files in `folder`, whose run.json gave the facts. `fail_if` replaces the run's own
/// thresholds unless it is empty. Returns the exit code, and in `why` what cannot be read.
int rebuild(const std::string& folder, const std::vector<Threshold>& fail_if, RebuiltRun& run,
            std::string& why);

}  // namespace driftless
