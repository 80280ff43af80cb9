#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "cmd/reading/view.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "cmd/report/report.hpp"
#include "cmd/report/text_parts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

static constexpr const char* others = "(others)";

namespace {

/// The rows of one key.
struct Grouping {
    GroupKey key;
    std::vector<std::uint32_t> bounds;  ///< of `input`
    std::map<std::string, std::unique_ptr<Summary>> groups;

    Summary& of(const std::string& value, const GoodputRules& rules, Overhead overhead) {
        const bool has_place = groups.contains(value) || groups.size() < groups_max;
        std::unique_ptr<Summary>& group = groups[has_place ? value : others];
        if (!group) {
            group = std::make_unique<Summary>(rules, overhead);
        }
        return *group;
    }
    /// "1..512", of the range that holds the length.
    std::string range_of(std::uint32_t length) const {
        const auto end = std::ranges::lower_bound(bounds, length);
        CHECK(end != bounds.end());
        const std::uint32_t from = end == bounds.begin() ? 0 : *(end - 1) + 1;
        return std::to_string(from) + ".." + std::to_string(*end);
    }
};

}  // namespace

/// Ascending where all are numbers or ranges of numbers; else the largest group first.
static void sort_rows(std::vector<GroupRow>& rows) {
    const auto number = [](const GroupRow& row) { return std::strtod(row.value.c_str(), nullptr); };
    const bool numbers = std::ranges::all_of(rows, [](const GroupRow& row) {
        return !row.value.empty() && row.value[0] >= '0' && row.value[0] <= '9';
    });
    std::ranges::stable_sort(rows, [&](const GroupRow& a, const GroupRow& b) {
        return numbers ? number(a) < number(b) : a.figures[0].value > b.figures[0].value;
    });
}

namespace {

/// A time by its name among all figures, and its decimals on the screen; nothing: it is not there.
struct GroupTime {
    std::string_view name;
    std::optional<int> decimals;
};

}  // namespace

static constexpr std::array group_times{GroupTime{"ttft", 1}, GroupTime{"ttft_due", {}},
                                        GroupTime{"tpot", 2}, GroupTime{"e2e", 0}};

static std::optional<ErrorBar> scaled(const std::optional<ErrorBar>& error, double by) {
    return error ? std::optional(ErrorBar{error->below * by, error->above * by}) : std::nullopt;
}

static std::vector<GroupFigure> figures_of(const Summary& group, const ReportedRun& run) {
    const double seconds = static_cast<double>(run.figures.duration_ns) / ns_per_s;
    SummaryFigures f = group.figures();
    // What the run knows: all rows of a group may have failed here, or have no record.
    f.has_bounds = run.facts.schema >= first_schema_with_bounds;
    f.more_unrecorded = run.figures.lacks_rows();
    const GoodputCounts good = f.goodput();
    const bool judged = good.decided > 0 && f.uncounted.goodput == 0;
    const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
    const double hits = 100 * real(f.cached_tokens_compared());
    const double prompts = real(f.cache_prompt_tokens.value_or(0));
    std::vector<GroupFigure> out = {
        {real(f.rows)},
        {real(f.answered())},
        {real(f.failed)},
        {known_if(f.uncounted.inputs == 0, real(f.input_tokens))},
        {known_if(f.uncounted.outputs == 0, real(f.output_tokens))},
        {known_if(seconds > 0, ratio(real(f.answered()), seconds))},
        {known_if(seconds > 0 && f.uncounted.outputs == 0, ratio(real(f.output_tokens), seconds))},
        {known_if(f.cache_rows_reported > 0, real(f.cached_tokens))},
        {known_if(f.foretells_hits(), real(f.expected_cached_tokens))},
        {known_if(prompts > 0, ratio(hits, prompts))},
        {known_if(f.expected_of_compared() > 0, ratio(hits, real(f.expected_of_compared())))},
        {known_if(judged, real(good.good))},
        {known_if(judged, 100 * good.share().value_or(0)), scaled(f.good_error(), 100)}};
    for (const GroupTime& time : group_times) {
        const FigureName& figure = *find_figure(time.name);
        const Distribution& of = figure.distribution(f);
        for (const Statistic& statistic : shown_statistics) {
            out.push_back({known_if(of.count > 0, statistic.of(of) / ns_per_ms),
                           scaled(error_of(figure, statistic, f), 1 / ns_per_ms)});
        }
    }
    CHECK(out.size() == group_columns().size());
    return out;
}

