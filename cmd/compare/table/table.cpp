#include "cmd/compare/table/table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cmd/compare/table/corpus.hpp"
#include "cmd/compare/table/inferencex_rows.hpp"
#include "cmd/compare/table/llmd_reports.hpp"
#include "cmd/compare/table/run_views.hpp"
#include "cmd/compare/table/table_csv.hpp"
#include "cmd/compare/table/table_json.hpp"
#include "cmd/compare/table/table_page.hpp"
#include "cmd/compare/table/table_screen.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/folders.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

constexpr std::size_t differences_printed = 10;

void say(const std::string& text) {
    complain("driftless compare: %s", printable(text).c_str());
}

/// Prints what is not the same work. False: the command ends here.
bool accept_corpus(const std::vector<std::string>& differences, bool anyway) {
    for (std::size_t i = 0; i < differences.size() && i < differences_printed; ++i) {
        say(differences[i]);
    }
    if (differences.size() > differences_printed) {
        say("and " + std::to_string(differences.size() - differences_printed) + " runs more");
    }
    if (!differences.empty() && !anyway) {
        say("these runs did not play the same work as the first; leave them out, or use --anyway");
    }
    return differences.empty() || anyway;
}

std::string first_folder(const std::vector<TableRun>& runs) {
    for (const TableRun& run : runs) {
        if (run.summary) {
            return run.folder;
        }
    }
    return "";
}

bool needs_records(const TableCommand& command) {
    bool needs = command.sort && command.sort->needs_records();
    for (const ChartAxes& axes : command.charts) {
        needs = needs || axes.x.needs_records() || axes.y.needs_records();
    }
    return needs;
}

std::vector<ParetoChart> charts_of(const TableCommand& command, const ManyRuns& table) {
    const std::vector<ChartAxes> axes =
        command.charts.empty() ? standard_charts(knows_gpus(table)) : command.charts;
    std::vector<ParetoChart> charts;
    for (const ChartAxes& one : axes) {
        charts.push_back(pareto_chart(table, one, command.group));
    }
    return charts;
}

/// Whether some cell has a value for the groups.
bool has_group(const ManyRuns& table, const std::string& group) {
    for (const RunCell& cell : table.cells) {
        if (!value_of(table, cell, group).empty()) {
            return true;
        }
    }
    return false;
}

struct NewFile {
    const char* flag;
    const std::string& path;
};

/// What is made of the records of the runs.
int write_records(const NewFile& file, const ManyRuns& table,
                  std::string (*make)(const ManyRuns& table, std::string& why)) {
    if (file.path.empty()) {
        return exit_done;
    }
    std::string why;
    const std::string text = make(table, why);
    if (!why.empty()) {
        say(std::string(file.flag) + ": " + why);
        return exit_input;
    }
    return write_new_file(file.flag, file.path, text);
}

int write_files(const TableCommand& command, const TableDocument& document) {
    int code = exit_done;
    if (!command.json.empty()) {
        code = write_new_file("--json", command.json, table_json(document) + "\n");
    }
    if (code == exit_done && !command.csv.empty()) {
        code = write_new_file("--csv", command.csv, table_csv(document.table));
    }
    if (code == exit_done && !command.html.empty()) {
        code = write_new_file("--html", command.html, table_page(document, command.html));
    }
    if (code == exit_done) {
        code = write_records({"--inferencex", command.inferencex}, document.table, inferencex_rows);
    }
    if (code == exit_done) {
        code = write_records({"--llm-d", command.llmd}, document.table, llmd_reports);
    }
    return code;
}

/// Of the standard charts those at p90: sixteen are too many to read.
std::string charts_text(const TableCommand& command, const TableDocument& document) {
    if (!command.charts.empty()) {
        return charts_screen(document.table, document.charts);
    }
    std::vector<ParetoChart> shown;
    for (const ParetoChart& chart : document.charts) {
        if (chart.axes.x.name.ends_with(":p90")) {
            shown.push_back(chart);
        }
    }
    return charts_screen(document.table, shown) +
           "\np50, p99 and p99.9 of these are in --json and --html; --pareto X:Y gives other "
           "pairs\n";
}

std::array<NewFile, 5> files_of(const TableCommand& command) {
    return {{{"--json", command.json},
             {"--csv", command.csv},
             {"--html", command.html},
             {"--inferencex", command.inferencex},
             {"--llm-d", command.llmd}}};
}

/// How many of the files are "-": standard output, which the table has otherwise.
std::ptrdiff_t files_on_stdout(const TableCommand& command) {
    const std::array<NewFile, 5> files = files_of(command);
    return std::count_if(files.begin(), files.end(),
                         [](const NewFile& one) { return one.path == "-"; });
}

/// New files are refused before anything is read.
int check_files(const TableCommand& command) {
    if (files_on_stdout(command) > 1) {
        say("only one of --json, --csv, --html, --inferencex and --llm-d can be -");
        return exit_usage;
    }
    for (const NewFile& file : files_of(command)) {
        if (!file.path.empty()) {
            if (const int code = refuse_existing_file(file.flag, file.path); code != exit_done) {
                return code;
            }
        }
    }
    return exit_done;
}

}  // namespace

int compare_table(const TableCommand& command) {
    if (const int code = check_files(command); code != exit_done) {
        return code;
    }
    std::vector<TableRun> runs;
    if (const std::string why = read_table_runs(command.runs, runs); !why.empty()) {
        say(why);
        return exit_usage;
    }
    if (first_folder(runs).empty()) {
        say(runs.front().folder + ": " + runs.front().left_out);
        return exit_input;
    }
    const std::vector<std::string> differences = corpus_differences(runs);
    if (!accept_corpus(differences, command.anyway)) {
        return exit_input;
    }
    if (needs_records(command)) {
        if (const std::string why = read_e2e_per_token(runs); !why.empty()) {
            say(why);
            return exit_input;
        }
    }
    ManyRuns table = table_of(std::move(runs), command.each);
    if (command.sort) {
        sort_cells(table, *command.sort);
    }
    if (!command.group.empty() && !has_group(table, command.group)) {
        say("--group: no run has a label, an axis or a flag \"" + command.group + "\"");
        return exit_usage;
    }
    const std::vector<ParetoChart> charts = charts_of(command, table);
    const TableDocument document{table, charts, command.group, differences};
    if (files_on_stdout(command) == 0) {
        std::fputs((table_screen(table) + charts_text(command, document)).c_str(), stdout);
    }
    return write_files(command, document);
}

}  // namespace driftless
