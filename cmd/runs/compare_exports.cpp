#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/page.hpp"
#include "cmd/runs/compare.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

// `put` finds these by the types of their values, so that they are in no namespace of the file.

static void put_value(JsonWriter& json, const WorkDifference& one) {
    put_object(json, {{"what", one.what},
                      {"weight", one.weight},
                      {"a", or_null(one.a)},
                      {"b", one.b},
                      {"run", one.run},
                      {"remedy", one.remedy}});
}

static void put_value(JsonWriter& json, const PlayedRun& run) {
    json.begin_object();
    put(json, {{"folder", run.folder},
               {"side", or_null(run.side)},
               {"date", run.facts.info.date},
               {"verdict", or_null(run.verdict)},
               {"warnings", run.warnings}});
    for (const PlayedKind& kind : played_kinds) {
        put(json, {{kind.key, run.counts.*kind.count}});
    }
    json.end_object();
}

static void put_value(JsonWriter& json, const JudgedThreshold& one) {
    put_object(json, {{"fail_if", one.threshold.text},
                      {"of", one.threshold.relative ? "change" : "b"},
                      {"value", one.value},
                      {"low", one.low},
                      {"high", one.high},
                      {"judged", one.judged}});
}

static void put_value(JsonWriter& json, const ChangeGroup& group) {
    put_object(json, {{"name", group.name},
                      {"requests", group.rows},
                      {"ratio", group.ratio},
                      {"low", group.low},
                      {"high", group.high},
                      {"in_these_runs", group.in_these_runs}});
}

static constexpr int compare_schema = 2;

static void put_metrics(JsonWriter& json, const Comparison& comparison) {
    const std::uint64_t runs = std::max(comparison.a.size(), comparison.b.size());
    const std::optional<double>& detect = comparison.detect;
    json.begin_array();
    for (const MetricComparison& one : comparison.groups.metrics) {
        const std::string_view doubt = one.doubt == Doubt::none ? "" : name_of(one.doubt);
        put_object(json,
                   {{"name", one.metric.name()},
                    {"unit", one.metric.unit()},
                    {"a", one.a},
                    {"b", one.b},
                    {"ratio", one.ratio},
                    {"low", one.low},
                    {"high", one.high},
                    {"n_eff", one.n_eff},
                    {"smallest", one.smallest},
                    {"word", one.word},
                    {"in_these_runs", one.in_these_runs},
                    {"scale", one.metric.scale() == Scale::ratio ? "ratio" : "difference"},
                    {"change", one.change},
                    {"lower_is_better", one.metric.lower_is_better()},
                    {"doubt", or_null(doubt)},
                    {"pairs", one.pairs},
                    {"units", one.units},
                    {"block", one.block},
                    {"floor", one.floor},
                    {"rows_needed", detect ? rows_needed(one, *detect) : std::nullopt},
                    {"runs_needed", detect ? runs_needed(one, runs, *detect) : std::nullopt}});
    }
    json.end_array();
}

/// An array of objects: value, by, groups.
static auto where_of_value(const std::vector<ChangeView>& views, RowValue value) {
    return put_each(views, [value](JsonWriter& json, const ChangeView& view) {
        put_object(json, {{"value", name_of(value)}, {"by", view.by}, {"groups", view.groups}});
    });
}

/// One object, by compare.schema.json, with a newline at the end. Of a refused comparison:
/// `same_work`, `differences`, the runs, and no metrics.
static std::string comparison_json(const Comparison& comparison) {
    const GroupComparison& groups = comparison.groups;
    const ComparisonOptions& options = comparison.options;
    const auto metrics = [&comparison](JsonWriter& json) { put_metrics(json, comparison); };
    return printable_json({{"schema", compare_schema},
                           {"same_work", comparison.same_work},
                           {"differences", comparison.differences},
                           {"metrics", metrics},
                           {"evidence", known_if(!groups.metrics.empty(), groups.evidence)},
                           {"detect", comparison.detect},
                           {"margin", options.margin},
                           {"share_margin", options.share_margin},
                           {"confidence", options.confidence},
                           {"pairs", JsonPairs{{"requests", groups.keys},
                                               {"only_a", groups.only_a},
                                               {"only_b", groups.only_b},
                                               {"only_a_ok", groups.only_a_ok},
                                               {"only_b_ok", groups.only_b_ok},
                                               {"dues_differ", groups.dues_differ},
                                               {"sessions", groups.trees},
                                               {"answers_known", comparison.outputs.known},
                                               {"answers_changed", comparison.outputs.changed}}},
                           {"a", comparison.a},
                           {"b", comparison.b},
                           {"where", where_of_value(comparison.where, comparison.value)},
                           {"thresholds", comparison.thresholds}}) +
           "\n";
}

