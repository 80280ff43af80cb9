/// `driftless compare`: is one server better than the other, or is it chance? Two runs, two groups
/// of repeats, or the two sides of one run, by the files that they wrote: its options, what it
/// finds out (each run as it was played, whether all did the same work, the comparison), and its
/// outputs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/reading/compare_judge.hpp"
#include "cmd/runs/table.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/figures/summary.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// PlayedRun: one run, or one side of a dual run, as `compare` has read it: what it was to do, and
// what became of each request. Owns about 200 bytes a request; the records themselves are read
// once and not kept.
//
// Holds only requests of the phase `profile`. Of a request that was sent again, the last try
// counts.

/// What is beside the ComparedRequest at the same place.
struct PlayedRow {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t turn = 0;  ///< from 1; 0: not known
    Outcome outcome = Outcome::not_sent;
    double prompt_tokens = unknown_value;  ///< as the server counted, else as recorded
    double cached_tokens = unknown_value;  ///< as the server reported
    double expected_tokens = unknown_value;
    std::optional<std::uint64_t> output_digest;
};

/// How many requests are of a kind that a reader must know of.
struct PlayedCounts {
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t other_length = 0;  ///< whole answers, shorter or longer than asked
    std::uint64_t abandoned = 0;     ///< by plan
    std::uint64_t censored = 0;      ///< cut off when the time of the run was over, by plan
    std::uint64_t dropped = 0;       ///< not sent: a row that they waited for failed
    std::uint64_t unplayed = 0;      ///< no record, or the user ended the run before their end
    std::uint64_t interrupted = 0;   ///< in flight when an earlier segment died
    std::uint64_t again = 0;         ///< sent again: the last try counts
    std::uint64_t tainted = 0;
};

/// One of the kinds: its key in JSON, and its words behind the number.
struct PlayedKind {
    const char* key;
    const char* words;  ///< of `ok` another text
    std::uint64_t PlayedCounts::* count;
};
inline constexpr std::array played_kinds{
    PlayedKind{"ok", "", &PlayedCounts::ok},
    PlayedKind{"failed", "failed", &PlayedCounts::failed},
    PlayedKind{"other_length", "with a length other than asked (in no figure)",
               &PlayedCounts::other_length},
    PlayedKind{"abandoned", "abandoned as planned", &PlayedCounts::abandoned},
    PlayedKind{"censored", "cut off at the end, as planned", &PlayedCounts::censored},
    PlayedKind{"dropped", "not sent after a failed one", &PlayedCounts::dropped},
    PlayedKind{"unplayed", "not completed", &PlayedCounts::unplayed},
    PlayedKind{"interrupted", "in flight when the run was killed", &PlayedCounts::interrupted},
    PlayedKind{"sent_again", "sent again (the last try counts)", &PlayedCounts::again},
    PlayedKind{"tainted", "tainted", &PlayedCounts::tainted},
};

struct PlayedRun {
    std::string folder;
    std::string side;  ///< "a" or "b" of a dual run; else empty
    RunFacts facts;
    bool goes_on = false;  ///< another process writes it now
    bool killed = false;   ///< it did not close its books
    std::string verdict;   ///< empty: it has none
    std::string why_no_verdict = "no verdict: the run did not end";
    std::vector<std::string> verdict_reasons;
    std::vector<std::string> warnings;  ///< what its figures do not show: a cache that was warm
    PlayedCounts counts;
    ComparedRun compared;         ///< requests by pass and row
    std::vector<PlayedRow> rows;  ///< [compared.requests]

    /// As the reader knows it: the folder, and the side where it has one.
    std::string name() const { return side.empty() ? folder : folder + ", side " + side; }
};

/// Those of A first.
std::vector<const PlayedRun*> all_runs(const std::vector<PlayedRun>& a,
                                       const std::vector<PlayedRun>& b);

/// Reads a run: one element, or two for a dual run. `slo` replaces the run's own --goodput unless
/// it is empty. Returns the exit code; if that is not `exit_done`, `why` says what cannot be read.
int read_played(const std::string& folder, const GoodputRules& slo, std::vector<PlayedRun>& out,
                std::string& why);

// Whether all runs of a comparison were to do the same work and did it: what differs, as values of
// both, and what to do about it. Pure.
//
// The same work is: the same trace, rows of it, instants, prompts and asked lengths, played to the
// end: by digests where both runs have them, else by what their flags mean. Servers, models and how
// the client connects may differ: that is what is compared.

enum class Weight : std::uint8_t {
    told,      ///< the reader must know of it; the work is the same
    refused,   ///< not the same work; `--anyway` compares what both have
    no_pairs,  ///< nothing can be paired
};
template <>
inline constexpr auto closed_list<Weight> = name_list("told", "refused", "never");

/// One thing in which a run differs from the first run of A.
struct WorkDifference {
    Weight weight = Weight::told;
    std::string what;    ///< "trace", "seed", "window", ..
    std::string a;       ///< of the first run of A; empty: `b` says something of `run` alone
    std::string b;       ///< of `run`
    std::string run;     ///< name of the first run that differs so
    std::string remedy;  ///< empty: there is none
};

