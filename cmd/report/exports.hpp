/// The files that `report` writes beside its screen: which were asked for, and writing them.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// Paths as typed; empty: not asked for. "-" is standard output where a file is one text.
struct ReportExports {
    std::string csv;
    std::string markdown;
    std::string junit;
    std::string perfetto;
    std::string xlsx;
    std::string html;

    /// An export goes to standard output, which then carries nothing else.
    bool take_stdout() const {
        return markdown == "-" || junit == "-" || html == "-" || perfetto == "-";
    }
};

/// Writes what was asked for, and never overwrites a file. `by_csv` is the text of by.csv, or
/// empty. Returns the exit code; errors are printed.
int write_exports(const ReportExports& exports, const ReportedRun& run, const std::string& by_csv);

}  // namespace driftless
