/// The command line of `report`. Parsing touches no file.

#include <string>
#include <utility>
#include <vector>

#include "cmd/flags/option_values.hpp"
#include "cmd/flags/options_parser.hpp"
#include "cmd/flags/summary_values.hpp"
#include "cmd/report/report.hpp"
#include "proto/core/text.hpp"
#include "proto/figures/criteria.hpp"

namespace driftless {

// The flags of `report` for its readings (report.hpp).

static Result<std::string> parse_trace_path(std::string_view text) {
    if (text.empty()) {
        return invalid("is empty; name a trace");
    }
    return std::string(text);
}

static Result<const View*> parse_view(std::string_view text) {
    if (const View* view = find_view(text); view != nullptr) {
        return view;
    }
    static const std::string remedy = "is not one of " + joined(all_views(), ", ", &View::name);
    return invalid(remedy.c_str());
}

static void add_reading_flags(Flags& flags, ReportReadings& readings) {
    flags.group("Readings");
    flags.value("--view", "TOOL",
                "another tool's figures in its layout: vllm, sglang, aiperf, guidellm,\n"
                "genai-perf, genai-bench, inference-perf, trace-replayer, loadgen,\n"
                "inferencex, inferencex-fixed, llm-d",
                parse_view, readings.view);
    flags.values("--by", "KEY", "tables by group: phase, turn, url, kept.NAME, input:4, ..",
                 parse_group_key, readings.by);
    flags.values("--goodput", "LIMITS",
                 "\"ttft:200 tpot:50\" in ms [the run's own], or for some rows: \"tier=gold\n"
                 "ttft:200\" (a kept column)",
                 parse_goodput_rule, readings.slos);
    flags.on_off("--steady", "the steady part of the run next to the whole", readings.steady);
    flags.value("--why", "[WHAT]",
                "what distinguishes the slowest rows from the rest: --why, --why 10%,\n"
                "--why tpot, --why e2e:5%",
                parse_why, readings.why);
    flags.on_off("--trees", "session trees as jobs", readings.trees);
    flags.on_off("--certificate",
                 "what was sent, by digests and counts; why the verdict; where hits\n"
                 "were lost",
                 readings.certificate);
    flags.value("--against", "TRACE", "fidelity to a trace: arrivals, lengths, sharing, gaps",
                parse_trace_path, readings.against);
}

/// `--why` may stand without a value: what follows it is one only if it is meant as one.
static std::vector<std::string> with_value_of_why(const std::vector<std::string>& arguments) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const bool is_why = arguments[i] == "--why";
        const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
        const bool has_value = is_why && (next.ends_with('%') || next.find(':') != next.npos ||
                                          find_figure(next) != nullptr);
        out.push_back(!is_why     ? arguments[i]
                      : has_value ? "--why=" + arguments[++i]
                                  : "--why=ttft");
    }
    return out;
}

/// Why they cannot stand together, or the empty text.
static std::string why_not_readings(const ReportReadings& readings) {
    if (readings.view != nullptr && readings.any_below()) {
        return "--view prints only another tool's figures; remove the other flags";
    }
    return repeated_goodput(readings.slos);
}

static constexpr const char* description =
    "Rebuilds the summary of a run from its files. A run that was killed or is still running is "
    "summed\n"
    "up as far as it got, and missing records are counted. The run's files are not changed.\n";

static constexpr const char* footer =
    R"(Examples:
  driftless report runs/20261121T062957Z-trace
  driftless report runs/20261121T062957Z-trace --table full
  driftless report runs/20261121T062957Z-trace --json | jq .p99_ttft_ms
  driftless report runs/20261121T062957Z-trace --fail-if "ttft:p99 > 2s"
  driftless report runs/20261121T062957Z-trace --html run.html
  driftless report runs/20261121T062957Z-trace --csv tables --junit result.xml
  driftless report runs/20261121T062957Z-trace --markdown - >> "$GITHUB_STEP_SUMMARY"
  driftless report runs/20261121T062957Z-trace --view vllm
  driftless report runs/20261121T062957Z-trace --by kept.model --by input:4
  driftless report runs/20261121T062957Z-trace --perfetto run.pftrace --xlsx run.xlsx

Exit codes: 0 done, 2 usage (or not a run folder, or an output file exists),
3 a file of the run cannot be read, 7 a file cannot be written, 8 a --fail-if given here holds.)";

/// One text at most goes to standard output.
std::string why_not_together(const ReportCommand& command) {
    const ReportExports& files = command.exports;
    const std::pair<const char*, const std::string&> texts[] = {{"--markdown -", files.ci.markdown},
                                                                {"--junit -", files.ci.junit},
                                                                {"--html -", files.html},
                                                                {"--perfetto -", files.perfetto}};
    const char* first = command.json ? "--json" : nullptr;
    for (const auto& [flag, path] : texts) {
        if (path != "-") {
            continue;
        }
        if (first != nullptr) {
            return std::string(first) + " and " + flag +
                   " both write to standard output; give the latter a file";
        }
        first = flag;
    }
    return "";
}

ReportCommandLine parse_report_options(const std::vector<std::string>& arguments) {
    ReportCommandLine line;
    CommandParser parser("report", description, footer);
    parser.argument_hint = "; report reads one run, driftless compare and merge read several";
    parser.flags.argument("RUN", "folder of the run", line.command.folder);
    Flags& flags = parser.flags;
    flags.group("Output");
    flags.value("--table", "KIND", "short, or full (every figure)", "short", table_choices,
                line.command.table);
    flags.on_off("--json", "print summary.json (schema: driftless help summary.schema.json)",
                 line.command.json);
    flags.values("--fail-if", "COND",
                 "exit with 8 if it holds: \"ttft:p99 > 2s\", \"errors > 0.1 %\"", parse_fail_if,
                 line.command.fail_if);
    add_reading_flags(flags, line.command.readings);
    flags.group("Files (-: standard output, where it is one text)");
    ReportExports& files = line.command.exports;
    flags.value("--csv", "DIR", "requests.csv, periods.csv, summary.csv, definitions.csv",
                parse_path_on_disk, files.csv);
    flags.value("--html", "FILE", "one page with charts, tables and all records, for browsers",
                parse_path, files.html);
    flags.value("--xlsx", "FILE", "Excel workbook: the same tables, and charts", parse_path_on_disk,
                files.xlsx);
    add_ci_flags(flags, files.ci, parse_path);
    flags.value("--perfetto", "FILE", "a trace of all requests for ui.perfetto.dev", parse_path,
                files.perfetto);
    parser.read(with_value_of_why(arguments), line, [&] {
        if (line.command.folder.empty()) {
            return std::string("no run is given; name its folder");
        }
        const std::string why = why_not_together(line.command);
        return why.empty() ? why_not_readings(line.command.readings) : why;
    });
    return line;
}

}  // namespace driftless
