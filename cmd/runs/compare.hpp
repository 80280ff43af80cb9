/// `driftless compare`: is one server better than the other, or is it chance? Two runs, two groups
/// of repeats, or the two sides of one run, by the files that they wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/compare_groups.hpp"
#include "cmd/runs/comparison.hpp"
#include "cmd/runs/comparison_exports.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/result.hpp"
#include "proto/figures/goodput.hpp"

namespace driftless {

/// `argv[0]` is the command's name. Returns the exit code.
int run_compare(int argc, char** argv);

// What the user asked of `driftless compare`. Parsing touches no file.

struct CompareCommand {
    std::vector<std::string> a;  ///< folders as typed: one run, or repeats of it
    std::vector<std::string> b;  ///< empty: the one run of `a` was sent to two servers
    bool anyway = false;
    GoodputRules slo;  ///< instead of each run's own
    ComparisonWish wish;
    ComparisonParts parts;
    CompareExports exports;
};

struct CompareCommandLine {
    enum class Kind : std::uint8_t {
        run,      ///< `command` is complete
        table,    ///< `table` is
        help,     ///< `text` is the help, for standard output; exit 0
        refused,  ///< `text` is one line for standard error; exit 2
    };
    Kind kind = Kind::run;
    std::string text;
    CompareCommand command;
    TableCommand table;
};

CompareCommandLine parse_compare_options(const std::vector<std::string>& arguments);

// Values of the flags of `compare` as people type them. Pure; the `doing` of an Error is a clause
// with the remedy.

/// "1 %", "0.5%", from 0 to 50 %: a share. Errors: invalid.
Result<double> parse_margin(std::string_view text);
/// "ttft:p99", "errors". Errors: invalid.
Result<ComparedMetric> parse_metric(std::string_view text);
/// "pass" or "fail": whether what is unsure fails. Errors: invalid.
Result<bool> parse_unsure(std::string_view text);

}  // namespace driftless
