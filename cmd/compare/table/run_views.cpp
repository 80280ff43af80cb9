#include "cmd/compare/table/run_views.hpp"

#include <cmath>

#include "cmd/report/record_pass.hpp"
#include "cmd/report/reported_run.hpp"
#include "cmd/report/viewed_run.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

namespace {

/// What a view needs of the sums: the summary has them, so that the records are read once.
SummaryFigures figures_in(JsonValue summary) {
    SummaryFigures figures;
    figures.duration_ns =
        std::llround(summary.find("duration").as_double().value_or(0) * 1'000'000'000);
    return figures;
}

/// Gives what `use` makes of the run as the readers of reports want it. Returns why the run cannot
/// be read, or what `use` returns.
template <typename Use>
std::string with_reported(const TableRun& run, Use use) {
    RunFacts facts;
    if (std::string why = read_run(run.folder, facts); !why.empty()) {
        return why;
    }
    const SummaryFigures figures = figures_in(run.summary->root());
    return use(ReportedRun{run.folder, facts, figures, facts.info, ""});
}

std::string read_one(TableRun& run) {
    constexpr double ns_per_ms = 1e6;
    Sample sample;
    std::string why = with_reported(run, [&sample](const ReportedRun& reported) {
        return each_record(reported, [&sample](const Record& record) {
            const bool counts = record.phase == Phase::profile && record.outcome == Outcome::ok &&
                                record.e2e_ns && counts_output(record) && *record.output_tokens > 0;
            if (counts) {
                sample.add(static_cast<double>(*record.e2e_ns) / ns_per_ms /
                           static_cast<double>(*record.output_tokens));
            }
        });
    });
    run.e2e_per_token = sample.distribution();
    return why;
}

}  // namespace

std::string view_run(const TableRun& run, ViewedRun& out) {
    return with_reported(
        run, [&out](const ReportedRun& reported) { return read_viewed_run(reported, out); });
}

std::string read_e2e_per_token(std::vector<TableRun>& runs) {
    for (TableRun& run : runs) {
        if (run.counts()) {
            if (std::string why = read_one(run); !why.empty()) {
                return why;
            }
        }
    }
    return "";
}

}  // namespace driftless
