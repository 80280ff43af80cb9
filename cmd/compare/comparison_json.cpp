#include "cmd/compare/comparison_json.hpp"

#include <algorithm>
#include <optional>

#include "proto/json/printable.hpp"
#include "proto/json/write.hpp"

namespace driftless {

namespace {

constexpr int compare_schema = 2;

void write_differences(JsonWriter& json, const std::vector<WorkDifference>& differences) {
    json.key("differences").begin_array();
    for (const WorkDifference& one : differences) {
        json.begin_object();
        json.key("what").string(one.what);
        json.key("weight").string(name_of(one.weight));
        json.key("a");
        one.a.empty() ? json.null() : json.string(one.a);
        json.key("b").string(one.b);
        json.key("run").string(one.run);
        json.key("remedy").string(one.remedy);
        json.end_object();
    }
    json.end_array();
}

void write_metrics(JsonWriter& json, const Comparison& comparison) {
    const std::uint64_t runs = std::max(comparison.a.size(), comparison.b.size());
    const auto known = [&json](const char* key, const std::optional<double>& value) {
        json.key(key);
        value ? json.number(*value) : json.null();
    };
    json.key("metrics").begin_array();
    for (const MetricComparison& one : comparison.groups.metrics) {
        json.begin_object();
        json.key("name").string(one.metric.name());
        json.key("unit").string(name_of(one.metric.unit()));
        json.key("a").number(one.a);
        json.key("b").number(one.b);
        json.key("ratio").number(one.ratio);
        json.key("low").number(one.low);
        json.key("high").number(one.high);
        json.key("n_eff").number(one.n_eff);
        json.key("smallest").number(one.smallest);
        json.key("word").string(name_of(one.word));
        json.key("in_these_runs").string(name_of(one.in_these_runs));
        json.key("scale").string(one.metric.scale() == Scale::ratio ? "ratio" : "difference");
        json.key("change").number(one.change);
        json.key("lower_is_better").boolean(one.metric.lower_is_better());
        json.key("doubt");
        one.doubt == Doubt::none ? json.null() : json.string(name_of(one.doubt));
        json.key("pairs").unsigned_integer(one.pairs);
        json.key("units").unsigned_integer(one.units);
        json.key("block").unsigned_integer(one.block);
        json.key("floor").unsigned_integer(one.floor);
        const std::optional<double>& detect = comparison.detect;
        known("rows_needed", detect ? rows_needed(one, *detect) : std::nullopt);
        known("runs_needed", detect ? runs_needed(one, runs, *detect) : std::nullopt);
        json.end_object();
    }
    json.end_array();
}

void write_counts(JsonWriter& json, const PlayedCounts& counts) {
    const auto count = [&json](const char* key, std::uint64_t value) {
        json.key(key).unsigned_integer(value);
    };
    count("ok", counts.ok);
    count("failed", counts.failed);
    count("other_length", counts.other_length);
    count("abandoned", counts.abandoned);
    count("censored", counts.censored);
    count("dropped", counts.dropped);
    count("unplayed", counts.unplayed);
    count("interrupted", counts.interrupted);
    count("sent_again", counts.again);
    count("tainted", counts.tainted);
}

void write_runs(JsonWriter& json, const char* key, const std::vector<PlayedRun>& runs) {
    json.key(key).begin_array();
    for (const PlayedRun& run : runs) {
        json.begin_object();
        json.key("folder").string(run.folder);
        json.key("side");
        run.side.empty() ? json.null() : json.string(run.side);
        json.key("date").string(run.facts.info.date);
        json.key("verdict");
        run.verdict.empty() ? json.null() : json.string(run.verdict);
        json.key("warnings").begin_array();
        for (const std::string& warning : run.warnings) {
            json.string(warning);
        }
        json.end_array();
        write_counts(json, run.counts);
        json.end_object();
    }
    json.end_array();
}

void write_pairs(JsonWriter& json, const Comparison& comparison) {
    const GroupComparison& groups = comparison.groups;
    json.key("pairs").begin_object();
    json.key("requests").unsigned_integer(groups.keys);
    json.key("only_a").unsigned_integer(groups.only_a);
    json.key("only_b").unsigned_integer(groups.only_b);
    json.key("only_a_ok").unsigned_integer(groups.only_a_ok);
    json.key("only_b_ok").unsigned_integer(groups.only_b_ok);
    json.key("dues_differ").unsigned_integer(groups.dues_differ);
    json.key("sessions").unsigned_integer(groups.trees);
    json.key("answers_known").unsigned_integer(comparison.outputs.known);
    json.key("answers_changed").unsigned_integer(comparison.outputs.changed);
    json.end_object();
}

void write_thresholds(JsonWriter& json, const std::vector<JudgedThreshold>& thresholds) {
    json.key("thresholds").begin_array();
    for (const JudgedThreshold& one : thresholds) {
        json.begin_object();
        json.key("fail_if").string(one.threshold.text);
        json.key("of").string(one.threshold.relative ? "change" : "b");
        json.key("value").number(one.value);
        json.key("low").number(one.low);
        json.key("high").number(one.high);
        json.key("judged").string(name_of(one.judged));
        json.end_object();
    }
    json.end_array();
}

}  // namespace

void write_where(JsonWriter& json, const std::vector<ChangeView>& views, RowValue value) {
    json.begin_array();
    for (const ChangeView& view : views) {
        json.begin_object();
        json.key("value").string(name_of(value));
        json.key("by").string(view.by);
        json.key("groups").begin_array();
        for (const ChangeGroup& group : view.groups) {
            json.begin_object();
            json.key("name").string(group.name);
            json.key("requests").unsigned_integer(group.rows);
            json.key("ratio").number(group.ratio);
            json.key("low").number(group.low);
            json.key("high").number(group.high);
            json.key("in_these_runs").string(name_of(group.in_these_runs));
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

std::string comparison_json(const Comparison& comparison) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("schema").integer(compare_schema);
    json.key("same_work").boolean(comparison.same_work);
    write_differences(json, comparison.differences);
    write_metrics(json, comparison);
    json.key("evidence");
    comparison.groups.metrics.empty() ? json.null()
                                      : json.string(name_of(comparison.groups.evidence));
    json.key("detect");
    comparison.detect ? json.number(*comparison.detect) : json.null();
    json.key("margin").number(comparison.options.margin);
    json.key("share_margin").number(comparison.options.share_margin);
    json.key("confidence").number(comparison.options.confidence);
    write_pairs(json, comparison);
    write_runs(json, "a", comparison.a);
    write_runs(json, "b", comparison.b);
    json.key("where");
    write_where(json, comparison.where, comparison.value);
    write_thresholds(json, comparison.thresholds);
    json.end_object();
    escape_unprintable_json(text, 0);
    return text + "\n";
}

}  // namespace driftless
