/// The command lines of `compare` and `merge`.

#include <algorithm>

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/summary_values.hpp"
#include "cmd/runs/compare.hpp"
#include "cmd/runs/merge.hpp"
#include "cmd/runs/table.hpp"

namespace driftless {

// The flags that only `driftless compare --table` has; it shares --json and --html.

static Result<std::string> parse_table_path(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; give it a value");
    }
    return std::string(text);
}

static void add_table_flags(Flags& flags, TableCommand& table) {
    flags.group("With --table");
    flags.value("--sort", "FIGURE", "the best first: ttft:p99, output_throughput .. [as given]",
                parse_table_figure, table.sort);
    flags.on_off("--each", "show each repeat on its own line", table.each);
    flags.values("--pareto", "X:Y",
                 "frontier of two figures, as in ttft:p99:output_throughput; low or\n"
                 "high before a figure says which is better [16 pairs]",
                 parse_chart_axes, table.charts);
    flags.value("--group", "NAME", "a frontier for each value of a label, an axis or a flag [one]",
                parse_table_path, table.group);
    flags.value("--csv", "FILE", "a line per cell, with InferenceX's sweep columns",
                parse_table_path, table.csv);
    flags.value("--inferencex", "FILE", "aggregate rows of InferenceX, a JSON array",
                parse_table_path, table.inferencex);
    flags.value("--llm-d", "FILE", "benchmark reports 0.2.1 of llm-d, a JSON array",
                parse_table_path, table.llmd);
}

/// Why flags of --table do not go together, or were given without it; empty: all is well.
static std::string why_not_table(const TableCommand& table, bool is_table) {
    const bool any = table.sort || table.each || !table.charts.empty() || !table.group.empty() ||
                     !table.csv.empty() || !table.inferencex.empty() || !table.llmd.empty();
    if (any && !is_table) {
        return "--sort, --each, --pareto, --group, --csv, --inferencex and --llm-d need --table";
    }
    return "";
}

static constexpr const char* compare_description =
    R"(Is B better than A, or is it chance? Both runs must have played the same work.

  driftless compare [FLAGS] A1 A2 A3 -- B1 B2 B3  repeats, made in turns: A B B A A B
  driftless compare [FLAGS] RUN                   the two servers of one run (replay --against)
  driftless compare [FLAGS] A B                   one run a side: what differs in these two runs
  driftless compare --table [FLAGS] RUN..         many runs in one table
)";

