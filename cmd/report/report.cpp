#include "cmd/report/report.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/flags/summary_values.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/summary_table.hpp"
#include "cmd/report/workbook.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static std::string take_view(const View& view, const ReportedRun& run, bool json,
                             ReadingTexts& out) {
    ViewedRun viewed;
    if (std::string why = read_viewed_run(run, viewed); !why.empty()) {
        return why;
    }
    const ViewResult result = view.make(viewed);
    out.own_screen = true;
    const std::string notes =
        std::string("as ") + view.tool + " defines it, from driftless's records\n" +
        joined(result.notes, "", [](const std::string& note) { return "note: " + note + "\n"; });
    if (json || result.screen == result.json) {  // what is JSON stays that
        out.screen = result.json;
        out.notes = notes;
    } else {
        out.screen = result.screen + "\n" + notes;
    }
    return "";
}

/// Groups are in `run`, too.
static std::string take_readings(const ReportReadings& readings, ReportedRun& run, bool json,
                                 ReadingTexts& out) {
    if (readings.view != nullptr) {
        return take_view(*readings.view, run, json, out);
    }
    std::string why;
    const auto take = [&why](bool is_asked, auto reading) {
        why = is_asked && why.empty() ? reading() : why;
    };
    take(readings.any_groups(), [&] { return take_groups(readings, run, out); });
    take(readings.steady, [&] { return take_steady(run, out); });
    take(readings.why.has_value(), [&] { return take_why(run, *readings.why, out); });
    take(readings.trees, [&] { return take_trees(run, out); });
    take(readings.certificate, [&] { return take_certificate(run, out); });
    take(!readings.against.empty(), [&] { return take_fidelity(run, readings.against, out); });
    return why;
}

/// The summary's JSON with further members.
static std::string with_members(const std::string& summary, const std::string& members) {
    const std::size_t end = summary.rfind('}');
    return end == summary.npos || members.empty()
               ? summary
               : summary.substr(0, end) + members + summary.substr(end);
}

int write_exports(const ReportExports& exports, const ReportedRun& run) {
    const bool force = exports.ci.force;
    int code = write_ci_files(exports.ci, run);
    if (code == exit_done && !exports.csv.empty()) {
        code = write_csv_folder(run, exports.csv, force);
        if (code == exit_done && !run.groups.empty()) {
            code = write_new_file("--csv", exports.csv + "/by.csv", group_csv(run.groups), force);
        }
    }
    const auto write = [&](const char* flag, const std::string& path,
                           int (*write_it)(const ReportedRun&, const std::string&)) {
        if (code == exit_done && !path.empty()) {
            code =
                write_export(flag, path, force, [&](const auto& to) { return write_it(run, to); });
        }
    };
    write("--perfetto", exports.perfetto, write_perfetto);
    write("--xlsx", exports.xlsx, write_workbook);
    if (code == exit_done && !exports.html.empty()) {
        std::string why;
        const Result<std::string> page = page_of(run, why);
        code =
            page ? write_new_file("--html", exports.html, page.value(), force) : refuse_report(why);
    }
    return code;
}

namespace {

using Long = unsigned long long;

}  // namespace

static void explain_users(const Unrecorded& lost, bool live) {
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
static void explain(const std::string& folder, const RebuiltRun& run) {
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
static void print_run(const ReportCommand& command, const ReportedRun& run,
                      const ReadingTexts& readings) {
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

static int report(const ReportCommand& command) {
    const std::string folder = without_slashes(command.folder);
    RunFacts facts;
    if (const std::string why = read_run(folder, facts); !why.empty()) {
        return refuse_report(why, exit_usage);
    }
    facts.goodput = with_rules(command.readings.slos, facts.goodput);
    std::string why = facts.goodput.empty() ? limits_missing(command.fail_if) : "";
    if (!why.empty()) {
        return refuse_report(why, exit_usage);
    }
    RebuiltRun rebuilt(std::move(facts));
    if (const int code = rebuild(folder, command.fail_if, rebuilt, why); code != exit_done) {
        return refuse_report(why, code);
    }
    ReportedRun run{folder, rebuilt.facts, rebuilt.figures, rebuilt.info,
                    summary_json(rebuilt.figures, rebuilt.info)};
    ReadingTexts readings;
    if (why = take_readings(command.readings, run, command.json, readings); !why.empty()) {
        return refuse_report(why, exit_input);
    }
    print_run(command, run, readings);
    if (const int code = write_exports(command.exports, run); code != exit_done) {
        return code;
    }
    explain(folder, rebuilt);
    return !command.fail_if.empty() && any_fails(rebuilt.info.thresholds) ? exit_threshold
                                                                          : exit_done;
}

int run_report(int argc, char** argv) {
    const ReportCommandLine line = parse_report_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    return report(line.command);
}

}  // namespace driftless
