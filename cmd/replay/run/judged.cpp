#include "cmd/replay/run/judged.hpp"

#include "cmd/exit_codes.hpp"
#include "cmd/replay/run/run_settings.hpp"
#include "cmd/rules/rule_sets.hpp"
#include "engine/rules/judge_rules.hpp"
#include "engine/stats/thresholds.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

void judge(const RunFile& file, const RunEnd& end, const SummaryFigures& figures,
           const ClientTotals& client, SummaryInfo& info) {
    const ReplayOptions& options = file.parts.invocation().options;
    const Judgement judged = judge_run(file.calibration, figures, client, info.cache_probe);
    info.verdict = name_of(judged.verdict);
    info.verdict_reasons = judged.reasons;
    info.limits = file.calibration.limits;
    info.client = &client;
    info.rules = judge_rules(options.rules.chosen.sets, rule_facts(file, end), figures, same_value);
    info.thresholds = judge_thresholds(options.results.fail_if, figures);
}

// 130 before 7 before 5 before 6 before 8 (design, section 4).
int exit_code_of(const RunFile& file, bool interrupted, const SummaryFigures& figures,
                 const SummaryInfo& info, bool failed) {
    const ReplayOptions& options = file.parts.invocation().options;
    if (interrupted) {
        return exit_interrupted;
    }
    if (failed) {
        return exit_host;
    }
    if (figures.answered() == 0) {
        return exit_no_success;
    }
    const bool uncertified =
        options.calibration.require_certified && info.verdict != name_of(Verdict::certified);
    const bool unruly = options.rules.required && any_violated(info.rules);
    if (uncertified || unruly) {
        return exit_not_certified;
    }
    return any_fails(info.thresholds) || info.stopped_when ? exit_threshold : exit_done;
}

}  // namespace driftless