static GroupTable table_of(const Grouping& grouping, const ReportedRun& run) {
    GroupTable table;
    table.key = grouping.key.text;
    table.has_bars = run.facts.schema >= first_schema_with_bounds;
    for (const auto& [value, group] : grouping.groups) {
        table.rows.push_back({value, figures_of(*group, run)});
    }
    sort_rows(table.rows);
    return table;
}

/// The ranges of `input:N` are known after a pass of their own.
static std::string find_bounds(const ReportedRun& run, std::vector<Grouping>& groupings) {
    const bool wanted = std::ranges::any_of(
        groupings, [](const Grouping& one) { return one.key.kind == GroupKey::Kind::input; });
    if (!wanted) {
        return "";
    }
    std::vector<std::uint32_t> lengths;
    const std::string why = each_record(run, [&lengths](const Record& record) {
        lengths.push_back(record.input_length.value_or(0));
    });
    for (Grouping& one : groupings) {
        if (one.key.kind == GroupKey::Kind::input) {
            one.bounds = length_bounds(lengths, one.key.parts);
        }
    }
    return why;
}

namespace {

/// What records have of their own: the columns of --keep, and the headers of --record-header, with
/// a value or without.
struct OwnNames {
    std::vector<std::string> columns;
    std::vector<std::string> headers;

    void meet(const Record& record, JsonDocument& document) {
        if (columns.empty() && !record.kept.empty()) {
            const Result<JsonValue> root = document.parse(record.kept);
            for (JsonValue one = root ? root.value().first() : JsonValue(); one.present();
                 one = one.next()) {
                columns.emplace_back(one.key());
            }
        }
        if (headers.empty()) {
            for (const RecordedHeader& header : record.headers) {
                headers.push_back(header.name);
            }
        }
    }
    /// Why rows cannot be told apart by that; empty: they can.
    std::string refusal(const GroupKey& key) const {
        const bool is_header = key.kind == GroupKey::Kind::header;
        if (!is_header && key.kind != GroupKey::Kind::kept) {
            return "";
        }
        const std::vector<std::string>& names = is_header ? headers : columns;
        const bool known = std::ranges::any_of(names, [&](const std::string& name) {
            return is_header ? equal_ignoring_case(name, key.member) : name == key.member;
        });
        const std::string flag = is_header ? "--record-header " : "--keep ";
        const std::string kind = is_header ? "header." : "kept.";
        return known ? ""
                     : "no record has " + key.text + "; " +
                           (names.empty() ? "replay with " + flag + key.member
                                          : "there are " + kind + joined(names, ", " + kind));
    }
};

}  // namespace

const std::vector<GroupColumn>& group_columns() {
    static const std::vector<GroupColumn> columns = [] {
        std::vector<GroupColumn> all = {{"requests", "rows", 0},
                                        {"completed", "", 0},
                                        {"failed", "failed", 0},
                                        {"input_tokens", "", 0},
                                        {"output_tokens", "", 0},
                                        {"request_throughput", "", 2},
                                        {"output_throughput", "out/s", 0},
                                        {"cached_tokens", "", 0},
                                        {"expected_cached_tokens", "", 0},
                                        {"prompt_hit_percent", "hit %", 1},
                                        {"expected_hit_percent", "of exp. %", 1},
                                        {"good", "", 0},
                                        {"good_percent", "good %", 1, true}};
        for (const GroupTime& time : group_times) {
            const bool has_error = find_figure(time.name)->bounds != nullptr;
            for (const Statistic& one : shown_statistics) {
                const std::string statistic = one.name;
                const std::string title = statistic == "p50"
                                              ? std::string(find_figure(time.name)->title) + " p50"
                                              : "p99";
                const bool shown = time.decimals && (statistic == "p50" || statistic == "p99");
                all.push_back({statistic + "_" + std::string(time.name) + "_ms", shown ? title : "",
                               time.decimals.value_or(2), has_error});
            }
        }
        return all;
    }();
    return columns;
}

