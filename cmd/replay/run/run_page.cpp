#include "cmd/replay/run/run_page.hpp"

#include <cstdio>

#include "cmd/report/page.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

/// Why it could not be written, or empty.
std::string try_page(const std::string& folder, const SummaryFigures& figures,
                     const SummaryInfo& info) {
    RunFacts facts;
    if (std::string why = read_run(folder, facts); !why.empty()) {
        return why;
    }
    std::string why;
    const ReportedRun run{folder, facts, figures, info, summary_json(figures, info)};
    const Result<std::string> page = page_of(run, why);
    if (!page) {
        return why;
    }
    const Result<void> written =
        write_whole_file(folder + "/report.html", page.value(), Lasting::written);
    return written
               ? ""
               : "cannot " + std::string(written.error().doing) + ": " + reason_of(written.error());
}

}  // namespace

void write_run_page(const std::string& folder, const SummaryFigures& figures,
                    const SummaryInfo& info) {
    const std::string why = try_page(folder, figures, info);
    if (why.empty()) {
        print_line("page: %s/report.html", folder.c_str());
    } else {
        complain(
            "driftless: warning: %s/report.html was not written: %s; once that is fixed, "
            "run driftless report %s --html FILE",
            folder.c_str(), why.c_str(), folder.c_str());
    }
}

}  // namespace driftless
