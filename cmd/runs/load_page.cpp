// The page of a search or a sweep: load against each figure, what must hold of it, the knee, and a
// link to the page of each run.
#include <algorithm>
#include <array>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/report/page.hpp"
#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"
#include "proto/json/put.hpp"

namespace driftless {

namespace {

struct LoadPoint {
    double load = 0;
    std::string name;                  ///< "rate 12.5 seed 1"
    std::string group;                 ///< what else differs; empty: nothing
    std::string outcome;               ///< "meets", "fails"; anything else: it says nothing
    std::string why;                   ///< of an outcome that the figures do not show
    std::string run;                   ///< its folder, below that of the page
    std::vector<std::string> cells;    ///< [columns]
    std::vector<GroupFigure> figures;  ///< [limits]: ms, a share from 0 to 1, or a number
};

/// What one chart shows.
struct LoadLimit {
    std::string condition;        ///< "ttft:p99<2s", or a figure alone
    std::optional<double> bound;  ///< in the unit of its values
};

struct LoadPage {
    std::string command;  ///< "find"
    std::string title;
    std::string over;                                        ///< "rate"
    std::string unit;                                        ///< "a second"; may be empty
    std::vector<std::pair<std::string, std::string>> facts;  ///< a label and what is said of it
    std::vector<std::string> columns;                        ///< of the runs, before their outcomes
    std::vector<LoadLimit> limits;
    Knee knee;
    std::vector<LoadPoint> points;
};

}  // namespace

static double unit_of(const Threshold& threshold) {
    return threshold.figure->unit == FigureUnit::time ? ns_per_ms : 1;
}

static LoadLimit limit_of(std::string condition, const Threshold& threshold) {
    return {std::move(condition), threshold.bound / unit_of(threshold)};
}

/// The name of the first one.
static std::string title_of(const std::vector<KeptTrace>& traces) {
    const std::string path = traces.empty() ? "no trace" : traces.front().path;
    return path.substr(path.rfind('/') + 1);
}

static bool is_judged(std::string_view outcome) {
    return outcome == "meets" || outcome == "fails";
}

static LoadPoint point_of(const SearchReport& report, const JudgedProbe& probe) {
    LoadPoint point;
    point.load = probe.probe.value;
    point.name = std::string(report.options->over->name) + " " + load_text(point.load);
    if (probe.probe.seed > 0) {
        point.name += " seed " + std::to_string(report.options->seed + probe.probe.seed);
    }
    point.cells = {load_text(point.load)};
    point.outcome = name_of(probe.outcome);
    const bool is_shown = is_judged(point.outcome) && probe.binds != stability_slo;
    point.why = is_shown ? "" : probe.why;
    point.run = probe.run;
    for (const ThresholdFinding& one : probe.findings) {
        point.figures.push_back({one.value, one.error});
    }
    return point;
}

static LoadPage page_of_search(const SearchReport& report) {
    LoadPage page{.command = "find",
                  .title = title_of(report.traces),
                  .over = std::string(report.options->over->name),
                  .unit = report.options->over->unit,
                  .facts = result_facts(report),
                  .columns = {std::string(report.options->over->name)},
                  .limits = {},
                  .knee = report.knee,
                  .points = {}};
    for (const Slo& slo : report.options->slos.list) {
        page.limits.push_back(limit_of(slo.text, slo.threshold));
    }
    for (const JudgedProbe& probe : report.probes) {
        page.points.push_back(point_of(report, probe));
    }
    return page;
}

/// The first axis that is a load.
static std::optional<std::size_t> numeric_axis(const SweepPlan& plan) {
    const auto found = std::ranges::find_if(plan.axes, [](const SweepAxis& axis) {
        return std::ranges::all_of(axis.values, [](const std::string& value) {
            return read_number<double>(value).has_value();
        });
    });
    return found == plan.axes.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - plan.axes.begin()));
}

/// What the runs of a sweep must keep, each as the condition that fails: that of all rows, by the
/// first run that has a summary.
static std::vector<Threshold> limits_of(const std::vector<TableRun>& runs) {
    std::vector<Threshold> limits;
    const auto run =
        std::ranges::find_if(runs, [](const TableRun& one) { return one.summary.has_value(); });
    const JsonValue all = run == runs.end() ? JsonValue() : run->summary->root().find("thresholds");
    for (JsonValue one = all.first(); one.present(); one = one.next()) {
        if (Result<Threshold> limit = parse_threshold(kept_text(one.find("fail_if"))); limit) {
            limits.push_back(std::move(limit).value());
        }
    }
    return limits;
}

static LoadPoint point_of(const LedgerCell& cell, const TableRun& run, std::size_t axis,
                          const std::vector<Threshold>& figures, bool has_limits) {
    LoadPoint point;
    point.name = cell.planned.name;
    point.run = cell.planned.folder;
    const auto& values = cell.planned.values;
    point.load = read_number<double>(values[axis].value).value_or(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        point.cells.push_back(values[i].value);
        if (i != axis) {
            point.group += (point.group.empty() ? "" : " ") + values[i].text();
        }
    }
    const Threshold served = parse_figure("request_throughput").value();
    const auto rate = run.summary ? run.summary->figure(served) : std::nullopt;
    point.cells.push_back(rate ? load_text(*rate) : "-");
    const bool counts = has_limits && run.counts();
    point.outcome = counts && cell.outcome == CellOutcome::threshold   ? "fails"
                    : counts && cell.outcome == CellOutcome::completed ? "meets"
                    : run.counts()                                     ? name_of(cell.outcome)
                                                                       : "left out";
    point.why = run.left_out;
    for (const Threshold& which : figures) {
        GroupFigure one;
        if (run.summary) {
            one = {run.summary->figure(which), run.summary->error_bar(which)};
        }
        const double unit = unit_of(which);
        one.value = one.value ? std::optional(*one.value / unit) : std::nullopt;
        one.error = one.error
                        ? std::optional(ErrorBar{one.error->below / unit, one.error->above / unit})
                        : std::nullopt;
        point.figures.push_back(one);
    }
    return point;
}

