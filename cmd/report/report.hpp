/// `driftless report`: the summary of a run, rebuilt from what it wrote: of one that was killed, or
/// still goes on, as far as it came.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/report/exports.hpp"
#include "cmd/report/readings.hpp"
#include "cmd/report/summary_table.hpp"
#include "proto/figures/thresholds.hpp"

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_report(int argc, char** argv);

// What the user asked of `driftless report`. Parsing touches no file.

struct ReportCommand {
    std::string folder;
    bool json = false;
    std::vector<Threshold> fail_if;  ///< empty: those of the run, for its summary alone
    TableKind table = TableKind::compact;
    ReportExports exports;
    ReportReadings readings;
};

struct ReportCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    ReportCommand command;
};

ReportCommandLine parse_report_options(const std::vector<std::string>& arguments);

}  // namespace driftless
