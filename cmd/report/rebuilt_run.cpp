#include "cmd/report/rebuilt_run.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/base/server_metrics.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/summary_values.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

/// A run makes this file, empty, before its run.json: where it is missing, somebody removed it.
static std::string why_no_records(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 || errno != ENOENT
               ? ""
               : path +
                     ": not found, and a summary is built from its records; put the file back "
                     "(the run's own summary.json still has its figures)";
}

/// What left and has no record. Of a run that goes on, as far as its files tell: those may get
/// theirs.
static Unrecorded what_is_lost(const RunFacts& facts, const Past& past, bool live) {
    if (const std::optional<MergedRun>& merged = facts.info.merged) {
        return {merged->rows_left(), merged->all_left_known()};
    }
    if (live) {
        return {past.left_open(), true};
    }
    const Result<FiredMarks> marks =
        FiredMarks::open(facts.segments.back().run_id,
                         marks_for(facts.info.run.trace_rows, facts.against.has_value()));
    return unrecorded_rows(facts, past,
                           fired_in_all(facts, past, marks ? &marks.value() : nullptr));
}

/// By the rules that the run was given, as its run.json has them.
static std::string judge(const RunFacts& facts, const SummaryFigures& figures,
                         std::vector<RuleFinding>& findings) {
    RuleSets rules;
    for (const std::string& text : facts.rule_texts) {
        if (std::string why = add_rule_text(text, "run.json: rules", rules); !why.empty()) {
            return why;
        }
    }
    findings = judge_rules(rules.sets, facts.info.run, figures, same_value);
    return "";
}

/// By the tables of the run, as its run.json has them. What cannot be read is told and left out.
static std::optional<ServerTotals> totals_of(const std::string& folder, const RunFacts& facts,
                                             const SummaryFigures& figures) {
    std::vector<EngineMapping> own;
    std::string why;
    for (const std::string& text : facts.metrics_tables) {
        if (why = read_mapping(text, own.emplace_back()); !why.empty()) {
            complain("report: run.json: metrics_tables: %s", why.c_str());
            own.pop_back();
        }
    }
    std::optional<ServerTotals> totals =
        read_totals(folder, known_mappings(std::move(own)), figures.timeline.spans, why);
    if (!why.empty()) {
        complain("report: %s", why.c_str());
    }
    return totals;
}

/// The thresholds that were given, or those of the run. False: one of the run's cannot be
/// read.
static bool thresholds_of(const std::vector<Threshold>& fail_if, const RunFacts& facts,
                          std::vector<Threshold>& out) {
    out = fail_if;
    if (!out.empty()) {
        return true;
    }
    for (const std::string& text : values_given(facts.arguments, "--fail-if")) {
        Result<Threshold> threshold = parse_group_threshold(text);
        if (!threshold) {
            return false;
        }
        out.push_back(std::move(threshold).value());
    }
    return true;
}

/// What the client did while it sent, as far as a certificate needs it, and the file lacks it. A
/// process that was killed never wrote its last second.
static std::string lacks_of_client(const RebuiltRun& run) {
    const RunFacts& facts = run.facts;
    bool in_one_go = facts.segments.size() == 1;
    if (facts.info.merged) {
        for (const MergedShard& shard : facts.info.merged->shards) {
            in_one_go = in_one_go && shard.ended && shard.rows_later == 0;
        }
    }
    const auto told = static_cast<std::uint64_t>(run.past.client().sums.rows_fired);
    if (!facts.ended || !in_one_go || !facts.end.rows_fired || told >= *facts.end.rows_fired) {
        return "";
    }
    return "client.jsonl tells of " + std::to_string(told) + " of the " +
           counted(*facts.end.rows_fired, "row that was", "rows that were") +
           " sent, so what the client did at the others is not known; restore the file";
}

/// Of a run that has closed its books.
static std::string more_than_booked(const RebuiltRun& run) {
    const std::uint64_t left = run.figures.taints.sent;
    const std::optional<std::uint64_t>& booked = run.facts.end.rows_fired;
    return !run.facts.ended || !booked || left <= *booked
               ? ""
               : "run.json says that " + counted(*booked, "row was", "rows were") + " sent, and " +
                     std::to_string(left) + " records say so; restore the files";
}

/// A run marks each row that is beyond its limits. Each segment has its own, and how many rows
/// share an instant is known when all have a record.
static std::string unmarked_rows(const RebuiltRun& run) {
    const RunFacts& facts = run.facts;
    const TaintLimits& limits = facts.calibration.limits;
    if (!facts.ended || facts.info.merged || facts.segments.size() > 1 || limits.drift_ns <= 0) {
        return "";
    }
    const std::uint32_t rows = run.figures.sending.instant_rows_max;
    const UntaintedFigures& worst = run.figures.taints.untainted;
    const bool is_late =
        worst.drift_max_ns > drift_limit_ns(limits, rows == 0 ? 0 : rows - 1) ||
        (limits.receive_delay_ns > 0 && worst.receive_delay_max_ns > limits.receive_delay_ns);
    return is_late ? "a row that is not marked is beyond the limits in run.json; restore the files"
                   : "";
}

static Judgement verdict_of(const RebuiltRun& run) {
    const RunFacts& facts = run.facts;
    Judgement judged =
        judge_run(facts.calibration, run.figures, run.past.client(), run.info.cache_probe);
    if (facts.info.merged) {
        judged = judge_merged(*facts.info.merged, std::move(judged));
    }
    for (std::string why : {lacks_of_client(run), unmarked_rows(run), more_than_booked(run)}) {
        if (why.empty()) {
            continue;
        }
        const bool certified = judged.verdict == Verdict::certified ||
                               judged.verdict == Verdict::certified_with_exclusions;
        judged.verdict = certified ? Verdict::uncalibrated : judged.verdict;
        judged.reasons.insert(judged.reasons.begin(), std::move(why));
    }
    return judged;
}

