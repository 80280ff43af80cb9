#include "cmd/compare/compare.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cmd/compare/comparison.hpp"
#include "cmd/compare/exports.hpp"
#include "cmd/compare/options.hpp"
#include "cmd/compare/screen.hpp"
#include "cmd/compare/table/table.hpp"
#include "cmd/exit_codes.hpp"
#include "cmd/screen/guard.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

int refuse(const std::string& why, int code) {
    complain("driftless compare: %s", why.c_str());
    return code;
}

int read_group(const std::vector<std::string>& folders, const CompareCommand& command,
               std::vector<PlayedRun>& out) {
    for (const std::string& folder : folders) {
        std::string why;
        if (const int code = read_played(folder, command.slo, out, why); code != exit_done) {
            return refuse(why, code);
        }
    }
    return exit_done;
}

/// Runs with sides are compared by themselves, runs without with others.
std::string why_not_sides(const CompareCommand& command, const Comparison& comparison) {
    const bool alone = command.b.empty();
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        if (alone && run->side.empty()) {
            return run->folder +
                   ": this run has one server; name a second run to compare it with, or replay "
                   "with --against";
        }
        if (!alone && !run->side.empty()) {
            return run->folder + ": this run already has two servers; compare it alone";
        }
    }
    return "";
}

/// A run that is given twice is no repeat: it would make chance look smaller than it is.
std::string why_not_twice(const Comparison& comparison) {
    std::map<std::string, std::string> folders;  // by id and side
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        const std::string& id = run->facts.segments.front().run_id;
        const auto [known, is_new] = folders.try_emplace(id + run->side, run->folder);
        if (!id.empty() && !is_new) {
            return run->folder + ": is the same run as " + known->second + " (run_id " + id +
                   "); name each run once";
        }
    }
    return "";
}

int read_runs(const CompareCommand& command, Comparison& out) {
    int code = read_group(command.a, command, out.a);
    if (code == exit_done) {
        code = read_group(command.b, command, out.b);
    }
    if (code != exit_done) {
        return code;
    }
    for (const std::string& why : {why_not_sides(command, out), why_not_twice(out)}) {
        if (!why.empty()) {
            return refuse(why, exit_usage);
        }
    }
    if (command.b.empty()) {
        out.b.push_back(std::move(out.a.back()));
        out.a.pop_back();
    }
    return exit_done;
}

bool fails(const Comparison& comparison, bool unsure_fails) {
    return std::any_of(comparison.thresholds.begin(), comparison.thresholds.end(),
                       [unsure_fails](const JudgedThreshold& one) {
                           return one.judged == Judged::fails ||
                                  (one.judged == Judged::unsure && unsure_fails);
                       });
}

int compare(const CompareCommand& command) {
    if (const int code = check_exports(command.exports); code != exit_done) {
        return code;
    }
    Comparison comparison;
    if (const int code = read_runs(command, comparison); code != exit_done) {
        return code;
    }
    comparison.differences = work_differences(comparison.a, comparison.b);
    const Weight weight = heaviest(comparison.differences);
    comparison.same_work = weight == Weight::told;
    const bool refused = weight == Weight::never || (weight == Weight::refused && !command.anyway);
    if (!refused) {
        if (const std::string why = compare_rows(comparison, command.wish); !why.empty()) {
            return refuse(why, exit_usage);
        }
        if (!command.exports.take_stdout()) {
            std::fputs(comparison_screen(comparison, command.parts).c_str(), stdout);
        }
    } else {
        std::fputs(printable_lines(refusal_text(comparison)).c_str(), stderr);
    }
    const int code = write_exports(command.exports, comparison, command.wish.unsure_fails);
    if (code != exit_done || refused) {
        return code != exit_done ? code : exit_input;
    }
    return fails(comparison, command.wish.unsure_fails) ? exit_threshold : exit_done;
}

}  // namespace

int run_compare(int argc, char** argv) {
    const CompareCommandLine line =
        parse_compare_options(std::vector<std::string>(argv + 1, argv + argc));
    switch (line.kind) {
        case CompareCommandLine::Kind::help:
            std::fputs(line.text.c_str(), stdout);
            return exit_done;
        case CompareCommandLine::Kind::refused:
            complain("%s", line.text.c_str());
            return exit_usage;
        case CompareCommandLine::Kind::table:
            return compare_table(line.table);
        case CompareCommandLine::Kind::run:
            break;
    }
    return compare(line.command);
}

}  // namespace driftless
