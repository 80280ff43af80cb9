#include "cmd/replay/run/written_figures.hpp"

#include "cmd/run_folder.hpp"
#include "engine/history/past.hpp"
#include "engine/history/unrecorded.hpp"

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
    const Unrecorded lost = unrecorded_rows(facts, past, figures.fired);
    figures = past.summary().figures();
    figures.unrecorded = lost.rows;
    unfinished = Unfinished{facts.rows - past.records(), lost.rows};
}

}  // namespace driftless
