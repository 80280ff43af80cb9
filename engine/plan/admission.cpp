#include "engine/plan/admission.hpp"

#include <algorithm>

namespace driftless {

void keep_families(const Families& families, const std::vector<bool>& stays, Trace& trace) {
    std::vector<bool> row_stays(trace.rows.size(), false);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        if (stays[families.of_row[i]]) {
            row_stays[trace.rows[i].index] = true;
            trace.rows[kept++] = trace.rows[i];
        }
    }
    trace.rows.resize(kept);
    // Rows that wait for each other are one family, so both ends of an edge stay or go.
    std::erase_if(trace.dependencies, [&](const Dependency& one) { return !row_stays[one.row]; });
}

AdmissionFigures admit(const AdmissionRules& rules, Trace& trace) {
    AdmissionFigures figures;
    if (!rules.any()) {
        return figures;
    }
    const Families families = families_of(trace);
    std::vector<bool> stays(families.count, true);
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        const TraceRow& row = trace.rows[i];
        const std::uint64_t tokens = std::uint64_t{row.input_length} + row.output_length;
        if (rules.context_max && tokens > *rules.context_max) {
            stays[families.of_row[i]] = false;
        }
    }
    figures.families = families.count;
    figures.too_long = static_cast<std::uint32_t>(std::count(stays.begin(), stays.end(), false));
    for (std::uint32_t family = 0; family < families.count; ++family) {
        stays[family] = stays[family] && (!rules.trees_max || figures.kept < *rules.trees_max);
        figures.kept += stays[family] ? 1 : 0;
    }
    keep_families(families, stays, trace);
    return figures;
}

}  // namespace driftless
