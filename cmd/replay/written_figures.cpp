#include "cmd/replay/written_figures.hpp"

#include "cmd/run_folder.hpp"
#include "engine/history/past.hpp"

namespace driftless {

void read_written(const std::string& folder, SummaryFigures& figures,
                  std::optional<Unfinished>& unfinished) {
    RunFacts facts;
    if (!read_run(folder, facts).empty()) {
        return;
    }
    Past past(facts);
    std::string why;
    if (!read_past(folder, facts.records_path, past, why)) {
        return;
    }
    figures = past.summary().figures();
    figures.unrecorded = past.open().size();
    unfinished = Unfinished{facts.rows - past.records(), past.open().size()};
}

}  // namespace driftless
