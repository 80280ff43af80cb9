/// A run as `report` has read it: what every export is made of. Values and references to them.
#pragma once

#include <string>

#include "engine/history/run_facts.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

struct ReportedRun {
    const std::string& folder;
    const RunFacts& facts;
    const SummaryFigures& figures;
    const SummaryInfo& info;  ///< with the verdict and the thresholds
    std::string summary;      ///< the text of summary.json

    std::string records_path() const {
        return facts.records_path.empty() ? folder + "/requests.jsonl" : facts.records_path;
    }
    std::string periods_path() const { return folder + "/periods.jsonl"; }
    std::string events_path() const { return folder + "/events.jsonl"; }
};

}  // namespace driftless
