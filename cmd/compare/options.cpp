#include "cmd/compare/options.hpp"

#include <algorithm>

#include "cmd/compare/options_table.hpp"
#include "cmd/options_flags.hpp"

namespace driftless {

namespace {

constexpr const char* description =
    R"(Says whether B is better than A, or whether it is chance. Both must have played the same work.

  driftless compare [FLAGS] A B                 two runs
  driftless compare [FLAGS] A1 A2 A3 -- B1 B2 B3  two groups of repeats
  driftless compare [FLAGS] RUN                 the two servers of one run (replay --against)
  driftless compare --table [FLAGS] RUN..       many runs in one table
)";

constexpr const char* footer =
    R"(Examples:
  driftless compare runs/old runs/new
  driftless compare runs/old-1 runs/old-2 runs/old-3 -- runs/new-1 runs/new-2 runs/new-3
  driftless compare --table runs/*

Exit codes: 0 done, 2 usage (no folder of a run, too), 3 not the same work, or a file of a run
cannot be read.)";

/// Stands for "--" among the arguments; nobody can type it.
const std::string separator("\0--", 3);

CompareCommandLine refused(const std::string& why) {
    CompareCommandLine line;
    line.kind = CompareCommandLine::Kind::refused;
    line.text = "driftless compare: " + why + " (see driftless compare --help)";
    return line;
}

/// Sorts the folders into the two sides. Returns what is wrong, or the empty text.
std::string take_sides(const std::vector<std::string>& runs, CompareCommand& command) {
    const auto bar = std::find(runs.begin(), runs.end(), separator);
    if (std::count(runs.begin(), runs.end(), separator) > 1) {
        return "-- stands there twice; it parts A from B";
    }
    if (bar == runs.end()) {
        if (runs.empty() || runs.size() > 2) {
            return runs.empty() ? "no run is given: name the folders of A and B"
                                : "which runs are A, and which are B? Put -- between them";
        }
        command.a = {runs[0]};
        command.b.assign(runs.begin() + 1, runs.end());
        return "";
    }
    command.a.assign(runs.begin(), bar);
    command.b.assign(bar + 1, runs.end());
    return command.a.empty() || command.b.empty() ? "-- parts A from B: name a run on each side"
                                                  : "";
}

std::string take_table(const std::vector<std::string>& runs, TableCommand& table) {
    if (std::find(runs.begin(), runs.end(), separator) != runs.end()) {
        return "--table has no sides: leave out --";
    }
    table.runs = runs;
    return runs.empty() ? "no run is given: name the folders for the table" : "";
}

}  // namespace

CompareCommandLine parse_compare_options(const std::vector<std::string>& arguments) {
    CompareCommandLine line;
    std::vector<std::string> runs;
    bool table = false;
    CLI::App app{description, "driftless compare"};
    app.footer(footer);
    app.get_formatter()->column_width(30);
    app.allow_extras();
    app.set_help_flag("-h,--help", "print this and exit");
    app.add_option("RUN", runs, "folders of runs");
    Flags flags(app);
    flags.on_off("--table", "many runs in one table", table);
    flags.on_off("--anyway", "compare what both have, though it is not the same work",
                 line.command.anyway);
    add_table_flags(flags, line.table);
    std::vector<std::string> given(arguments.rbegin(), arguments.rend());
    std::replace(given.begin(), given.end(), std::string("--"), separator);
    try {
        app.parse(std::move(given));
    } catch (const CLI::CallForHelp&) {
        line.kind = CompareCommandLine::Kind::help;
        line.text = help_of(app);
        return line;
    } catch (const CLI::ParseError& error) {
        return refused(error.what());
    }
    std::string why = unknown_argument(app);
    why = why.empty() ? why_not_table(line.table, table) : why;
    if (!why.empty()) {
        return refused(why);
    }
    line.table.anyway = line.command.anyway;
    line.kind = table ? CompareCommandLine::Kind::table : CompareCommandLine::Kind::run;
    why = table ? take_table(runs, line.table) : take_sides(runs, line.command);
    return why.empty() ? line : refused(why);
}

}  // namespace driftless
