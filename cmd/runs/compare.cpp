/// `driftless compare`: the command, and what a person sees of it.

#include "cmd/runs/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/summary_values.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/text_parts.hpp"
#include "cmd/runs/table.hpp"
#include "proto/core/text.hpp"

namespace driftless {

Result<double> parse_margin(std::string_view text) {
    constexpr double percent_max = 50;
    constexpr double share_max = 0.05;
    const Error wrong =
        invalid("is not a margin from 0 to 50 %; use \"1 %\", or 0.01 (up to 0.05)");
    const bool in_percent = text.ends_with('%');
    text.remove_suffix(in_percent ? 1 : 0);
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    const auto percent = read_number<double>(text, std::chars_format::fixed);
    if (!percent || *percent < 0) {
        return wrong;
    }
    // A larger share without its sign may have been meant as one: 0.5 as 0.5 %.
    const double share = in_percent ? *percent / 100 : *percent;
    return share <= (in_percent ? percent_max / 100 : share_max) ? Result<double>(share) : wrong;
}

Result<double> parse_difference(std::string_view text) {
    const Result<double> share = parse_margin(text);
    return share && share.value() > 0
               ? share
               : invalid(
                     "is not a change above 0, at most 50 %; use \"3 %\", or 0.03 (up to 0.05)");
}

Result<ComparedMetric> parse_metric(std::string_view text) {
    const std::optional<ComparedMetric> metric = read_metric(text);
    return metric ? Result<ComparedMetric>(*metric) : invalid(why_not_compared(text));
}

static constexpr std::size_t cells = 9;
/// Name, unit, A, B, B / A, interval, n_eff, smallest, word: 91 with the blanks between.
static constexpr std::array<std::size_t, cells> widths{18, 3, 10, 10, 7, 17, 7, 8, 6};

static std::string table_line(const std::vector<std::string>& texts) {
    std::string line = pad_right(texts[0], widths[0]);
    for (std::size_t i = 1; i < cells; ++i) {
        const bool left = i == 1 || i == cells - 1;
        line += (i == cells - 1 ? "  " : " ") +
                (left ? pad_right(texts[i], widths[i]) : pad_left(texts[i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

static void add_where(const Comparison& comparison, Lines& lines) {
    for (const ChangeView& view : comparison.where) {
        lines.blank();
        ViewTable table({fmt::format("{} by {}", name_of(comparison.value), view.by), "requests",
                         "B / A, median", "95 % interval", "these runs"});
        for (const ChangeGroup& group : view.groups) {
            table.add({group.name, with_commas(static_cast<double>(group.rows), 0),
                       ratio_text(group.ratio),
                       std::isnan(group.low)
                           ? "-"
                           : ratio_text(group.low) + " to " + ratio_text(group.high),
                       name_of(group.in_these_runs)});
        }
        lines.block(table.text());
    }
}

static void add_rows(const Comparison& comparison, std::uint64_t wanted, Lines& lines) {
    const auto at = static_cast<std::size_t>(comparison.value);
    const std::string value = name_of(comparison.value);
    ViewTable table({"Changed most: row", "pass", "due, s", "input", "turn", value + " A, ms",
                     value + " B, ms", "B / A"});
    for (const PairedRequest& row : most_changed(comparison.requests, comparison.value, wanted)) {
        table.add({std::to_string(row.row), std::to_string(row.pass), fixed(in_s(row.due_ns), 3),
                   with_commas(row.input_tokens, 0),
                   row.turn > 0 ? std::to_string(row.turn) : std::string("-"),
                   with_commas(row.a[at] / ns_per_ms, 2), with_commas(row.b[at] / ns_per_ms, 2),
                   fixed(row.ratio(comparison.value), 3)});
    }
    lines.blank();
    lines.block(table.text());
}

static void add_thresholds(const Comparison& comparison, Lines& lines) {
    if (comparison.thresholds.empty()) {
        return;
    }
    lines.blank();
    for (const JudgedThreshold& one : comparison.thresholds) {
        lines.add("Fail if", fmt::format("{}: {}, {}", one.threshold.text, found_text(one),
                                         name_of(one.judged)));
    }
}

static std::string comparison_screen(const Comparison& comparison, const ComparisonParts& parts) {
    Lines lines;
    lines.add("Result", comparison_sentence(comparison.groups));
    for (const ComparisonNote& one : comparison_notes(comparison)) {
        lines.add(one.label, one.text);
    }
    lines.blank();
    lines.raw(table_line(metric_titles(comparison.groups)));
    for (const MetricComparison& metric : comparison.groups.metrics) {
        lines.raw(table_line(metric_cells(metric, comparison.groups)));
    }
    if (parts.where) {
        add_where(comparison, lines);
    }
    if (parts.rows_listed > 0) {
        add_rows(comparison, parts.rows_listed, lines);
    }
    add_thresholds(comparison, lines);
    return printable_lines(lines.take());
}

static constexpr const char* nothing = "-";

/// Four figures or more, and three decimals at most.
static std::string value_text(double value) {
    const double size = std::fabs(value);
    return with_commas(value, size >= 1000 ? 1 : size >= 10 ? 2 : 3);
}

static std::string shown(const ComparedMetric& metric, double value) {
    if (std::isnan(value)) {
        return nothing;
    }
    switch (metric.unit()) {
        case MetricUnit::ns:
            return value_text(value / ns_per_ms);
        case MetricUnit::share:
            return fixed(100 * value, 2);
        case MetricUnit::per_second:
            return value_text(value);
    }
    return nothing;
}

static const char* unit_of(const ComparedMetric& metric) {
    constexpr std::array units{"ms", "%", "1/s"};  // [MetricUnit]
    return units[static_cast<std::size_t>(metric.unit())];
}

/// A ratio, or a difference in percentage points.
static std::string change_text(const ComparedMetric& metric, double change) {
    if (std::isnan(change)) {
        return nothing;
    }
    if (metric.scale() == Scale::difference) {
        return fmt::format("{:+.2f}", 100 * change);
    }
    return std::isinf(change) || change >= 1000 ? "> 1000" : fixed(change, change < 10 ? 3 : 1);
}

static std::string smallest_text(const MetricComparison& metric) {
    if (std::isnan(metric.smallest)) {
        return nothing;
    }
    const double percent = 100 * metric.smallest;
    const std::string text = percent < 1000 ? fixed(percent, percent < 10 ? 2 : 1) : "> 1000";
    return text + (metric.metric.scale() == Scale::difference ? " pt" : " %");
}

/// Where there is no interval, why; short enough for its column.
static std::string interval_text(const MetricComparison& metric) {
    switch (metric.doubt) {
        case Doubt::below_floor:
            return fmt::format("needs {} values", metric.floor);
        case Doubt::no_values:
            return "not measured";
        case Doubt::few_units:
            return "too few units";
        case Doubt::few_blocks:
            return "long dependence";
        case Doubt::undefined:
            return metric.a > 0 ? metric.b > 0 ? "often 0" : "B is 0" : "A is 0";
        default:
            break;
    }
    if (std::isnan(metric.low) || std::isnan(metric.high)) {
        return nothing;
    }
    return change_text(metric.metric, metric.low) + " to " +
           change_text(metric.metric, metric.high);
}

std::string ratio_text(double ratio) {
    return std::isnan(ratio) ? nothing : fixed(ratio, 3);
}

std::string comparison_sentence(const GroupComparison& groups) {
    std::array<std::size_t, 4> shown{};
    std::array<std::size_t, 4> words{};
    for (const MetricComparison& one : groups.metrics) {
        ++shown[static_cast<std::size_t>(one.in_these_runs)];
        ++words[static_cast<std::size_t>(one.word)];
    }
    const auto count = [](const auto& counts, auto of) {
        return counts[static_cast<std::size_t>(of)];
    };
    const std::size_t all = groups.metrics.size();
    return groups.doubt == Doubt::client ? fmt::format("unsure: {}", text_of(groups.doubt))
           : is_of_evidence(groups.doubt)
               ? fmt::format(
                     "in these runs B is higher in {}, lower in {} of {} metrics; {}, so "
                     "nothing is said of other runs",
                     count(shown, Shown::higher), count(shown, Shown::lower), all,
                     text_of(groups.doubt))
               : fmt::format("B is better in {}, worse in {}, the same in {} of {} metrics",
                             count(words, Word::better), count(words, Word::worse),
                             count(words, Word::same), all);
}

std::vector<std::string> metric_titles(const GroupComparison& groups) {
    const char* last = is_of_evidence(groups.doubt) ? "these runs" : "B is";
    return {"", "", "A", "B", "B / A", "95 % interval", "n_eff", "smallest", last};
}

std::vector<std::string> metric_cells(const MetricComparison& metric,
                                      const GroupComparison& groups) {
    const ComparedMetric& what = metric.metric;
    return {what.name(),
            unit_of(what),
            shown(what, metric.a),
            shown(what, metric.b),
            change_text(what, metric.change),
            interval_text(metric),
            metric.n_eff > 0 ? with_commas(metric.n_eff, 0) : nothing,
            smallest_text(metric),
            is_of_evidence(groups.doubt) ? name_of(metric.in_these_runs) : name_of(metric.word)};
}

/// "240 ok, 3 failed, 1 tainted": what is 0 is not said, but ok.
static std::string counts_text(const PlayedCounts& counts) {
    std::string text = counted(counts.ok, "request ok", "requests ok");
    for (const PlayedKind& kind : played_kinds) {
        if (kind.words[0] != '\0' && counts.*kind.count > 0) {
            text += fmt::format(", {} {}", counts.*kind.count, kind.words);
        }
    }
    return text;
}

static std::string run_text(const PlayedRun& run) {
    std::string text = run.name() + ": ";
    text += run.verdict.empty() ? run.why_no_verdict : run.verdict;
    if (!run.verdict.empty() && run.verdict != "certified" && !run.verdict_reasons.empty()) {
        text += " (" + run.verdict_reasons.front() + ")";
    }
    return text + "; " + counts_text(run.counts);
}

static void add_runs(const char* label, const std::vector<PlayedRun>& runs,
                     std::vector<ComparisonNote>& out) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string number = runs.size() > 1 ? std::to_string(i + 1) : "";
        out.push_back({label + number, run_text(runs[i])});
    }
}

static void add_work(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const RunFacts& facts = comparison.a.front().facts;
    if (comparison.same_work) {
        out.push_back(
            {"Same work", fmt::format("{}, {}, schedule {:016x}", facts.info.trace,
                                      counted(facts.rows, "row", "rows"), facts.schedule_digest)});
    }
    for (const WorkDifference& one : comparison.differences) {
        const bool told = one.weight == Weight::told;
        out.push_back({told ? "Differs" : "NOT THE SAME", text_of(one)});
    }
}

static void add_pairs(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const GroupComparison& groups = comparison.groups;
    std::string text = fmt::format("{} in all runs", counted(groups.keys, "request", "requests"));
    if (groups.only_a + groups.only_b > 0) {
        text += fmt::format("; {} only in A and {} only in B are left out", groups.only_a,
                            groups.only_b);
    }
    if (groups.only_a_ok + groups.only_b_ok > 0) {
        text += fmt::format("; {} ok only in A and {} ok only in B are left out of latencies",
                            groups.only_a_ok, groups.only_b_ok);
    }
    if (groups.trees > 0) {
        text +=
            fmt::format("; {}, resampled as a whole", counted(groups.trees, "session", "sessions"));
    }
    if (comparison.outputs.known > 0) {
        text += fmt::format("; {} of {} answers differ", comparison.outputs.changed,
                            comparison.outputs.known);
    }
    out.push_back({"Pairs", text});
}

/// Hits are shares of sums: no interval is given.
static void add_hits(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const auto share = [](const std::vector<PlayedRun>& runs) {
        double cached = 0;
        double prompts = 0;
        for (const PlayedRun& run : runs) {
            for (const PlayedRow& row : run.rows) {
                const bool known = !std::isnan(row.cached_tokens);
                cached += known ? row.cached_tokens : 0;
                prompts += known ? row.prompt_tokens : 0;
            }
        }
        return prompts > 0 ? fmt::format("{:.2f} %", 100 * cached / prompts) : "not reported";
    };
    out.push_back({"Cache hits", fmt::format("A {}, B {} of the prompt tokens", share(comparison.a),
                                             share(comparison.b))});
}

/// What the runs warned of: a difference may be of that alone.
static void add_warnings(const std::vector<PlayedRun>& runs, std::vector<ComparisonNote>& out) {
    for (const PlayedRun& run : runs) {
        for (const std::string& warning : run.warnings) {
            out.push_back({"Warning", run.name() + ": " + warning});
        }
    }
}

static std::string tainted_text(const char* side, const std::vector<PlayedRun>& runs) {
    std::uint64_t tainted = 0;
    std::uint64_t rows = 0;
    for (const PlayedRun& run : runs) {
        tainted += run.counts.tainted;
        rows += run.rows.size();
    }
    return fmt::format("{} of {} rows of {}", tainted, rows, side);
}

static void add_evidence(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    const GroupComparison& groups = comparison.groups;
    if (groups.doubt == Doubt::client) {
        out.push_back(
            {"Unsure",
             fmt::format("{} and {} left late by more than a twentieth of what they lasted, or "
                         "lost something, more than 1 % of a side: the client may have made the "
                         "difference. Repeat on a quieter client, or with --realtime",
                         tainted_text("A", comparison.a), tainted_text("B", comparison.b))});
    }
    switch (groups.evidence) {
        case Evidence::one_each:
            out.push_back({"Evidence",
                           "one run a side: what differs in these runs. Other runs may not differ "
                           "so: repeat both three times, A B B A A B, and compare A.. -- B.."});
            break;
        case Evidence::paired:
            out.push_back(
                {"Evidence",
                 groups.doubt == Doubt::held
                     ? "two sides of one run, but a cap held rows back, so that they did not leave "
                       "to both at one instant: what differs in this run. Raise the cap"
                     : "each row left to both servers at one instant: words are about these two "
                       "servers as they were running, not about a restart"});
            break;
        case Evidence::between_runs:
            out.push_back({"Evidence", fmt::format("between runs: {} of A, {} of B", groups.runs_a,
                                                   groups.runs_b)});
            break;
    }
}

/// Of the metrics whose spread is known.
static void add_needed(const Comparison& comparison, std::vector<ComparisonNote>& out) {
    if (!comparison.detect) {
        return;
    }
    std::string text;
    for (const MetricComparison& one : comparison.groups.metrics) {
        if (const std::optional<double> rows = rows_needed(one, *comparison.detect)) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.metric.name(),
                                with_commas(std::ceil(*rows), 0));
        }
    }
    const double percent = 100 * *comparison.detect;
    out.push_back(
        {"Needed",
         fmt::format("requests per run to show a change of {:.2f} % in 80 of 100 cases: {}",
                     percent, text.empty() ? "unknown, or more runs" : text)});
}

std::vector<ComparisonNote> comparison_notes(const Comparison& comparison) {
    std::vector<ComparisonNote> out;
    add_runs("A", comparison.a, out);
    add_runs("B", comparison.b, out);
    add_work(comparison, out);
    add_pairs(comparison, out);
    add_hits(comparison, out);
    add_warnings(comparison.a, out);
    add_warnings(comparison.b, out);
    add_evidence(comparison, out);
    add_needed(comparison, out);
    return out;
}

std::string refusal_text(const Comparison& comparison) {
    std::string text = "driftless compare: not the same work\n";
    for (const WorkDifference& one : comparison.differences) {
        // A flag that has no part of its own explains digests.
        if (one.weight != Weight::told || one.what == "settings") {
            const std::string first = comparison.a.front().name();
            text += one.a.empty() ? "  " + text_of(one)
                                  : fmt::format("  {}: {} has {}; {} has {}", one.what, first,
                                                one.a, one.run, one.b);
            text += one.remedy.empty() ? "\n" : fmt::format("\n    {}\n", one.remedy);
        }
    }
    if (heaviest(comparison.differences) == Weight::refused) {
        text += "  --anyway compares the requests that all runs share\n";
    }
    return text;
}

/// Runs with sides are compared by themselves, runs without with others.
static std::string why_not_sides(const CompareCommand& command, const Comparison& comparison) {
    const bool alone = command.b.empty();
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        if (alone && run->side.empty()) {
            return run->folder +
                   ": this run has one server; name a second run to compare it with, or replay "
                   "with --against";
        }
        if (!alone && !run->side.empty()) {
            return run->folder + ": this run already has two servers; compare it alone";
        }
    }
    return "";
}

/// A run that is given twice is no repeat: it would make chance look smaller than it is.
static std::string why_not_twice(const Comparison& comparison) {
    std::map<std::string, std::string> folders;  // by id and side
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        const std::string& id = run->facts.segments.front().run_id;
        const auto [known, is_new] = folders.try_emplace(id + run->side, run->folder);
        if (!id.empty() && !is_new) {
            return run->folder + ": is the same run as " + known->second + " (run_id " + id +
                   "); name each run once";
        }
    }
    return "";
}

