#include "engine/stats/threshold_finding.hpp"

#include <algorithm>
#include <cstdio>

namespace driftless {

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

std::string value_text(const StoppedWhen& stopped) {
    return value_text(ThresholdFinding{stopped.condition, stopped.value, stopped.unit, true});
}

void write_stopped_when(JsonWriter& json, const std::optional<StoppedWhen>& stopped) {
    json.key("stopped_when");
    if (!stopped) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("cond").string(stopped->condition);
    json.key("at_s").number(stopped->at_s);
    json.key("value").number(stopped->value);
    json.key("unit").string(name_of(stopped->unit));
    json.end_object();
}

std::optional<StoppedWhen> read_stopped_when(JsonValue value) {
    const auto condition = value.find("cond").as_string();
    const auto at_s = value.find("at_s").as_double();
    const auto measured = value.find("value").as_double();
    const auto unit = value.find("unit").as_string();
    if (!condition || !at_s || !measured || !unit) {
        return std::nullopt;
    }
    StoppedWhen stopped{std::string(*condition), *at_s, *measured, FigureUnit::number};
    for (const FigureUnit one : {FigureUnit::time, FigureUnit::share}) {
        stopped.unit = *unit == name_of(one) ? one : stopped.unit;
    }
    return stopped;
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