static std::string group_tables(const ReportedRun& run, const std::vector<GroupKey>& keys,
                                const GoodputRules& slos, std::vector<GroupTable>& out) {
    std::vector<Grouping> groupings;
    const auto add = [&groupings](const GroupKey& key) {
        const bool has = std::ranges::any_of(
            groupings, [&key](const Grouping& one) { return one.key.text == key.text; });
        if (!has) {
            groupings.push_back({key, {}, {}});
        }
    };
    std::ranges::for_each(keys, add);
    for (const GoodputRule& slo : slos) {
        if (keys.empty() && slo.key) {
            add(*slo.key);
        }
    }
    std::string why = find_bounds(run, groupings);
    if (!why.empty()) {
        return why;
    }
    const GoodputRules& rules = run.figures.goodput_rules;  // what is asked here among them
    JsonDocument document;
    OwnNames own;
    why = each_record(run, [&](const Record& record) {
        own.meet(record, document);
        Record measured = record;
        measured.phase = Phase::profile;  // else a summary leaves it out
        for (Grouping& grouping : groupings) {
            if (record.phase != Phase::profile && grouping.key.kind != GroupKey::Kind::phase) {
                continue;
            }
            const bool ranges = grouping.key.kind == GroupKey::Kind::input;
            grouping
                .of(ranges ? grouping.range_of(record.input_length.value_or(0))
                           : group_value(grouping.key, record, document),
                    rules, run.facts.overhead)
                .add(measured);
        }
    });
    for (const Grouping& grouping : groupings) {
        why = why.empty() ? own.refusal(grouping.key) : why;
        out.push_back(table_of(grouping, run));
    }
    return why;
}

GroupCells group_cells(const GroupTable& table) {
    GroupCells cells{{"by " + table.key}, {}};
    for (const GroupRow& row : table.rows) {
        cells.lines.push_back({printable(row.value)});
    }
    for (std::size_t i = 0; i < group_columns().size(); ++i) {
        const auto& [name, title, decimals, has_error] = group_columns()[i];
        const auto any = [&](auto has) {
            return std::ranges::any_of(table.rows,
                                       [&](const GroupRow& row) { return has(row.figures[i]); });
        };
        if (title.empty() || !any([](const GroupFigure& one) { return one.value.has_value(); })) {
            continue;
        }
        const bool has_errors = table.has_bars && has_error &&
                                !title.ends_with(" p50") &&  // for room
                                any([](const GroupFigure& one) {
                                    return one.value && (!one.error || most_of(*one.error) > 0);
                                });
        cells.head.push_back(title + (has_errors ? " (client)" : ""));
        for (std::size_t at = 0; at < table.rows.size(); ++at) {
            const auto& [value, error] = table.rows[at].figures[i];
            const std::string moved = error ? error_text(*error) : "?";
            cells.lines[at].push_back((value ? fixed(*value, decimals) : "-") +
                                      (value && has_errors ? " (" + moved + ")" : ""));
        }
    }
    return cells;
}

static std::string group_screen(const std::vector<GroupTable>& tables) {
    std::string screen;
    for (const GroupTable& table : tables) {
        GroupCells cells = group_cells(table);
        ViewTable lines(std::move(cells.head));
        for (std::vector<std::string>& line : cells.lines) {
            lines.add(std::move(line));
        }
        screen += "\n" + lines.text();
    }
    return screen + (tables.empty() ? "" : std::string(group_units) + "\n");
}