/// A rule on good requests, of which a run cannot say which they are.
static std::string why_not_good(const CompareCommand& command, const Comparison& comparison) {
    std::string why;
    for (const PlayedRun* run : all_runs(comparison.a, comparison.b)) {
        const bool has_limits = !command.slo.empty() || !run->facts.goodput.empty();
        for (const ChangeThreshold& one : command.wish.thresholds) {
            why = has_limits || !why.empty()
                      ? why
                      : limits_missing(one.metric.name(), one.text, run->name() + " has no limits");
        }
    }
    return why;
}

static int read_runs(const CompareCommand& command, Comparison& out) {
    for (const auto& [folders, runs] :
         {std::pair(&command.a, &out.a), std::pair(&command.b, &out.b)}) {
        for (const std::string& folder : *folders) {
            std::string why;
            if (const int code = read_played(folder, command.slo, *runs, why); code != exit_done) {
                return refuse_cells("compare", why, code);
            }
        }
    }
    for (const std::string& why :
         {why_not_sides(command, out), why_not_twice(out), why_not_good(command, out)}) {
        if (!why.empty()) {
            return refuse_cells("compare", why, exit_usage);
        }
    }
    if (command.b.empty()) {
        out.b.push_back(std::move(out.a.back()));
        out.a.pop_back();
    }
    return exit_done;
}

