#include "engine/stats/threshold_finding.hpp"

#include <algorithm>
#include <cstdio>

namespace driftless {

namespace {

const char* name_of(FigureUnit unit) {
    switch (unit) {
        case FigureUnit::time:
            return "ms";
        case FigureUnit::share:
            return "share";
        case FigureUnit::number:
            return "number";
    }
    return "";
}

}  // namespace

bool any_fails(const std::vector<ThresholdFinding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const ThresholdFinding& one) { return one.fails; });
}

std::string value_text(const ThresholdFinding& finding) {
    if (!finding.value) {
        return "not measured";
    }
    char text[64];
    switch (finding.unit) {
        case FigureUnit::time:
            (void)std::snprintf(text, sizeof text, "%.3f ms", *finding.value);
            break;
        case FigureUnit::share:
            (void)std::snprintf(text, sizeof text, "%.4g %%", 100 * *finding.value);
            break;
        case FigureUnit::number:
            (void)std::snprintf(text, sizeof text, "%.6g", *finding.value);
            break;
    }
    return text;
}

void write_thresholds(JsonWriter& json, const std::vector<ThresholdFinding>& findings) {
    json.key("thresholds").begin_array();
    for (const ThresholdFinding& one : findings) {
        json.begin_object();
        json.key("fail_if").string(one.condition);
        json.key("value");
        one.value ? json.number(*one.value) : json.null();
        json.key("unit").string(name_of(one.unit));
        json.key("fails").boolean(one.fails);
        json.end_object();
    }
    json.end_array();
}

}  // namespace driftless