/// The most important first; none: the same work. Neither group is empty.
std::vector<WorkDifference> work_differences(const std::vector<PlayedRun>& a,
                                             const std::vector<PlayedRun>& b);

/// The same for the shards of one replay, of which only run.json was read: in what they differ from
/// the first one. `shards` is not empty.
std::vector<WorkDifference> shard_differences(const std::vector<PlayedRun>& shards);

/// Whether digests show that two runs played the same rows with the same prompts at the same
/// instants: then no flag that decides these makes them differ.
bool played_same(const RunFacts& a, const RunFacts& b);

/// What of `work_differences` two runs of a table cannot differ in: all but pace, servers and
/// salts.
std::vector<WorkDifference> row_differences(const PlayedRun& first, const PlayedRun& run);

/// "seed: A 0, runs/b 7"; "completeness: runs/b: still goes on".
std::string text_of(const WorkDifference& difference);

/// The heaviest of them; `told` if there are none.
Weight heaviest(const std::vector<WorkDifference>& differences);

// PairedRequest: one request in all runs of a comparison: how long it took on each side. And where
// requests changed: by input size, turn, expected hit and time. Pure.

/// [RowValue] ns; of several runs their mean. NaN where it is not ok in every run of both sides, or
/// a run does not know the value.
using PairedValues = std::array<double, row_value_count>;

struct PairedRequest {
    std::uint32_t row = 0;
    std::uint32_t pass = 0;
    std::uint32_t turn = 0;  ///< from 1; 0: not known
    std::int64_t due_ns = 0;
    std::uint64_t tree = 0;
    double input_tokens = 0;
    double expected_hit = unknown_value;  ///< share of the prompt
    PairedValues a{};
    PairedValues b{};

    /// B / A.
    double ratio(RowValue value) const {
        const auto at = static_cast<std::size_t>(value);
        return b[at] / a[at];
    }
};

/// The requests that every run has, by key.
std::vector<PairedRequest> paired_requests(const std::vector<PlayedRun>& a,
                                           const std::vector<PlayedRun>& b);

/// Those whose value is known, the one that changed most first; at most `most` of them.
std::vector<PairedRequest> most_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                        std::size_t most);

/// The median of B / A over the requests of a group. NaN where unknown.
struct ChangeGroup {
    std::string name;
    std::uint64_t rows = 0;
    double ratio = unknown_value;
    double low = unknown_value;  ///< interval of `options`
    double high = unknown_value;
    /// Of several runs their mean is looked at: what runs differ by is not in the interval.
    Shown in_these_runs = Shown::unsure;
};
struct ChangeView {
    std::string by;  ///< "input tokens", "turn", "expected hit", "due"
    std::vector<ChangeGroup> groups;
};

/// Views over the requests whose value is known. A view that would have only one group is left out.
std::vector<ChangeView> where_it_changed(const std::vector<PairedRequest>& requests, RowValue value,
                                         const ComparisonOptions& options);

/// Answers of the first run of each side, told apart by their digests.
struct OutputChanges {
    std::uint64_t known = 0;  ///< requests that are ok on both sides and have digests
    std::uint64_t changed = 0;
};
OutputChanges output_changes(const PlayedRun& a, const PlayedRun& b);

/// ChangeThreshold: when a comparison fails (`--fail-if "ttft:p99 > +5 %"`). The whole interval has
/// to lie beyond the bound: a point that lies beyond it may be chance. Pure.
struct ChangeThreshold {
    ComparedMetric metric;
    bool above = true;      ///< fails above the bound; else below it
    bool relative = false;  ///< the change from A to B; else B alone
    /// Relative: 0.05 is 5 % (of shares: 5 percentage points). Else ns or a share.
    double bound = 0;
    std::string text;  ///< as it was typed
};

/// "ttft:p99 > +5 %", "request_throughput < -5 %", "errors > +0.1 %" (percentage points),
/// "errors > 0.1 %", "ttft:p99 > 2s". Errors: invalid; the `doing` is a clause with the remedy.
Result<ChangeThreshold> parse_change_threshold(std::string_view text);

enum class Judged : std::uint8_t {
    passes,  ///< the whole interval is within the bound
    fails,   ///< the whole interval lies beyond it, or nothing was measured
    unsure,  ///< the bound is inside the interval, there is no interval, or no word about a change
};
template <>
inline constexpr auto closed_list<Judged> = name_list("passes", "fails", "unsure");

struct JudgedThreshold {
    ChangeThreshold threshold;
    Judged judged = Judged::unsure;
    /// Of the change or of B, in the units of the bound (of ratios: B / A - 1). NaN: unknown.
    double value = unknown_value;
    double low = unknown_value;
    double high = unknown_value;
    Doubt doubt = Doubt::none;  ///< why there is no interval, or why it does not decide
};

struct ComparedSides {
    std::span<const ComparedRun> a;
    std::span<const ComparedRun> b;
};

/// Why a threshold cannot be judged by runs of this size, or under `--unsure fail` not be passed
/// even without a failure, with the number of requests that it needs; else the empty text.
std::string why_too_small(std::span<const ChangeThreshold> thresholds, const ComparedSides& sides,
                          const ComparisonOptions& options, bool unsure_fails);

