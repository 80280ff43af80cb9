#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/page.hpp"
#include "cmd/runs/compare.hpp"
#include "proto/core/text.hpp"
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
        write_optional_text(json, "a", one.a);
        json.key("b").string(one.b);
        json.key("run").string(one.run);
        json.key("remedy").string(one.remedy);
        json.end_object();
    }
    json.end_array();
}

void write_metrics(JsonWriter& json, const Comparison& comparison) {
    const std::uint64_t runs = std::max(comparison.a.size(), comparison.b.size());
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
        json.key("rows_needed").optional(detect ? rows_needed(one, *detect) : std::nullopt);
        json.key("runs_needed").optional(detect ? runs_needed(one, runs, *detect) : std::nullopt);
        json.end_object();
    }
    json.end_array();
}

void write_runs(JsonWriter& json, const char* key, const std::vector<PlayedRun>& runs) {
    json.key(key).begin_array();
    for (const PlayedRun& run : runs) {
        json.begin_object();
        json.key("folder").string(run.folder);
        write_optional_text(json, "side", run.side);
        json.key("date").string(run.facts.info.date);
        write_optional_text(json, "verdict", run.verdict);
        write_texts(json, "warnings", run.warnings);
        for (const PlayedKind& kind : played_kinds) {
            json.key(kind.key).unsigned_integer(run.counts.*kind.count);
        }
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

/// An array of objects: value, by, groups.
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

/// One object, by compare.schema.json, with a newline at the end. Of a refused comparison:
/// `same_work`, `differences`, the runs, and no metrics.
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
    json.key("detect").optional(comparison.detect);
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

std::string table_row(const std::vector<std::string>& texts) {
    std::string line = "|";
    for (const std::string& text : texts) {
        line += " " + markdown_text(text) + " |";
    }
    return line + "\n";
}

std::string where_text(const Comparison& comparison) {
    std::string text;
    const auto ratio = [](double value) {
        return std::isnan(value) ? std::string("-") : fixed(value, 3);
    };
    for (const ChangeView& view : comparison.where) {
        text += fmt::format("\n### {} by {}\n\n", markdown_text(name_of(comparison.value)),
                            markdown_text(view.by));
        text +=
            "| | requests | B / A, median | interval | these runs |\n|---|---:|---:|---:|---|\n";
        for (const ChangeGroup& one : view.groups) {
            text += table_row({one.name, with_commas(static_cast<double>(one.rows), 0),
                               ratio(one.ratio), ratio(one.low) + " to " + ratio(one.high),
                               name_of(one.in_these_runs)});
        }
    }
    return text;
}

/// Differences that `--anyway` let pass are told.
TestCase work_case(const Comparison& comparison) {
    TestCase one{"compare", "the work of both can be compared", CaseEnd::passed, "", ""};
    const bool refused = comparison.groups.metrics.empty();
    for (const WorkDifference& difference : comparison.differences) {
        one.details += (one.details.empty() ? "" : "; ") + text_of(difference);
        if (refused && difference.weight != Weight::told && one.end == CaseEnd::passed) {
            one.end = CaseEnd::failed;
            one.message = difference.what + " differs";
        }
    }
    return one;
}

/// The summary page of a CI job.
std::string comparison_markdown(const Comparison& comparison) {
    if (comparison.groups.metrics.empty()) {
        return std::string(markdown_begins) + " compare: not the same work\n\n```\n" +
               refusal_text(comparison) + "```\n";
    }
    std::string text = std::string(markdown_begins) +
                       " compare: " + comparison_sentence(comparison.groups) +
                       "\n\n| | |\n|---|---|\n";
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        text += table_row({one.label, one.text});
    }
    std::vector<std::string> titles = metric_titles(comparison.groups);
    text += "\n" + table_row(titles) + "|---|---|---:|---:|---:|---:|---:|---:|---|\n";
    for (const MetricComparison& one : comparison.groups.metrics) {
        text += table_row(metric_cells(one, comparison.groups));
    }
    if (!comparison.thresholds.empty()) {
        text += "\n| | fails if | found |\n|---|---|---|\n";
        for (const JudgedThreshold& one : comparison.thresholds) {
            text += table_row({name_of(one.judged), one.threshold.text, found_text(one)});
        }
    }
    return text + where_text(comparison);
}

/// A case for the sameness of work, and one for each `--fail-if`: what is unsure is skipped, or has
/// failed where `unsure_fails`.
std::string comparison_junit(const Comparison& comparison, bool unsure_fails) {
    std::vector<TestCase> cases{work_case(comparison)};
    for (const JudgedThreshold& one : comparison.thresholds) {
        const bool unsure = one.judged == Judged::unsure;
        const bool fails = one.judged == Judged::fails || (unsure && unsure_fails);
        const std::string found = std::string(name_of(one.judged)) + ": " + found_text(one);
        cases.push_back({"fail-if", one.threshold.text,
                         fails    ? CaseEnd::failed
                         : unsure ? CaseEnd::skipped
                                  : CaseEnd::passed,
                         found, found});
    }
    const PlayedRun& run = comparison.b.front();
    return junit_text(run.facts.info.trace, cases, run.compared.duration_ns, run.facts.info.date);
}

constexpr std::array<std::string_view, 1> scripts{"two_sides"};
/// More would make the page too large to be fluid: it has every second request then, or third.
constexpr std::size_t requests_max = 25'000;

/// What a request is, and its value on both sides for each of the four times.
std::vector<PageColumn> request_columns(const Comparison& comparison, std::size_t stride) {
    std::vector<PageColumn> columns{
        {"row", ""}, {"pass", ""}, {"turn", ""}, {"due_ns", "ns"}, {"input", "tokens"}};
    const std::size_t facts = columns.size();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const std::string name = name_of(static_cast<RowValue>(i));
        columns.emplace_back(name + "_a", "ns");
        columns.emplace_back(name + "_b", "ns");
    }
    for (std::size_t at = 0; at < comparison.requests.size(); at += stride) {
        const PairedRequest& one = comparison.requests[at];
        columns[0].add_rounded(one.row);
        columns[1].add_rounded(one.pass);
        columns[2].add_rounded(one.turn > 0 ? one.turn : unknown_value);
        columns[3].add_rounded(static_cast<double>(one.due_ns));
        columns[4].add_rounded(one.input_tokens);
        for (std::size_t i = 0; i < row_value_count; ++i) {
            columns[facts + 2 * i].add_rounded(one.a[i]);
            columns[facts + 2 * i + 1].add_rounded(one.b[i]);
        }
    }
    return columns;
}

