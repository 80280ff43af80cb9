#include "cmd/report/tree_reading.hpp"

#include <fmt/format.h>

#include <array>

#include "cmd/report/record_pass.hpp"
#include "cmd/screen/lines.hpp"
#include "engine/views/view_text.hpp"

namespace driftless {

namespace {

struct TreeFigureName {
    const char* key;
    const char* title;
    int decimals;
    Distribution TreeTotals::* figure;
};
constexpr std::array tree_figure_names{
    TreeFigureName{"duration_s", "duration, s", 2, &TreeTotals::duration_s},
    TreeFigureName{"turns", "turns", 0, &TreeTotals::turns},
    TreeFigureName{"answer_s", "in answers, s", 2, &TreeTotals::answer_s},
    TreeFigureName{"gap_s", "in gaps, s", 2, &TreeTotals::gap_s},
    TreeFigureName{"computed_tokens", "prompt tokens computed", 0, &TreeTotals::computed},
    TreeFigureName{"cached_tokens", "prompt tokens cached", 0, &TreeTotals::cached},
    TreeFigureName{"output_tokens", "output tokens", 0, &TreeTotals::output},
};

}  // namespace

std::string read_trees(const ReportedRun& run, TreeTotals& out) {
    TreeFigures trees;
    std::string why = each_record(run, [&trees](const Record& record) { trees.add(record); });
    out = trees.totals(run.figures.duration_ns);
    if (run.info.server && run.info.server->joules && out.finished > 0) {
        out.joules_per_tree = *run.info.server->joules / static_cast<double>(out.finished);
    }
    return why;
}

std::string tree_screen(const TreeTotals& totals) {
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

void write_trees(JsonWriter& json, const TreeTotals& totals) {
    json.begin_object();
    json.key("trees").unsigned_integer(totals.trees);
    json.key("finished").unsigned_integer(totals.finished);
    json.key("failed").unsigned_integer(totals.failed);
    json.key("unfinished").unsigned_integer(totals.unfinished);
    json.key("requests_alone").unsigned_integer(totals.rows_alone);
    json.key("users").unsigned_integer(totals.users);
    const auto optional = [&json](const char* key, const std::optional<double>& value) {
        json.key(key);
        value ? json.number(*value) : json.null();
    };
    optional("jobs_per_hour", totals.jobs_per_hour);
    optional("jobs_per_hour_per_user", totals.jobs_per_hour_per_user);
    optional("joules_per_tree", totals.joules_per_tree);
    for (const TreeFigureName& name : tree_figure_names) {
        const Distribution& of = totals.*name.figure;
        json.key(name.key).begin_object();
        for (const auto& [key, value] :
             {std::pair{"mean", of.mean}, std::pair{"p50", of.median()},
              std::pair{"p90", of.at[p90_index]}, std::pair{"p99", of.at[p99_index]},
              std::pair{"max", of.max},
              std::pair{"sum", of.mean * static_cast<double>(of.count)}}) {
            json.key(key);
            of.count == 0 ? json.null() : json.number(value);
        }
        json.end_object();
    }
    json.end_object();
}

}  // namespace driftless
