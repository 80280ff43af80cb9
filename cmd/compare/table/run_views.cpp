#include "cmd/compare/table/run_views.hpp"

#include <cmath>

#include "cmd/report/reported_run.hpp"
#include "cmd/report/viewed_run.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

namespace {

/// What a view needs of the sums: the summary has them, so that the records are read once.
SummaryFigures figures_in(JsonValue summary) {
    const auto tokens = [](JsonValue value) { return value.as_u64().value_or(0); };
    SummaryFigures figures;
    figures.duration_ns =
        std::llround(summary.find("duration").as_double().value_or(0) * 1'000'000'000);
    figures.input_tokens = tokens(summary.find("total_input_tokens"));
    figures.expected_cached_tokens = tokens(summary.find("cache").find("expected_cached_tokens"));
    return figures;
}

}  // namespace

std::string view_run(const TableRun& run, ViewedRun& out) {
    RunFacts facts;
    if (std::string why = read_run(run.folder, facts); !why.empty()) {
        return why;
    }
    const SummaryFigures figures = figures_in(run.summary->root());
    const ReportedRun reported{run.folder, facts, figures, facts.info, ""};
    return read_viewed_run(reported, out);
}

}  // namespace driftless
