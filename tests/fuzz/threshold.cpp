// Any text as a threshold, as a --stop-when and as the --slo of a search: refused in words, or a
// condition with a bound that can be judged. Blanks count for nothing, and an SLO holds exactly
// where the --fail-if that is made of it does not.
#include "cmd/flags/summary_values.hpp"
#include "cmd/runs/find.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

bool is_in_range(const Threshold& threshold) {
    const bool share = threshold.figure->unit == FigureUnit::share && threshold.figure->is_part;
    return std::isfinite(threshold.bound) && threshold.bound >= 0 &&
           (!share || threshold.bound <= 1);
}

void check_same(const Threshold& a, const Threshold& b) {
    CHECK(a.figure == b.figure && a.compare == b.compare && a.bound == b.bound);
    CHECK(a.statistic == b.statistic);
}

void check_threshold(std::string_view text) {
    const Result<Threshold> read = parse_threshold(text);
    if (!read) {
        CHECK(!std::string_view(read.error().doing).empty());
        return;
    }
    const Threshold& one = read.value();
    CHECK(one.figure != nullptr && is_in_range(one) && one.text == text);
    CHECK(one.statistic != nullptr);
    std::string bare(text);
    bare.erase(
        std::remove_if(bare.begin(), bare.end(), [](char c) { return c == ' ' || c == '\t'; }),
        bare.end());
    const Result<Threshold> again = parse_threshold(bare);
    CHECK(static_cast<bool>(again));
    check_same(one, again.value());
    // Nobody measured anything: that is no good run.
    const auto findings = judge_thresholds({one}, SummaryFigures());
    CHECK(findings.size() == 1 && findings[0].condition == one.text);
    CHECK(findings[0].value || findings[0].fails);
    // The bound itself is on one side or the other.
    const bool equal = one.compare == Compare::at_least || one.compare == Compare::at_most;
    CHECK(crosses(one, one.bound) == equal);
}

void check_stop_rule(std::string_view text) {
    const Result<StopRule> read = parse_stop_rule(text);
    if (!read) {
        CHECK(!std::string_view(read.error().doing).empty());
        return;
    }
    const StopRule& rule = read.value();
    CHECK(rule.text == text && rule.for_ns >= 0);
    CHECK(rule.threshold.figure->stop == rule.figure && is_in_range(rule.threshold));
    CHECK(static_cast<bool>(parse_threshold(rule.threshold.text)));
}

void check_slos(std::string_view text) {
    const Result<Slos> read = parse_slos(text);
    if (!read) {
        CHECK(!std::string_view(read.error().doing).empty());
        return;
    }
    CHECK(!read.value().list.empty());
    for (const Slo& slo : read.value().list) {
        CHECK(slo.floor >= 1 && slo.floor <= read.value().rows_min);
        const Result<Threshold> holds = parse_threshold(slo.text);
        CHECK(holds && holds.value().bound == slo.threshold.bound);
        const double bound = slo.threshold.bound;
        for (const double value : {0.0, bound / 2, bound, bound * 2 + 1}) {
            CHECK(crosses(holds.value(), value) != crosses(slo.threshold, value));
        }
    }
}

void fuzz_threshold(std::string_view text) {
    check_threshold(text);
    check_stop_rule(text);
    check_slos(text);
}

const FuzzTargets threshold_target = {{"threshold", fuzz_threshold}};

}  // namespace
}  // namespace driftless