static std::string where_text(const Comparison& comparison) {
    std::string text;
    for (const ChangeView& view : comparison.where) {
        text += fmt::format("\n### {} by {}\n\n", markdown_text(name_of(comparison.value)),
                            markdown_text(view.by));
        text +=
            "| | requests | B / A, median | interval | these runs |\n|---|---:|---:|---:|---|\n";
        for (const ChangeGroup& one : view.groups) {
            text += markdown_row(
                {one.name, with_commas(static_cast<double>(one.rows), 0), ratio_text(one.ratio),
                 ratio_text(one.low) + " to " + ratio_text(one.high), name_of(one.in_these_runs)});
        }
    }
    return text;
}

/// Differences that `--anyway` let pass are told.
static TestCase work_case(const Comparison& comparison) {
    TestCase one{"compare", "the work of both can be compared", CaseEnd::passed, "",
                 joined(comparison.differences, "; ",
                        [](const WorkDifference& which) { return text_of(which); })};
    const bool refused = comparison.groups.metrics.empty();
    for (const WorkDifference& difference : comparison.differences) {
        if (refused && difference.weight != Weight::told && one.end == CaseEnd::passed) {
            one.end = CaseEnd::failed;
            one.message = difference.what + " differs";
        }
    }
    return one;
}

/// The summary page of a CI job.
static std::string comparison_markdown(const Comparison& comparison) {
    if (comparison.groups.metrics.empty()) {
        return std::string(markdown_begins) + " compare: not the same work\n\n```\n" +
               refusal_text(comparison) + "```\n";
    }
    std::string text = std::string(markdown_begins) +
                       " compare: " + comparison_sentence(comparison.groups) +
                       "\n\n| | |\n|---|---|\n";
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        text += markdown_row({one.label, one.text});
    }
    text += "\n" + markdown_row(metric_titles(comparison.groups)) +
            "|---|---|---:|---:|---:|---:|---:|---:|---|\n";
    for (const MetricComparison& one : comparison.groups.metrics) {
        text += markdown_row(metric_cells(one, comparison.groups));
    }
    if (!comparison.thresholds.empty()) {
        text += "\n| | fails if | found |\n|---|---|---|\n";
        for (const JudgedThreshold& one : comparison.thresholds) {
            text += markdown_row({name_of(one.judged), one.threshold.text, found_text(one)});
        }
    }
    return text + where_text(comparison);
}

/// A case for the sameness of work, and one for each `--fail-if`: what is unsure is skipped, or has
/// failed where `unsure_fails`.
static std::string comparison_junit(const Comparison& comparison, bool unsure_fails) {
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

static constexpr std::array<std::string_view, 1> scripts{"two_sides"};
/// More would make the page too large to be fluid: it has every second request then, or third.
static constexpr std::size_t requests_max = 25'000;

/// What a request is, and its value on both sides for each of the four times.
static std::vector<PageColumn> request_columns(const Comparison& comparison, std::size_t stride) {
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

/// As they can be shown: a folder's name may hold anything.
static std::string names_text(const std::vector<PlayedRun>& runs) {
    return joined(runs, "; ", [](const PlayedRun& run) { return printable(run.name()); });
}

/// One offline page for a browser, of a comparison that was not refused: both sides on one axis,
/// where requests changed, the table. Its script is page/two_sides.js. Cells are those of the
/// screen, so that the page rounds nothing in another way.
static std::string comparison_page(const Comparison& comparison) {
    const std::size_t all = comparison.requests.size();
    const std::vector<PageColumn> columns = request_columns(comparison, all / requests_max + 1);
    const std::vector<ComparisonNote> notes = comparison_notes(comparison);
    const auto put_note = [](JsonWriter& to, const ComparisonNote& one) {
        to.begin_array().string(one.label).string(printable(one.text)).end_array();
    };
    const auto put_cells = [&comparison](JsonWriter& to, const MetricComparison& metric) {
        put_value(to, metric_cells(metric, comparison.groups));
    };
    const auto put_where = [&comparison](JsonWriter& to) {
        to.begin_array();
        for (std::size_t i = 0; i < row_value_count; ++i) {
            const auto value = static_cast<RowValue>(i);
            const std::vector<ChangeView> views = where_of(comparison, value);
            put_value(to, where_of_value(views, value));
        }
        to.end_array();
    };
    const std::string whole = comparison_json(comparison);
    const std::string data = json_text(JsonPairs{
        {"program", std::string("driftless ") + version()},
        {"comparison", [&whole](JsonWriter& to) { to.raw(whole); }},
        {"a", names_text(comparison.a)},
        {"b", names_text(comparison.b)},
        {"notes", put_each(notes, put_note)},
        {"said", comparison_sentence(comparison.groups)},
        {"titles", metric_titles(comparison.groups)},
        {"cells", put_each(comparison.groups.metrics, put_cells)},
        {"where", put_where},
        {"requests",
         JsonPairs{{"rows", columns.front().rows()}, {"of", all}, {"columns", columns}}}});
    return page_text(
        printable(comparison.a.front().name() + " against " + comparison.b.front().name()), scripts,
        data);
}

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