/// Between the loads at which all cells keep the limits and those at which one does not.
static Knee knee_of(const std::vector<LoadPoint>& points) {
    Knee knee;
    for (const LoadPoint& one : points) {
        if (one.outcome == "fails") {
            knee.fail = std::min(knee.fail.value_or(one.load), one.load);
        }
    }
    for (const LoadPoint& one : points) {
        if (one.outcome == "meets" && (!knee.fail || one.load < *knee.fail)) {
            knee.pass = std::max(knee.pass.value_or(one.load), one.load);
        }
    }
    return knee;
}

static LoadPage page_of_sweep(const Ledger& ledger, const std::vector<TableRun>& runs,
                              std::size_t axis) {
    LoadPage page;
    page.command = "sweep";
    page.title = title_of(ledger.plan.traces);
    page.over = ledger.plan.axes[axis].name;
    for (const SweepAxis& one : ledger.plan.axes) {
        page.columns.push_back(one.name);
    }
    page.columns.emplace_back("req/s");
    std::vector<Threshold> figures = limits_of(runs);
    const bool has_limits = !figures.empty();
    for (const Threshold& limit : figures) {
        page.limits.push_back(limit_of(limit.text, limit));
    }
    for (const std::string_view usual : {"ttft:p99", "ttft_due:p99", "tpot:p99", "e2e:p99"}) {
        if (usual == "ttft_due:p99" ? shows_due(runs) : !has_limits) {
            figures.push_back(parse_figure(usual).value());
            page.limits.push_back({std::string(usual), std::nullopt});
        }
    }
    for (std::size_t i = 0; i < ledger.cells.size(); ++i) {
        if (ledger.cells[i].state == CellState::ended) {
            page.points.push_back(point_of(ledger.cells[i], runs[i], axis, figures, has_limits));
        }
    }
    const bool alike = std::ranges::all_of(page.points, [&page](const LoadPoint& one) {
        return one.group == page.points.front().group;
    });
    page.knee = alike ? knee_of(page.points) : Knee();
    if (page.knee.pass && page.knee.fail) {
        page.facts.emplace_back("Knee", "from " + load_text(*page.knee.pass) + " to " +
                                            load_text(*page.knee.fail) +
                                            ": the first keeps every limit, the second does not");
    }
    return page;
}

static constexpr std::array<std::string_view, 2> scripts{"frontier", "loads"};

static void put_limit(JsonWriter& json, const LoadLimit& limit) {
    const std::string name(
        trim_blanks(limit.condition.substr(0, limit.condition.find_first_of("<>"))));
    const Result<TableFigure> figure = parse_table_figure(name);
    put_object(json, {{"condition", limit.condition},
                      {"title", figure ? figure.value().title : name},
                      {"unit", figure ? name_of(figure.value().unit) : ""},
                      {"better", figure ? figure.value().better : Better::low},
                      {"bound", limit.bound}});
}

static void put_figure(JsonWriter& json, const GroupFigure& one) {
    const ErrorBar error = one.error.value_or(ErrorBar());
    put_object(json, {{"value", one.value},
                      {"below", known_if(one.error.has_value(), error.below)},
                      {"above", known_if(one.error.has_value(), error.above)}});
}

static std::string load_page_text(const LoadPage& page, const std::string& folder) {
    const auto put_fact = [](JsonWriter& to, const auto& fact) {
        put_value(to, std::vector{fact.first, fact.second});
    };
    const auto put_point = [&folder](JsonWriter& to, const LoadPoint& point) {
        put_object(to, {{"load", point.load},
                        {"name", point.name},
                        {"group", point.group},
                        {"outcome", point.outcome},
                        {"why", point.why},
                        {"run", point.run},
                        {"cells", point.cells},
                        {"link", or_null(link_to_run(folder + "/" + point.run, folder))},
                        {"figures", put_each(point.figures, put_figure)}});
    };
    const Knee& knee = page.knee;
    const std::string data = json_text(JsonPairs{
        {"program", std::string("driftless ") + version()},
        {"command", page.command},
        {"title", page.title},
        {"over", page.over},
        {"unit", page.unit},
        {"facts", put_each(page.facts, put_fact)},
        {"columns", page.columns},
        {"limits", put_each(page.limits, put_limit)},
        {"knee",
         JsonPairs{
             {"low", knee.low}, {"pass", knee.pass}, {"fail", knee.fail}, {"high", knee.high}}},
        {"points", put_each(page.points, put_point)}});
    return page_text(page.title, scripts, data);
}

static void write_load_page(const LoadPage& page, const std::string& folder,
                            std::string_view name) {
    const std::string path = folder + "/" + std::string(name);
    const Result<void> written = write_whole_file(path, load_page_text(page, folder));
    if (written) {
        print_line("page: %s", path.c_str());
    } else {
        complain("driftless %s: %s: %s", page.command.c_str(), path.c_str(),
                 reason_of(written.error()).c_str());
    }
}

void write_search_page(const SearchReport& report, const std::string& folder) {
    write_load_page(page_of_search(report), folder, "find.html");
}

void write_sweep_page(const Ledger& ledger, const std::vector<TableRun>& runs,
                      const std::string& folder) {
    if (const std::optional<std::size_t> axis = numeric_axis(ledger.plan); axis) {
        write_load_page(page_of_sweep(ledger, runs, *axis), folder, "sweep.html");
    }
}

}  // namespace driftless
