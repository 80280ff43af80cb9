/// What the user asked of `driftless compare`. Parsing touches no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/compare/comparison.hpp"
#include "cmd/compare/exports.hpp"
#include "cmd/compare/screen.hpp"
#include "cmd/compare/table/table.hpp"
#include "engine/stats/goodput.hpp"

namespace driftless {

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

}  // namespace driftless