static constexpr const char* compare_footer =
    R"(Examples:
  driftless compare old-1 old-2 old-3 -- new-1 new-2 new-3
  driftless compare old-? -- new-? --fail-if "ttft:p99 > +5 %" --fail-if "errors > 0.1 %"
  driftless compare old-? -- new-? --markdown - >> "$GITHUB_STEP_SUMMARY"
  driftless compare old-? -- new-? --json - | jq '.metrics[] | select(.word == "worse").name'
  driftless compare runs/old runs/new --where --rows 10 --metric ttft:p50 --metric errors
  driftless compare --table runs/*

Exit codes: 0 done, 2 usage (or not a run folder, or an output file exists), 3 not the same
work, or a file of a run cannot be read, 7 a file cannot be written, 8 a --fail-if holds.)";

/// Stands for "--" among the arguments; nobody can type it.
static const std::string separator("\0--", 3);

/// Sorts the folders into the two sides. Returns what is wrong, or the empty text.
static std::string take_sides(const std::vector<std::string>& runs, CompareCommand& command) {
    const auto bar = std::ranges::find(runs, separator);
    if (std::ranges::count(runs, separator) > 1) {
        return "-- appears twice; use it once, between A and B";
    }
    if (bar == runs.end()) {
        if (runs.empty() || runs.size() > 2) {
            return runs.empty()
                       ? "no run is given; name the folders of A and B"
                       : "more than two runs are given; put -- between those of A and those of B";
        }
        command.a = {runs[0]};
        command.b.assign(runs.begin() + 1, runs.end());
        return "";
    }
    command.a.assign(runs.begin(), bar);
    command.b.assign(bar + 1, runs.end());
    return command.a.empty() || command.b.empty()
               ? "-- separates A from B; name at least one run on each side"
               : "";
}

static std::string take_table(const std::vector<std::string>& runs, TableCommand& table) {
    if (std::ranges::find(runs, separator) != runs.end()) {
        return "--table does not split runs into A and B; remove --";
    }
    table.runs = runs;
    return runs.empty() ? "no run is given; name the run folders for the table" : "";
}

static Result<std::string> parse_output(std::string_view text) {
    if (text.empty() || text == separator) {
        return invalid("is empty; name a file, or - for standard output");
    }
    return std::string(text);
}

/// Whether what is unsure fails.
static constexpr Choices<bool> unsure_choices{{"pass", false}, {"fail", true}};

static void add_flags(Flags& flags, CompareCommand& command) {
    ComparisonWish& wish = command.wish;
    flags.group("Comparison");
    flags.values("--metric", "NAME", "ttft:p99, tpot:mean, errors, .. [all]", parse_metric,
                 wish.metrics);
    flags.value("--margin", "SHARE", "changes up to this count as the same", "1 %", parse_margin,
                wish.options.margin);
    flags.value("--detect", "SHARE",
                "print how many requests would show such a change, as in \"3 %\"", parse_difference,
                wish.detect);
    flags.values("--goodput", "LIMITS", "\"ttft:200 tpot:50\" in ms [each run's own]",
                 parse_goodput_rule, command.slo);
    flags.value("--seed", "N", "seed of the resampling behind the intervals", "1", parse_count,
                wish.options.seed);
    flags.values("--fail-if", "COND",
                 "exit 8 where it holds: \"ttft:p99 > +5 %\", \"errors > 0.1 %\"",
                 parse_change_threshold, wish.thresholds);
    flags.value("--unsure", "pass|fail", "result of a --fail-if whose bound is inside the interval",
                "pass", unsure_choices, wish.unsure_fails);
    flags.on_off("--within-runs",
                 "let --fail-if judge a change by one run a side, of these runs alone",
                 wish.within_runs);
    flags.group("Output");
    flags.on_off("--where", "by input size, turn, expected hit and time", command.parts.where);
    flags.value("--rows", "N", "list the requests that changed most", "0", parse_count,
                command.parts.rows_listed);
    flags.group("Files (-: standard output)");
    CompareExports& files = command.exports;
    flags.value("--json", "FILE",
                "all figures (driftless help compare.schema.json, or table.schema.json)",
                parse_output, files.json);
    flags.value("--html", "FILE", "a page with charts, for a browser", parse_output, files.html);
    add_ci_flags(flags, files.ci, parse_output);
}

static std::string why_not_in_table(const CompareCommand& command) {
    const ComparisonWish& wish = command.wish;
    const bool any = !wish.metrics.empty() || !wish.thresholds.empty() || !command.slo.empty() ||
                     wish.within_runs || command.parts.where || command.parts.rows_listed > 0 ||
                     !command.exports.ci.markdown.empty() || !command.exports.ci.junit.empty();
    return any ? "--metric, --fail-if, --within-runs, --goodput, --where, --rows, --markdown and "
                 "--junit compare A with B and cannot be used with --table"
               : "";
}

/// One run of a side cannot say how much runs differ. Nothing is read for a rule that could not be
/// judged.
static std::string why_not_judged(const CompareCommand& command) {
    const bool has_one_run = !command.b.empty() && std::min(command.a.size(), command.b.size()) < 2;
    if (!has_one_run || command.wish.within_runs) {
        return "";
    }
    const std::vector<ChangeThreshold>& rules = command.wish.thresholds;
    const auto found = std::ranges::find_if(rules, &ChangeThreshold::relative);
    return found == rules.end()
               ? ""
               : "--fail-if: \"" + found->text +
                     "\" is about a change, and one run a side cannot tell it from chance; name "
                     "three runs a side (A1 A2 A3 -- B1 B2 B3), or judge these runs alone with "
                     "--within-runs";
}

static std::string why_not_together(const CompareExports& files) {
    const int on_stdout =
        (files.json == "-") + (files.ci.markdown == "-") + (files.ci.junit == "-");
    return on_stdout > 1 ? "--json, --markdown and --junit: only one of them can be -" : "";
}

CompareCommandLine parse_compare_options(const std::vector<std::string>& arguments) {
    CompareCommandLine line;
    std::vector<std::string> runs;
    CommandParser parser("compare", compare_description, compare_footer);
    parser.flags.argument("RUN", "run folders", runs);
    Flags& flags = parser.flags;
    flags.group("What is compared");
    flags.on_off("--table", "many runs in one table", line.is_table);
    flags.on_off("--anyway", "compare the shared requests even if the work differs",
                 line.command.anyway);
    add_flags(flags, line.command);
    add_table_flags(flags, line.table);
    std::vector<std::string> given = arguments;
    std::ranges::replace(given, std::string("--"), separator);
    parser.read(given, line, [&] {
        std::string why = why_not_table(line.table, line.is_table);
        line.table.anyway = line.command.anyway;
        line.table.json = line.command.exports.json;
        line.table.html = line.command.exports.html;
        line.table.force = line.command.exports.ci.force;
        why = !why.empty()    ? why
              : line.is_table ? take_table(runs, line.table)
                              : take_sides(runs, line.command);
        why = !why.empty()    ? why
              : line.is_table ? why_not_in_table(line.command)
                              : why_not_judged(line.command);
        why = why.empty() ? why_not_together(line.command.exports) : why;
        return why.empty() ? repeated_goodput(line.command.slo) : why;
    });
    return line;
}

static constexpr const char* merge_description =
    "Makes one run of the runs of all shards of a replay (replay --shard): one file of records,\n"
    "by their due instants, and one summary, whose percentiles are exact. The shards' own folders\n"
    "stay as they are.\n";

static constexpr const char* merge_footer =
    R"(A shard that is missing is named, and its rows are counted as not reported; so are those of
one that was killed. Finish such a shard with driftless replay --resume, then merge again.

Examples:
  driftless merge shard-0 shard-1 shard-2 shard-3 --out whole
  driftless merge /mnt/run/shard-* -o /mnt/run/whole
  driftless report whole --perfetto whole.pftrace
  driftless compare whole other

Exit codes: 0 done (also if shards are missing), 2 usage (a folder is not a shard, or --out exists
already), 3 the runs are not shards of one replay, or cannot be read, 7 the host fails.)";

Result<std::string> parse_merged(std::string_view text) {
    if (text.empty()) {
        return invalid("does not name a folder");
    }
    return std::string(text);
}

static std::string why_not(const MergeCommand& command) {
    if (command.folders.empty()) {
        return "no run is given; name the folders of all shards";
    }
    return command.out.empty() ? "--out is missing; name a folder for the merged run" : "";
}

MergeCommandLine parse_merge_options(const std::vector<std::string>& arguments) {
    MergeCommandLine line;
    CommandParser parser("merge", merge_description, merge_footer);
    parser.flags.argument("RUN", "folders of the shards, in any order", line.command.folders);
    Flags& flags = parser.flags;
    flags.group("Output");
    flags.value("-o,--out", "DIR", "new folder for the merged run", parse_merged, line.command.out);
    flags.value("--report", "KIND", "html: a page of charts in report.html; or none", "html",
                page_choices, line.command.page);
    flags.value("--table", "KIND", "short, or full (every figure)", "short", table_choices,
                line.command.table);
    flags.group("Verdict");
    flags.value("--clock-error-max", "T",
                "not certified if a shard's clock is known less exactly than this", "1ms",
                parse_duration_ns, line.command.clock_error_max_ns);
    parser.read(arguments, line, [&] { return why_not(line.command); });
    return line;
}

}  // namespace driftless
