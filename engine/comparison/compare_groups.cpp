#include "engine/comparison/compare_groups.hpp"

namespace driftless {

const char* name_of(Evidence evidence) {
    return evidence == Evidence::within_run ? "within_run" : "between_runs";
}

const char* name_of(Word word) {
    switch (word) {
        case Word::better:
            return "better";
        case Word::worse:
            return "worse";
        case Word::same:
            return "same";
        case Word::unsure:
            return "unsure";
    }
    return "";
}

const char* text_of(Doubt doubt) {
    switch (doubt) {
        case Doubt::none:
            return "";
        case Doubt::no_values:
            return "not measured on both sides";
        case Doubt::below_floor:
            return "too few independent values for this percentile";
        case Doubt::few_units:
            return "too few independent trees or blocks for an interval";
        case Doubt::undefined:
            return "A is 0, so that a ratio says nothing";
        case Doubt::too_wide:
            return "the interval is too wide for a judgement";
    }
    return "";
}

GroupComparison compare_groups(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                               std::span<const ComparedMetric> metrics, const ComparisonOptions&) {
    GroupComparison comparison;
    comparison.runs_a = a.size();
    comparison.runs_b = b.size();
    for (const ComparedMetric& metric : metrics) {
        MetricComparison compared;
        compared.metric = metric;
        comparison.metrics.push_back(compared);
    }
    return comparison;
}

std::optional<double> rows_needed(const MetricComparison&, double, double, double) {
    return std::nullopt;
}

std::optional<double> runs_needed(const MetricComparison&, std::uint64_t, double, double, double) {
    return std::nullopt;
}

}  // namespace driftless