static bool fails(const Comparison& comparison, bool unsure_fails) {
    return std::ranges::any_of(comparison.thresholds, [unsure_fails](const JudgedThreshold& one) {
        return one.judged == Judged::fails || (one.judged == Judged::unsure && unsure_fails);
    });
}

static int compare(const CompareCommand& command) {
    Comparison comparison;
    const std::vector<NewText> files =
        export_files(command.exports, comparison, command.wish.unsure_fails);
    const bool force = command.exports.ci.force;
    if (const int code = refuse_existing_files(files, force); code != exit_done) {
        return code;
    }
    if (const int code = read_runs(command, comparison); code != exit_done) {
        return code;
    }
    comparison.differences = work_differences(comparison.a, comparison.b);
    const Weight weight = heaviest(comparison.differences);
    comparison.same_work = weight == Weight::told;
    const bool refused =
        weight == Weight::no_pairs || (weight == Weight::refused && !command.anyway);
    if (!refused) {
        if (const std::string why = compare_rows(comparison, command.wish); !why.empty()) {
            return refuse_cells("compare", why, exit_usage);
        }
        if (files_on_stdout(files) == 0) {
            std::fputs(comparison_screen(comparison, command.parts).c_str(), stdout);
        }
    } else {
        std::fputs(printable_lines(refusal_text(comparison)).c_str(), stderr);
    }
    const int code =
        write_new_files(std::span(files).first(files.size() - (refused ? 1 : 0)), force);
    if (code != exit_done || refused) {
        return code != exit_done ? code : exit_input;
    }
    return fails(comparison, command.wish.unsure_fails) ? exit_threshold : exit_done;
}

int run_compare(int argc, char** argv) {
    const CompareCommandLine line = parse_compare_options({argv + 1, argv + argc});
    if (const std::optional<int> code = line.finish()) {
        return *code;
    }
    return line.is_table ? compare_table(line.table) : compare(line.command);
}

}  // namespace driftless