void write_requests(JsonWriter& json, const Comparison& comparison) {
    const std::size_t all = comparison.requests.size();
    const std::vector<PageColumn> columns = request_columns(comparison, all / requests_max + 1);
    json.key("requests").begin_object();
    json.key("rows").unsigned_integer(columns.front().rows());
    json.key("of").unsigned_integer(all);
    json.key("columns");
    write_page_columns(json, columns);
    json.end_object();
}

/// As they can be shown: a folder's name may hold anything.
void write_names(JsonWriter& json, const char* key, const std::vector<PlayedRun>& runs) {
    json.key(key).string(
        joined(runs, "; ", [](const PlayedRun& run) { return printable(run.name()); }));
}

void write_notes(JsonWriter& json, const Comparison& comparison) {
    json.key("notes").begin_array();
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        json.begin_array().string(one.label).string(printable(one.text)).end_array();
    }
    json.end_array();
}

/// As on the screen, so that the page rounds nothing in another way.
void write_cells(JsonWriter& json, const Comparison& comparison) {
    json.key("cells").begin_array();
    for (const MetricComparison& metric : comparison.groups.metrics) {
        json.begin_array();
        for (const std::string& cell : metric_cells(metric, comparison.groups)) {
            json.string(cell);
        }
        json.end_array();
    }
    json.end_array();
}

/// One offline page for a browser, of a comparison that was not refused: both sides on one axis,
/// where requests changed, the table. Its script is page/two_sides.js.
std::string comparison_page(const Comparison& comparison) {
    std::string data;
    JsonWriter json(data);
    json.begin_object();
    json.key("program").string(std::string("driftless ") + version());
    json.key("comparison").raw(comparison_json(comparison));
    write_names(json, "a", comparison.a);
    write_names(json, "b", comparison.b);
    write_notes(json, comparison);
    json.key("said").string(comparison_sentence(comparison.groups));
    write_texts(json, "titles", metric_titles(comparison.groups));
    write_cells(json, comparison);
    json.key("where").begin_array();
    for (std::size_t i = 0; i < row_value_count; ++i) {
        const auto value = static_cast<RowValue>(i);
        write_where(json, where_of(comparison, value), value);
    }
    json.end_array();
    write_requests(json, comparison);
    json.end_object();
    return page_text(
        printable(comparison.a.front().name() + " against " + comparison.b.front().name()), scripts,
        data);
}

}  // namespace

std::vector<NewText> export_files(const CompareExports& exports, const Comparison& comparison,
                                  bool unsure_fails) {
    return {
        {"--json", exports.json, [&](int&) { return comparison_json(comparison); }},
        {"--markdown", exports.ci.markdown, [&](int&) { return comparison_markdown(comparison); }},
        {"--junit", exports.ci.junit,
         [&, unsure_fails](int&) { return comparison_junit(comparison, unsure_fails); }},
        {"--html", exports.html, [&](int&) { return comparison_page(comparison); }}};
}

}  // namespace driftless