static void put_value(JsonWriter& json, const GroupRow& row) {
    json.begin_object();
    put(json, {{"value", row.value}});
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
        put(json, {{group_columns()[i].name, row.figures[i].value}});
    }
    json.key("client_error").begin_object();
    for (std::size_t i = 0; i < row.figures.size(); ++i) {
        if (group_columns()[i].has_error) {
            put(json, {{group_columns()[i].name, row.figures[i].error}});
        }
    }
    json.end_object().end_object();
}

static void put_value(JsonWriter& json, const GroupTable& table) {
    put_object(json, {{"key", table.key}, {"groups", table.rows}});
}

std::string take_groups(const ReportReadings& readings, ReportedRun& run, ReadingTexts& out) {
    std::string why = group_tables(run, readings.by, readings.slos, run.groups);
    out.add("by", group_screen(run.groups), run.groups);
    return why;
}

std::string group_csv(const std::vector<GroupTable>& tables) {
    std::string text;
    CsvLines lines(text);
    lines.add("key");
    lines.add("value");
    for (const GroupColumn& column : group_columns()) {
        lines.add(column.name);
    }
    for (const GroupColumn& column : group_columns()) {
        if (column.has_error) {
            lines.add("below_" + column.name);
            lines.add("above_" + column.name);
        }
    }
    lines.end();
    for (const GroupTable& table : tables) {
        for (const GroupRow& row : table.rows) {
            lines.add(table.key);
            lines.add(printable(row.value));
            for (const GroupFigure& figure : row.figures) {
                lines.add(figure.value);
            }
            for (std::size_t i = 0; i < row.figures.size(); ++i) {
                if (const auto& error = row.figures[i].error; group_columns()[i].has_error) {
                    lines.add(known_if(error.has_value(), error.value_or(ErrorBar()).below));
                    lines.add(known_if(error.has_value(), error.value_or(ErrorBar()).above));
                }
            }
            lines.end();
        }
    }
    return text;
}

namespace {

struct TreeFigureName {
    const char* key;
    const char* title;
    int decimals;
    Distribution TreeTotals::* figure;
};

}  // namespace

static constexpr std::array tree_figure_names{
    TreeFigureName{"duration_s", "duration, s", 2, &TreeTotals::duration_s},
    TreeFigureName{"turns", "turns", 0, &TreeTotals::turns},
    TreeFigureName{"answer_s", "in answers, s", 2, &TreeTotals::answer_s},
    TreeFigureName{"gap_s", "in gaps, s", 2, &TreeTotals::gap_s},
    TreeFigureName{"computed_tokens", "prompt tokens computed", 0, &TreeTotals::computed},
    TreeFigureName{"cached_tokens", "prompt tokens cached", 0, &TreeTotals::cached},
    TreeFigureName{"output_tokens", "output tokens", 0, &TreeTotals::output},
};

static std::string tree_screen(const TreeTotals& totals) {
    Lines lines;
    lines.blank();
    if (totals.trees == 0) {
        lines.add("Trees", "none: no request belongs to a session");
        return lines.take();
    }
    lines.add("Trees", fmt::format("{} of {} finished, {} failed, {} cut off; {} requests alone",
                                   totals.finished, totals.trees, totals.failed, totals.unfinished,
                                   totals.rows_alone));
    if (totals.jobs_per_hour) {
        lines.add("Jobs",
                  fmt::format("{:.1f} per hour{}", *totals.jobs_per_hour,
                              totals.jobs_per_hour_per_user
                                  ? fmt::format(", {:.2f} per hour and user, of {}",
                                                *totals.jobs_per_hour_per_user, totals.users)
                                  : ""));
    }
    if (totals.joules_per_tree) {
        lines.add("Energy", fmt::format("{:.2f} J per finished tree", *totals.joules_per_tree));
    }
    ViewTable table({"finished trees", "mean", "p50", "p90", "p99", "max"});
    for (const TreeFigureName& name : tree_figure_names) {
        const Distribution& of = totals.*name.figure;
        std::vector<std::string> row{name.title};
        for (const double value :
             {of.mean, of.median(), of.at[p90_index], of.at[p99_index], of.max}) {
            row.push_back(of.count == 0 ? "-" : fixed(value, name.decimals));
        }
        table.add(std::move(row));
    }
    return lines.take() + table.text();
}