static void count_unfinished(RebuiltRun& run) {
    const auto& [facts, past, files, live, lost, figures, judged, info] = run;
    if (past.records() < facts.rows && !facts.has_users) {
        run.info.unfinished = Unfinished{facts.rows - past.records(), lost.rows, lost.all_known};
    } else if (facts.has_users && !facts.ended && lost.rows > 0) {
        run.info.unfinished = Unfinished{lost.rows, lost.rows, lost.all_known};
    }
}

int refuse_report(const std::string& why, int code) {
    complain("driftless report: %s", why.c_str());
    return code;
}

std::string judge_thresholds_in(const std::string& records_path,
                                const std::vector<Threshold>& thresholds,
                                const SummaryFigures& figures, std::vector<ThresholdFinding>& out) {
    out = judge_thresholds(thresholds, figures);
    std::map<std::size_t, Summary> groups;
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
        if (thresholds[i].key) {
            groups.try_emplace(i, figures.goodput_rules);
        }
    }
    JsonDocument document;
    std::string why = groups.empty() ? "" : each_record_in(records_path, [&](const Record& record) {
        for (auto& [place, summary] : groups) {
            const Threshold& one = thresholds[place];
            if (group_value(*one.key, record, document) == one.value) {
                Record measured = record;  // a summary leaves other phases out
                measured.phase =
                    one.key->kind == GroupKey::Kind::phase ? Phase::profile : record.phase;
                summary.add(measured);
            }
        }
    });
    for (const auto& [place, summary] : groups) {
        SummaryFigures of_group = why.empty() ? summary.figures() : SummaryFigures();
        if (why.empty() && of_group.rows == 0) {
            complain("driftless: warning: --fail-if \"%s\": no row has the value \"%s\" of %s",
                     thresholds[place].text.c_str(), thresholds[place].value.c_str(),
                     thresholds[place].key->text.c_str());
        }
        // Its rates are by the time of the run, as those of `report --by`.
        const double part = figures.duration_ns > 0 ? static_cast<double>(of_group.duration_ns) /
                                                          static_cast<double>(figures.duration_ns)
                                                    : 1;
        of_group.request_throughput *= part;
        for (std::optional<double>* const rate :
             {&of_group.output_throughput, &of_group.total_token_throughput,
              &of_group.request_goodput}) {
            *rate = *rate ? std::optional(**rate * part) : std::nullopt;
        }
        of_group.duration_ns = figures.duration_ns;
        of_group.timeline.duration_least_ns = figures.timeline.duration_least_ns;
        // What the run knows: rows of other groups may have waited, failed here, or no record.
        of_group.has_bounds = of_group.has_bounds || figures.has_bounds;
        of_group.more_unrecorded = figures.lacks_rows();
        of_group.awaits_answers = figures.awaits_answers || figures.has_held();
        out[place] = judge_thresholds({thresholds[place]}, of_group).front();
    }
    return why;
}

int rebuild(const std::string& folder, const std::vector<Threshold>& fail_if, RebuiltRun& run,
            std::string& why) {
    const RunFacts& facts = run.facts;
    if (why = why_no_records(facts.records_in(folder)); !why.empty()) {
        return exit_input;
    }
    const Result<PastFiles> files = read_past(folder, facts.records_path, run.past, why);
    if (!files) {
        return exit_input;
    }
    run.files = files.value();
    SummaryFigures& figures = run.figures = run.past.summary().figures();
    run.live = !facts.info.merged && is_being_written(folder);
    run.lost = what_is_lost(facts, run.past, run.live);
    figures.unrecorded = run.live ? 0 : run.lost.rows;
    // Answers may have come to a run that goes on, and wait for it.
    figures.more_unrecorded = !run.lost.all_known || (run.live && run.lost.rows > 0);
    // Rows without a record may have left in the cache what others hit.
    if (run.past.left_open() > 0 || run.lost.rows > 0 || !run.lost.all_known) {
        figures.cache_excess = 0;
    }
    SummaryInfo& info = run.info = facts.info;
    info.server = totals_of(folder, facts, figures);
    if (info.merged) {  // one shard's first page may be older than the probes of the others
        for (const MergedShard& shard : info.merged->shards) {
            figures.sent.add_probes(shard.probes);
        }
    }
    if (info.server && info.server->joules) {
        info.finished_trees = count_finished_trees(facts.records_in(folder));
    }
    figures.warnings = warnings_of(figures, info);
    run.judged = verdict_of(run);
    info.verdict = name_of(run.judged.verdict);
    info.verdict_reasons = run.judged.reasons;
    info.limits = facts.calibration.limits;
    info.client = &run.past.client();
    if (why = judge(facts, figures, info.rules); !why.empty()) {
        return exit_input;
    }
    std::vector<Threshold> thresholds;
    if (!thresholds_of(fail_if, facts, thresholds)) {
        why = "run.json: arguments: a --fail-if that cannot be read";
        return exit_input;
    }
    why = judge_thresholds_in(facts.records_in(folder), thresholds, figures, info.thresholds);
    if (!why.empty()) {
        return exit_input;
    }
    count_unfinished(run);
    return exit_done;
}

}  // namespace driftless
