#include "cmd/report/report.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/exit_codes.hpp"
#include "cmd/report/exports.hpp"
#include "cmd/report/options.hpp"
#include "cmd/report/readings.hpp"
#include "cmd/rules/rule_sets.hpp"
#include "cmd/run_folder.hpp"
#include "cmd/scrape/mapping_file.hpp"
#include "cmd/scrape/read_totals.hpp"
#include "cmd/screen/summary_table.hpp"
#include "cmd/threshold_values.hpp"
#include "engine/history/finished_trees.hpp"
#include "engine/history/past.hpp"
#include "engine/history/unrecorded.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/rules/judge_rules.hpp"
#include "engine/stats/thresholds.hpp"
#include "engine/stats/warnings.hpp"
#include "proto/core/counted.hpp"
#include "proto/json/printable.hpp"

namespace driftless {

namespace {

using Long = unsigned long long;

int refuse(const std::string& why, int code) {
    std::fprintf(stderr, "driftless report: %s\n", why.c_str());
    return code;
}

/// What left and has no record. Of a run that goes on, as far as its files tell: those may get
/// theirs.
Unrecorded what_is_lost(const RunFacts& facts, const Past& past, bool live) {
    if (live) {
        return {past.left_open(), true};
    }
    const Result<FiredMarks> marks =
        FiredMarks::open(facts.segments.back().run_id,
                         marks_for(facts.info.run.trace_rows, facts.against.has_value()));
    return unrecorded_rows(facts, past,
                           fired_in_all(facts, past, marks ? &marks.value() : nullptr));
}

void explain_users(const Unrecorded& lost, bool live) {
    if (live) {
        std::fprintf(stderr, "report: the run is still running\n");
        return;
    }
    std::fprintf(stderr,
                 "report: the run was killed; requests that its users had in flight, or that were "
                 "not written yet (records are written twice a second), have no record: %s%s\n",
                 lost.all_known ? "" : "at least ",
                 counted(lost.rows, "request", "requests").c_str());
}

/// What is not in the table: why it is not the whole run, and what brings the rest.
void explain(const std::string& folder, const RunFacts& facts, const Past& past,
             const PastFiles& files, const Unrecorded& lost, bool live) {
    const std::uint64_t torn = files.requests.torn + files.fired.torn + files.client.torn;
    if (torn > 0) {
        std::fprintf(stderr, "report: %llu bytes of unfinished last lines were left out\n",
                     static_cast<Long>(torn));
    }
    if (past.lacks_chunks()) {
        std::fprintf(stderr,
                     "report: the records have no chunks (--chunks none): inter-token latencies "
                     "and peak throughput are %s\n",
                     facts.segments.size() > 1 ? "not known for a resumed run"
                                               : "only in the run's own summary.json");
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
        std::fprintf(
            stderr,
            "report: the run ended before it wrote its summary; all %llu rows have a record\n",
            static_cast<Long>(facts.rows));
        return;
    }
    const char* what = live          ? "the run is still running"
                       : facts.ended ? "the run could not write all of its records"
                                     : "the run was killed";
    std::fprintf(
        stderr, "report: %s: %llu of %llu rows have no record, %s%llu of them had been sent\n",
        what, static_cast<Long>(facts.rows - past.records()), static_cast<Long>(facts.rows),
        lost.all_known ? "" : "at least ", static_cast<Long>(lost.rows));
    if (!live) {
        std::fprintf(stderr, "report: driftless replay %s %s\n",
                     facts.is_live ? "--from" : "--resume",
                     (folder + (facts.is_live ? " runs it again" : " continues it")).c_str());
    }
}

/// By the rules that the run was given, as its run.json has them.
std::string judge(const RunFacts& facts, const SummaryFigures& figures,
                  std::vector<RuleFinding>& findings) {
    RuleSets rules;
    for (const std::string& text : facts.rule_texts) {
        if (std::string why = add_rule_text(text, "run.json: rules", rules); !why.empty()) {
            return why;
        }
    }
    findings = judge_rules(rules.sets, facts.rules, figures, same_value);
    return "";
}

/// By the tables of the run, as its run.json has them. What cannot be read is told and left out.
std::optional<ServerTotals> totals_of(const std::string& folder, const RunFacts& facts,
                                      const SummaryFigures& figures) {
    std::vector<EngineMapping> own;
    std::string why;
    for (const std::string& text : facts.metrics_tables) {
        if (why = read_mapping(text, own.emplace_back()); !why.empty()) {
            std::fprintf(stderr, "report: run.json: metrics_tables: %s\n", why.c_str());
            own.pop_back();
        }
    }
    std::optional<ServerTotals> totals =
        read_totals(folder, known_mappings(std::move(own)), figures.timeline.spans, why);
    if (!why.empty()) {
        std::fprintf(stderr, "report: %s\n", why.c_str());
    }
    return totals;
}

/// The thresholds that were given here, or those of the run. False: one of the run's cannot be
/// read.
bool thresholds_of(const ReportCommand& command, const RunFacts& facts,
                   std::vector<Threshold>& out) {
    out = command.fail_if;
    if (!out.empty()) {
        return true;
    }
    for (const std::string& text : values_given(facts.rules.arguments, "--fail-if")) {
        Result<Threshold> threshold = parse_threshold(text);
        if (!threshold) {
            return false;
        }
        out.push_back(std::move(threshold).value());
    }
    return true;
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
    Past past(facts);
    std::string why;
    const Result<PastFiles> files = read_past(folder, facts.records_path, past, why);
    if (!files) {
        return refuse(why, exit_input);
    }
    SummaryFigures figures = past.summary().figures();
    const bool live = is_being_written(folder);
    const Unrecorded lost = what_is_lost(facts, past, live);
    figures.unrecorded = live ? 0 : lost.rows;
    figures.more_unrecorded = !lost.all_known;
    // Rows without a record may have left in the cache what others hit.
    if (past.left_open() > 0 || lost.rows > 0 || !lost.all_known) {
        figures.cache_excess = 0;
    }
    SummaryInfo info = facts.info;
    info.server = totals_of(folder, facts, figures);
    if (info.server && info.server->joules) {
        info.finished_trees = count_finished_trees(
            facts.records_path.empty() ? folder + "/requests.jsonl" : facts.records_path);
    }
    figures.warnings = warnings_of(figures, info);
    const Judgement judged = judge_run(facts.calibration, figures, past.client(), info.cache_probe);
    info.verdict = name_of(judged.verdict);
    info.verdict_reasons = judged.reasons;
    info.limits = facts.calibration.limits;
    info.client = &past.client();
    if (why = judge(facts, figures, info.rules); !why.empty()) {
        return refuse(why, exit_input);
    }
    std::vector<Threshold> thresholds;
    if (!thresholds_of(command, facts, thresholds)) {
        return refuse("run.json: arguments: a --fail-if cannot be read", exit_input);
    }
    info.thresholds = judge_thresholds(thresholds, figures);
    if (past.records() < facts.rows && !facts.has_users) {
        info.unfinished = Unfinished{facts.rows - past.records(), lost.rows, lost.all_known};
    } else if (facts.has_users && !facts.ended && lost.rows > 0) {
        info.unfinished = Unfinished{lost.rows, lost.rows, lost.all_known};
    }
    const ReportedRun run{folder, facts, figures, info, summary_json(figures, info)};
    ReadingTexts readings;
    if (why = take_readings(command.readings, run, command.json, readings); !why.empty()) {
        return refuse(why, exit_input);
    }
    print_run(command, run, readings);
    if (const int code = write_exports(command.exports, run, readings.by_csv); code != exit_done) {
        return code;
    }
    explain(folder, facts, past, files.value(), lost, live);
    return !command.fail_if.empty() && any_fails(info.thresholds) ? exit_threshold : exit_done;
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
        std::fprintf(stderr, "%s\n", line.text.c_str());
        return exit_usage;
    }
    return report(line.command);
}

}  // namespace driftless