static void put_value(JsonWriter& json, const TreeTotals& totals) {
    json.begin_object();
    put(json, {{"trees", totals.trees},
               {"finished", totals.finished},
               {"failed", totals.failed},
               {"unfinished", totals.unfinished},
               {"requests_alone", totals.rows_alone},
               {"users", totals.users},
               {"jobs_per_hour", totals.jobs_per_hour},
               {"jobs_per_hour_per_user", totals.jobs_per_hour_per_user},
               {"joules_per_tree", totals.joules_per_tree}});
    for (const TreeFigureName& name : tree_figure_names) {
        const Distribution& of = totals.*name.figure;
        const auto value = [&of](double measured) { return known_if(of.count > 0, measured); };
        put(json, {{name.key, JsonPairs{{"mean", value(of.mean)},
                                        {"p50", value(of.median())},
                                        {"p90", value(of.at[p90_index])},
                                        {"p99", value(of.at[p99_index])},
                                        {"max", value(of.max)},
                                        {"sum", value(of.mean * static_cast<double>(of.count))}}}});
    }
    json.end_object();
}

std::string take_trees(const ReportedRun& run, ReadingTexts& out) {
    TreeFigures trees;
    std::string why = each_record(run, [&trees](const Record& record) { trees.add(record); });
    TreeTotals totals = trees.totals(run.figures.duration_ns);
    if (run.info.server && run.info.server->joules && totals.finished > 0) {
        totals.joules_per_tree = *run.info.server->joules / static_cast<double>(totals.finished);
    }
    out.add("trees", tree_screen(totals), totals);
    return why;
}

std::string read_viewed_run(const ReportedRun& run, ViewedRun& out) {
    const SummaryFigures& figures = run.figures;
    out.duration_ns = figures.duration_ns;
    const GoodputLimits limits = common_limits(figures.goodput_rules);
    out.limits = {limits.ttft_ns, limits.tpot_ns, limits.e2e_ns};
    const RunSegment& first = run.facts.segments.front();
    out.zero_utc_ns = first.clock.zero_utc_ns;
    out.run_id = first.run_id;
    out.date = run.info.date;
    out.backend = run.info.backend;
    out.model = run.info.model_id;
    out.tokenizer = run.info.tokenizer_id;
    out.max_concurrency = run.info.max_concurrency;
    double prompts = 0;  // of which the hits are foretold
    double hits = 0;
    const std::string why = each_record(run, [&](const Record& record) {
        if (record.phase != Phase::profile) {
            return;
        }
        if (record.fired_ns && record.expected_cached_tokens) {
            prompts += static_cast<double>(prompt_tokens_of(record));
            hits += static_cast<double>(*record.expected_cached_tokens);
        }
        std::optional<ViewedRequest> request = viewed_request(record);
        if (!request) {
            ++out.unsent;
            return;
        }
        // Versions without stamps of events have those of tokens.
        out.has_events = out.has_events && (record.first_event_ns || !record.first_token_ns);
        out.requests.push_back(std::move(*request));
    });
    out.hit_rate_ceiling = prompts > 0 ? std::optional(hits / prompts) : std::nullopt;
    std::ranges::stable_sort(out.requests, {}, &ViewedRequest::row);
    return why;
}

}  // namespace driftless