/// `within_runs`: what these runs show decides about a change, whatever may be said of other runs.
std::vector<JudgedThreshold> judge_changes(std::span<const ChangeThreshold> thresholds,
                                           const ComparedSides& sides,
                                           const ComparisonOptions& options, bool within_runs);

/// What was found, with its interval: "+6.1 % (+5.2 to +7.0 %)", "2,110 ms (2,050 to 2,170 ms)".
std::string found_text(const JudgedThreshold& one);

// Comparison: all that `compare` finds out about two groups of runs. Every output (screen, JSON,
// Markdown, JUnit, page) is made of it. Values; it reads nothing.

/// What is asked of a comparison.
struct ComparisonWish {
    std::vector<ComparedMetric> metrics;      ///< empty: the usual ones
    std::vector<ChangeThreshold> thresholds;  ///< `--fail-if`
    /// Half of the library's default number of draws: the ends of an interval then vary by some 4 %
    /// of its width from seed to seed, and comparing two runs of an hour takes half the time.
    ComparisonOptions options{.resamples = 1000};
    bool unsure_fails = false;
    bool within_runs = false;      ///< `--within-runs`
    std::optional<double> detect;  ///< `--detect`: a change, of which is asked how much shows it
};

struct Comparison {
    std::vector<PlayedRun> a;
    std::vector<PlayedRun> b;
    std::vector<WorkDifference> differences;
    bool same_work = false;

    // Empty from here on if the comparison is refused.
    ComparisonOptions options;
    std::optional<double> detect;
    GroupComparison groups;
    RowValue value = RowValue::ttft;  ///< whose rows are looked at one by one
    std::vector<PairedRequest> requests;
    std::vector<ChangeView> where;
    OutputChanges outputs;
    std::vector<JudgedThreshold> thresholds;
};

/// How `value` changed, by group, over the requests that all runs have.
std::vector<ChangeView> where_of(const Comparison& comparison, RowValue value);

/// Fills everything below `same_work`; runs and differences must be there already. Returns why a
/// threshold cannot be judged by runs of this size, or the empty text.
[[nodiscard]] std::string compare_rows(Comparison& comparison, const ComparisonWish& wish);

// A comparison as text for a terminal: 92 columns at most, and 40 lines without `--where` and
// `--rows`. Pure.

/// What is below the table.
struct ComparisonParts {
    bool where = false;             ///< by size, turn, hit and time
    std::uint64_t rows_listed = 0;  ///< the requests that changed most
};

/// Lines for standard error: why the two are not the same work, and what to do.
std::string refusal_text(const Comparison& comparison);

/// What a comparison is made of and speaks for, a line each: label and sentence.
struct ComparisonNote {
    std::string label;
    std::string text;
};
std::vector<ComparisonNote> comparison_notes(const Comparison& comparison);

/// How many metrics are better and worse; or, where that may not be said, higher and lower.
std::string comparison_sentence(const GroupComparison& groups);

/// A metric's figures as people read them: name, unit, A, B, B / A, interval, n_eff, smallest, and
/// the word; or what these runs show, where nothing may be said of B.
std::vector<std::string> metric_cells(const MetricComparison& metric,
                                      const GroupComparison& groups);
/// B / A with three decimals; "-": unknown.
std::string ratio_text(double ratio);
/// The names of these cells.
std::vector<std::string> metric_titles(const GroupComparison& groups);

/// The files that `compare` writes beside its screen. Paths as typed; empty: not asked for. "-" is
/// standard output.
struct CompareExports {
    std::string json;
    CiFiles ci;
    std::string html;  ///< a file, never "-"
};

/// What was asked for, to be made of `comparison` when it is there: the page comes last, and is not
/// made of a refused one. Refers to both.
std::vector<NewText> export_files(const CompareExports& exports, const Comparison& comparison,
                                  bool unsure_fails);

/// `argv[0]` is the command's name. Returns the exit code.
int run_compare(int argc, char** argv);

/// What the user asked of `driftless compare`. Parsing touches no file.
struct CompareCommand {
    std::vector<std::string> a;  ///< folders as typed: one run, or repeats of it
    std::vector<std::string> b;  ///< empty: the one run of `a` was sent to two servers
    bool anyway = false;
    GoodputRules slo;  ///< instead of each run's own
    ComparisonWish wish;
    ComparisonParts parts;
    CompareExports exports;
};

struct CompareCommandLine : CommandLine {
    bool is_table = false;  ///< run: `table` instead of `command`
    CompareCommand command;
    TableCommand table;
};

CompareCommandLine parse_compare_options(const std::vector<std::string>& arguments);

// Values of the flags of `compare` as people type them. Pure; the `doing` of an Error is a clause
// with the remedy.

/// "1 %", "0.5%", from 0 to 50 %: a share. Errors: invalid.
Result<double> parse_margin(std::string_view text);
/// The same without 0: a change that could be shown.
Result<double> parse_difference(std::string_view text);
/// "ttft:p99", "errors". Errors: invalid.
Result<ComparedMetric> parse_metric(std::string_view text);

}  // namespace driftless
