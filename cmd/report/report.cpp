#include "cmd/report/report.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/goodput_values.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/options.hpp"
#include "cmd/report/readings.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/screen/guard.hpp"
#include "cmd/screen/summary_table.hpp"
#include "engine/stats/thresholds.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

using Long = unsigned long long;

int refuse(const std::string& why, int code) {
    complain("driftless report: %s", why.c_str());
    return code;
}

void explain_users(const Unrecorded& lost, bool live) {
    if (live) {
        complain("report: the run is still running");
        return;
    }
    complain(
        "report: the run was killed; requests that its users had in flight, or that were "
        "not written yet (records are written twice a second), have no record: %s%s",
        lost.all_known ? "" : "at least ", counted(lost.rows, "request", "requests").c_str());
}

/// What is not in the table: why it is not the whole run, and what brings the rest.
void explain(const std::string& folder, const RebuiltRun& run) {
    const auto& [facts, past, files, live, lost, figures, judged, info] = run;
    const std::uint64_t torn = files.requests.torn + files.fired.torn + files.client.torn;
    if (torn > 0) {
        complain("report: %llu bytes of unfinished last lines were left out",
                 static_cast<Long>(torn));
    }
    if (past.lacks_chunks()) {
        complain(
            "report: the records have no chunks (--chunks none): inter-token latencies "
            "and peak throughput are %s",
            facts.segments.size() > 1 ? "not known for a resumed run"
                                      : "only in the run's own summary.json");
    }
    if (info.merged) {  // its warnings name the shards, each with the remedy
        return;
    }
    const bool complete = past.records() >= facts.rows;
    if ((complete || facts.has_users) && facts.ended) {
        return;
    }
    if (facts.has_users) {  // how many requests there would have been is not known
        explain_users(lost, live);
        return;
    }
    if (complete) {
        complain("report: the run ended before it wrote its summary; all %llu rows have a record",
                 static_cast<Long>(facts.rows));
        return;
    }
    const char* what = live          ? "the run is still running"
                       : facts.ended ? "the run could not write all of its records"
                                     : "the run was killed, or could not write its last files";
    complain("report: %s: %llu of %llu rows have no record, %s%llu of them had been sent", what,
             static_cast<Long>(facts.rows - past.records()), static_cast<Long>(facts.rows),
             lost.all_known ? "" : "at least ", static_cast<Long>(lost.rows));
    if (!live) {
        complain("report: driftless replay %s %s", facts.is_live ? "--from" : "--resume",
                 (folder + (facts.is_live ? " runs it again" : " continues it")).c_str());
    }
}

/// On standard output the summary and what is below it, or the one reading that stands alone.
void print_run(const ReportCommand& command, const ReportedRun& run, const ReadingTexts& readings) {
    if (command.exports.take_stdout()) {
        return;
    }
    std::string text = readings.screen;
    if (!readings.own_screen && command.json) {
        text = with_members(run.summary, readings.members);
    } else if (!readings.own_screen) {
        text = printable_lines(summary_table(run.figures, run.info, command.table)) + text;
    }
    std::fputs(text.c_str(), stdout);
    std::fputs(readings.notes.c_str(), stderr);
}

int report(const ReportCommand& command) {
    std::string folder = command.folder;
    while (folder.size() > 1 && folder.back() == '/') {
        folder.pop_back();
    }
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        return refuse(why, exit_usage);
    }
    facts.goodput = with_rules(command.readings.slos, facts.goodput);
    std::string why = facts.goodput.empty() ? limits_missing(command.fail_if) : "";
    if (!why.empty()) {
        return refuse(why, exit_usage);
    }
    RebuiltRun rebuilt(std::move(facts));
    if (const int code = rebuild(folder, command.fail_if, rebuilt, why); code != exit_done) {
        return refuse(why, code);
    }
    const ReportedRun run{folder, rebuilt.facts, rebuilt.figures, rebuilt.info,
                          summary_json(rebuilt.figures, rebuilt.info)};
    ReadingTexts readings;
    if (why = take_readings(command.readings, run, command.json, readings); !why.empty()) {
        return refuse(why, exit_input);
    }
    print_run(command, run, readings);
    if (const int code = write_exports(command.exports, run, readings.by_csv); code != exit_done) {
        return code;
    }
    explain(folder, rebuilt);
    return !command.fail_if.empty() && any_fails(rebuilt.info.thresholds) ? exit_threshold
                                                                          : exit_done;
}

}  // namespace

int run_report(int argc, char** argv) {
    const ReportCommandLine line =
        parse_report_options(std::vector<std::string>(argv + 1, argv + argc));
    if (line.kind == ReportCommandLine::Kind::help) {
        std::fputs(line.text.c_str(), stdout);
        return exit_done;
    }
    if (line.kind == ReportCommandLine::Kind::refused) {
        complain("%s", line.text.c_str());
        return exit_usage;
    }
    return report(line.command);
}

}  // namespace driftless
