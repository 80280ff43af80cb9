/// What the user asked of `driftless report`. Parsing touches no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/report/exports.hpp"
#include "cmd/report/readings.hpp"
#include "cmd/screen/summary_table.hpp"
#include "engine/stats/thresholds.hpp"

namespace driftless {

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
