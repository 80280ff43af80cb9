/// Summary: the sums over the records of a run, made one record at a time. Before it goodput: what
/// rows are told apart by, and what makes one good.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/figures/run_timeline.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// GroupKey: what rows are told apart by (`report --by`, `--goodput "tier=gold ttft:200"`). A plain
/// value; reading one touches nothing.
struct GroupKey {
    enum class Kind : std::uint8_t {
        phase,
        turn,
        api,
        url,
        model,
        outcome,
        side,
        kept,
        header,
        input,
    };
    Kind kind = Kind::phase;
    std::string text;         ///< as typed
    std::string member;       ///< of `kept` and `header`
    std::uint32_t parts = 0;  ///< of `input`: so many groups of about equally many rows
};

template <>
inline constexpr auto closed_list<GroupKey::Kind> =
    name_list("phase", "turn", "api", "url", "model", "outcome", "side", "kept", "header", "input");

/// "phase", "turn", "kept.model", "header.X", "input:4", .. Errors: invalid.
Result<GroupKey> parse_group_key(std::string_view text);

/// What a row has of a key: "-" where it has nothing. Of `input` its length in tokens, as digits.
/// `document` is scratch.
std::string group_value(const GroupKey& key, const Record& record, JsonDocument& document);

/// The upper ends of `parts` ranges of lengths with about equally many rows each, ascending and
/// without equals; fewer where lengths are few. Sorts `lengths`.
std::vector<std::uint32_t> length_bounds(std::vector<std::uint32_t>& lengths, std::uint32_t parts);

// What makes a request good (`--goodput`): limits for all rows, and for the rows of a group their
// own. Pure values.

/// A request is good when it is ok and meets all that are set; one without a TPOT, because it has
/// one token or all of them came at one instant, passes that limit.
struct GoodputLimits {
    OptionalNs ttft_ns;
    OptionalNs tpot_ns;
    OptionalNs e2e_ns;
    OptionalNs ttft_due_ns = {};  ///< from the due instant: with the time that a cap held the row
    bool needs_first_token() const { return ttft_ns || tpot_ns || ttft_due_ns; }
    bool set() const { return needs_first_token() || e2e_ns; }
};
/// As `goodput` of run.json has them.
void walk(auto& fields, IsOf<GoodputLimits> auto& limits) {
    fields.value("ttft_ns", 1, limits.ttft_ns);
    fields.value("ttft_due_ns", 2, limits.ttft_due_ns);
    fields.value("tpot_ns", 1, limits.tpot_ns);
    fields.value("e2e_ns", 1, limits.e2e_ns);
}
/// Which of the times that a row can have had: as measured, or an end of each bar. Where no bar is
/// known the longest is endless and the shortest is 0.
enum class TimesAt : std::uint8_t { measured, longest, shortest };

/// Nothing: nobody knows. It was abandoned before it had broken a limit; or it is ok, its tokens
/// were not counted, so that it has no TPOT, or no first token was seen (`--no-stream`), and it
/// broke no other limit. A row that failed for the
/// client's own lack, or of which it lost a part, is good by the shortest times alone.
std::optional<bool> is_good(const GoodputLimits& limits, const Record& record,
                            TimesAt times = TimesAt::measured);

/// Limits of some rows, or of all that no other rule fits.
struct GoodputRule {
    std::optional<GroupKey> key;  ///< nothing: all others
    std::string value;            ///< .. else the rows that have this of it
    GoodputLimits limits;
};
using GoodputRules = std::vector<GoodputRule>;

/// The rule of a row: the first with a key that fits it, else the one without a key. Nothing: no
/// limit says whether it is good.
std::optional<std::size_t> rule_of(const GoodputRules& rules, const Record& record);
/// Limits of the rows of no group; none are set where no rule has them.
GoodputLimits common_limits(const GoodputRules& rules);
/// "tier=gold"; "others" of a rule without a key.
std::string group_text(const GoodputRule& rule);

struct GoodputCount {
    std::uint64_t decided = 0;  ///< it is known whether they are good, or they had no chance to be
    std::uint64_t good = 0;
    void add(std::optional<bool> is_good) {
        decided += is_good ? 1 : 0;
        good += is_good.value_or(false) ? 1 : 0;
    }
    void add(const GoodputCount& other) {
        decided += other.decided;
        good += other.good;
    }
    /// Nothing of none.
    std::optional<double> share() const {
        return decided > 0 ? std::optional(static_cast<double>(good) / static_cast<double>(decided))
                           : std::nullopt;
    }
};

/// Rows of one rule: as measured, and at both ends of their bars.
struct GoodputCounts : GoodputCount {
    GoodputCount worst;
    GoodputCount best;
    std::uint64_t undecided = 0;  ///< rows that are ok, and nobody knows whether they are good
    /// Returns whether it is good, as measured.
    std::optional<bool> add(const GoodputLimits& limits, const Record& record);
    void add(const GoodputCounts& other);
    /// Of the share; nothing where one of the three has none, or a row is undecided.
    std::optional<ErrorBar> error() const;
};

// How far the client may have moved a time of one row, ns. Nothing: it is not known, as where a
// part of the answer was lost: the token may be another.

/// Of a time from the fire to a token that was read so late at most.
std::optional<ErrorBar> error_from_fire(const Record& record, const OptionalNs& token_late_ns);
std::optional<ErrorBar> tpot_error(const Record& record);

// Summary: the sums over the records of a run. Fed with records one by one, in any order, so that
// it can be rebuilt from `requests.jsonl` later; it owns its numbers, reads no clock and judges
// nothing. Memory: 184 bytes a request that is ok (exact percentiles of its times 72, when and how
// late it left 48, what was open 32, hits of the cache 32), 32 a tainted one, six histograms, 8
// bytes a second of the run (its ClientTotals: 48 more). `figures` takes 104 more while it sorts.
//
// Percentiles of ttft, ttft_due, tpot, itl, e2e and chunk gaps are over the rows that are `ok`;
// ttft and ttft_due also over those that were abandoned after their first token. `short_output`
// and `long_output` are counted beside them. Drift is over all rows that left, but those that
// `--max-inflight` held back. Nothing that failed vanishes: `completed` + `short_output` +
// `long_output` + `abandoned` + `censored` + `failed` is the number of records of the phase
// `profile`; those of the warm-up are counted apart, and in nothing else. What needs the chunks of
// every row (itl, chunk gaps, the best second) is unknown where those of one row were not kept.

// ErrorTexts: why rows failed, as the servers or the kernel worded it, with how many rows each.
//
// Texts that differ in their numbers only count as one ("requested 40000 tokens", "requested 50000
// tokens"); the first of them is kept. Owns its texts, bounded: what comes behind `texts_max`
// different ones is counted without a text. It judges nothing.

/// One reason, and the rows that had it.
struct ErrorText {
    Outcome outcome = Outcome::ok;
    int status = 0;    ///< 0: none came
    std::string text;  ///< of the first row; empty: nothing was said
    std::uint64_t rows = 0;
    std::uint32_t first_row = 0;
};

/// A text with a mark for each run of digits: ids and counts do not tell reasons apart.
std::string without_numbers(std::string_view text);

class ErrorTexts {
  public:
    static constexpr std::size_t texts_max = 64;

    /// A record of any outcome; those whose answer is whole, and rows never sent, have no error.
    void add(const Record& record);
    /// Most rows first, then by first row.
    std::vector<ErrorText> by_rows() const;
    /// Rows whose text was one too many.
    std::uint64_t others() const { return others_; }

  private:
    using Key = std::tuple<Outcome, int, std::string>;
    std::map<Key, ErrorText> texts_;
    std::uint64_t others_ = 0;
};

/// How rows arrive at a rate. As `arrivals` of run.json.
struct ArrivalFacts {
    std::string rate;                    ///< as typed, "inf", "ramp 1:20:60s", "shape FILE"
    std::optional<double> asked_rate;    ///< `--rate`, per second, where it is one finite number
    std::string law;                     ///< "poisson", "gamma:0.5", "all at once"
    std::string of;                      ///< "rows" or "trees"
    std::optional<double> planned_rate;  ///< per second (engine/plan/arrivals.hpp)
    std::uint64_t seed = 0;
};
void walk(auto& fields, IsOf<ArrivalFacts> auto& arrival) {
    fields.text("rate", 2, arrival.rate);
    fields.value("asked_rate", 2, arrival.asked_rate);
    fields.text("law", 2, arrival.law);
    fields.text("of", 2, arrival.of);
    fields.value("planned_rate", 2, arrival.planned_rate);
    fields.value("seed", 2, arrival.seed);
}

enum class Ending : std::uint8_t {
    by_itself,
    interrupted,  ///< by the user
    none,         ///< it was killed, or still goes on
};

/// RunDescription: what was run, for those who read a summary without its run.json: servers, trace,
/// selection, pace and seeds. A value; nothing in it is secret.
struct RunDescription {
    std::vector<std::string> urls;
    std::vector<std::string> trace_paths;
    std::uint64_t trace_rows = 0;  ///< in the files, before the selection
    /// Recorded waits of rows for others, before the selection: what `--sessions closed` goes by.
    std::uint64_t trace_dependencies = 0;
    std::string trace_digest;  ///< 16 hex digits of all of its rows; empty: not known
    std::uint64_t rows = 0;    ///< selected
    std::string speed = "1";   ///< as typed
    OptionalNs start_ns;       ///< `--start`, `--end`: trace time
    OptionalNs end_ns;
    OptionalNs duration_ns;  ///< `--duration`: wall time
    std::optional<std::uint64_t> limit;
    /// Wall time from time 0 to the last due instant; under `--sessions closed` to the last of a
    /// row that waits for none.
    std::int64_t last_due_ns = 0;
    std::string schedule_digest;  ///< 16 hex digits of rows and dues; empty: not known
    std::optional<ArrivalFacts> arrival;
    std::string sessions = "recorded";          ///< `--sessions`
    std::uint64_t users = 0;                    ///< `--users`; 0: none
    OptionalNs for_ns;                          ///< `--for`
    std::optional<std::uint64_t> trees;         ///< that wait for answers; unknown where none waits
    std::optional<std::uint64_t> input_tokens;  ///< of the rows, once each
    /// In an infinite cache that begins empty; nothing where a row is recorded text.
    std::optional<std::uint64_t> expected_cached_tokens;
    OptionalNs measured_from_ns;  ///< begin of the measurement, from time 0; or not known
    Ending ending = Ending::by_itself;
    bool spread = false;
    std::uint64_t seed = 0;
    std::string cache_salt;  ///< empty: none
    std::string prompt;      ///< "text" or "ids"
    std::string output;      ///< "exact", "cap" or "free"
    /// TRACE.., then `--flag=value`, keys masked: what `replay --from` repeats.
    std::vector<std::string> arguments;
};

// ThresholdFinding, StoppedWhen: what became of a threshold (`--fail-if`), and which condition
// ended a run (`--stop-when`). Values; criteria.hpp and engine/record/grow_and_stop.hpp judge.

enum class FigureUnit : std::uint8_t {
    time,    ///< of a latency
    share,   ///< 0 to 1
    number,  ///< a count, or a rate per second
};
template <>
inline constexpr auto closed_list<FigureUnit> = name_list("ms", "share", "number");

struct ThresholdFinding {
    std::string condition;        ///< as it was typed
    std::optional<double> value;  ///< ms, a share or a number; nothing: it was not measured
    FigureUnit unit = FigureUnit::number;
    bool fails = false;
    std::optional<ErrorBar> error = {};  ///< in the same unit; nothing: not known, or there is none
    /// The bound lies outside of the bar, so that the client did not decide. Nothing: the figure
    /// has no bar.
    std::optional<bool> sure = {};
};

/// Why a run ended early.
struct StoppedWhen {
    std::string condition;  ///< as it was typed
    double at_s = 0;        ///< run time: the end of the period at which it was found to hold
    double value = 0;       ///< ms, a share or a number
    FigureUnit unit = FigureUnit::number;
};

bool any_fails(const std::vector<ThresholdFinding>& findings);

/// "2.310 ms", "5.00 %", "12.5".
std::string value_text(const ThresholdFinding& finding);

std::string value_text(const StoppedWhen& stopped);

/// As `stopped_when` of `summary.json`, and of `end` in `run.json`.
void walk(auto& fields, IsOf<StoppedWhen> auto& stopped) {
    fields.value("cond", 1, stopped.condition);
    fields.value("at_s", 1, stopped.at_s);
    fields.value("value", 1, stopped.value);
    fields.value("unit", 1, stopped.unit);
}

void walk(auto& fields, IsOf<ThresholdFinding> auto& finding) {
    fields.value("fail_if", 1, finding.condition);
    fields.value("value", 1, finding.value);
    fields.value("unit", 1, finding.unit);
    fields.value("fails", 1, finding.fails);
    fields.value("client_error", 2, finding.error);
    fields.value("sure", 2, finding.sure);
}

// RuleFinding: what became of one rule of a published set in a run. A value; proto/figures judges.

/// `unknown`: what would tell was not measured, or cannot be.
enum class RuleState : std::uint8_t { met, violated, unknown };
template <>
inline constexpr auto closed_list<RuleState> = name_list("met", "violated", "unknown");

struct RuleFinding {
    std::string set;
    std::string version;
    std::string source;
    std::string rule;
    bool published = true;  ///< false: it is ours, and the publisher tests nothing like it
    RuleState state = RuleState::unknown;
    std::string evidence;  ///< what was found
    std::string bound;     ///< what was asked for; empty: null
};

void walk(auto& fields, const RuleFinding& finding) {
    fields.value("set", 1, finding.set);
    fields.value("version", 1, finding.version);
    fields.value("source", 1, finding.source);
    fields.value("rule", 1, finding.rule);
    fields.value("published", 1, finding.published);
    fields.value("state", 1, finding.state);
    fields.value("evidence", 1, finding.evidence);
    fields.text("bound", 1, finding.bound);
}

/// Version of the keys of `summary.json`.
/// 2: cause and explanation of prompts that are off.
/// 3: kernel stamps, drift by cause and by rank.
/// 4: the client's own figures.
/// 5: `unfinished`.
/// 6: the late cause `writer`.
/// 7: `duration` is a sum over segments; `max_output_tokens_per_s` may be null.
/// 8: the outcome `long_output`, `outputs`, `errors`, the server's cache blocks.
/// 9: `retransmits`, `held`, the late cause `limit`, the outcome `client_failed`; `run`, `urls`,
///    warnings. Request times are in ms only (`ttft_ns`, `tpot_ns`, `e2e_ns` and
///    `itl_histogram_ns` said the same in ns), and `label` has gone: `labels` has them all.
/// 10: the limits of the verdict, and the worst within them.
/// 11: `dropped`, `run.sessions`.
/// 12: `follow_up_turns`, `overtaken_turns`, `run.trace_dependencies`.
/// 13: `censored` (no longer among `failed`), `retries`, `warmup`.
/// 14: `rules`. 15: `live`.
/// 16: `thresholds`; `request_rate` may be a number; `sent_rate`; `run.rate`, `run.arrivals`,
///     `run.arriving`, `run.planned_rate`;
///     `abandoned` (not among `failed`); `stopped_when`.
/// 18: `server`.
/// 19: `goodput.decided`, `goodput.groups`; `server.explained`, `server.energy.joules_per_tree`.
/// 20: `sides`.
/// 21: `engines` of `client`.
/// 22: `not_reported`, `shards`.
/// 23: `rows_compared` and `cached_tokens_compared` of `cache`; what was 0 because nobody knows it
///     is null (hits of recorded text, tokens that nobody counted).
/// 24: the late cause `burst`.
/// 25: `client_error`.
/// 26: `kept_up`, `load_error`, `prompt_tokens_compared` of `cache`.
/// 27: `good` and the rates of `client_error`; `client_error` of `goodput.groups` and of
///     `thresholds`, whose `sure` says whether the bound lies outside of it.
inline constexpr int summary_schema = 27;

/// Records of before it have no bounds: what is derived from them has no bars.
inline constexpr std::int64_t first_schema_with_bounds = 17;

/// Tainted rows that are listed by number; the rest is counted.
inline constexpr std::size_t tainted_listed = 1000;

/// Requests that were abandoned.
struct AbandonedSums {
    std::uint64_t requests = 0;
    std::uint64_t no_first_token = 0;  ///< before their first token
    std::uint64_t undecided = 0;       ///< before they had broken a limit of `--goodput`
    std::uint64_t input_tokens = 0;    ///< prompts of those that had their first token
    std::uint64_t output_tokens = 0;   ///< that had come
    /// All but `undecided`, which rules decide.
    void add(const Record& record);
};

/// Turns whose prompts held answers of the run.
struct LiveSums {
    std::uint64_t turns = 0;          ///< that were sent
    std::uint64_t filled = 0;         ///< lacked tokens of their recorded length, ..
    std::uint64_t filled_tokens = 0;  ///< .. and got so many words
    std::uint64_t over = 0;           ///< were longer than recorded, ..
    std::uint64_t over_tokens = 0;    ///< .. by so many tokens
    void add(const Record& record);
};

/// What a run has to do with shards (`--shard`, `merge`).
struct ShardRole {
    /// Other processes send rows of the plan to the same servers: hits of these rows do not tell
    /// what was in the cache before, nor their counts what the servers did.
    bool others_send = false;
    bool merged = false;  ///< of two shards or more
    /// Hits are forecast from the rows of each shard alone, as they left: rows of other shards can
    /// bring more.
    bool forecast_apart = false;
};

/// Rows that are ok, and of which something was not counted: the sums over them are lower bounds.
struct UncountedRows {
    std::uint64_t inputs = 0;   ///< prompts that are neither recorded nor reported in tokens
    std::uint64_t outputs = 0;  ///< the server counts no tokens, or the answer was lost in part
    std::uint64_t lost = 0;     ///< of those: in this client's own event ring
    std::uint64_t goodput = 0;  ///< a limit has no time to be held against, and none is broken
};

/// How far the client may have moved one number of a headline figure.
struct MovedFigure {
    std::string name;  ///< "TTFT p99"
    double value_ns = 0;
    double by_ns = 0;
    double least_part = 1;  ///< of TaintLimits::error_ns: by so much it may be moved at least
    /// In a run that is certified: a hundredth, but at least and at most so much.
    double allowed_ns(const TaintLimits& limits) const;
};

/// All that a summary says, as plain numbers. Rates are per second of `duration_ns`, 0 where that
/// is 0.
struct SummaryFigures {
    std::uint64_t rows = 0;  ///< records seen, of the phase `profile`
    std::array<std::uint64_t, outcome_count> outcomes{};
    std::uint64_t completed = 0;     ///< ok
    std::uint64_t short_output = 0;  ///< counted beside
    std::uint64_t long_output = 0;   ///< counted beside
    AbandonedSums abandoned;         ///< given up by their clients, by plan
    std::uint64_t censored = 0;      ///< cut off when the time of the run was over
    std::uint64_t failed = 0;        ///< all else
    std::uint64_t dropped = 0;       ///< of those: not sent, for a row that they waited for failed
    std::uint64_t held_to_the_end =
        0;  ///< of those: not sent, --max-inflight or a budget held them
    std::uint64_t fired = 0;
    std::uint64_t retries = 0;          ///< requests of rows that were sent before, in vain
    std::uint64_t warmup_rows = 0;      ///< records of the phase `warmup`
    std::uint64_t warmup_fired = 0;     ///< those that left
    std::uint64_t warmup_failed = 0;    ///< those that were not answered whole
    std::uint64_t follow_up_turns = 0;  ///< rows of which `overtaken` is known
    std::uint64_t overtaken_turns = 0;  ///< those that left before a turn before them had ended
    LiveSums live;

    RunTimelineFigures timeline;
    std::int64_t duration_ns = 0;  ///< the timeline's: what rates are per second of
    /// Of rows that are ok: as the server counted, else as recorded. At least, where some are
    /// `uncounted`.
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;      ///< of rows that are ok; the same
    std::uint64_t output_tokens_all = 0;  ///< of all rows, at least: a chunk counts as one token
    UncountedRows uncounted;
    double request_throughput = 0;
    std::optional<double> output_throughput;  ///< nothing where some are `uncounted`
    std::optional<double> total_token_throughput;

    GoodputRules goodput_rules;
    std::vector<GoodputCounts> goodput_counts;  ///< [goodput_rules]
    std::uint64_t good = 0;                     ///< of all of them; without rules, what is ok
    /// Null without `--goodput`, and where rows could not be judged (UncountedRows::goodput).
    std::optional<double> request_goodput;

    // ns
    Distribution ttft;
    Distribution ttft_due;
    Distribution tpot;
    Distribution itl;
    Distribution e2e;
    Distribution chunk_gap;
    bool has_bounds = false;  ///< some row has its own; files before record schema 17 have none
    /// Some row was due when an answer had come: of a user, or after another of its session.
    bool awaits_answers = false;
    /// How far the client may have moved these; ttft_due counts it by definition.
    Bounds ttft_bounds;
    Bounds tpot_bounds;
    Bounds itl_bounds;
    Bounds e2e_bounds;
    Bounds chunk_gap_bounds;
    /// Of TTFT, TPOT and E2E the mean, p50, p90, p95 and p99, by the rows whose bounds are known.
    std::vector<MovedFigure> moved;
    SendingFigures sending;
    std::uint64_t drift_left_out = 0;     ///< rows held back by `--max-inflight`
    std::uint64_t itl_rows_left_out = 0;  ///< ok rows whose chunks have no token counts

    std::uint64_t expected_cached_tokens = 0;           ///< rows with a forecast
    std::uint64_t expected_cached_tokens_reported = 0;  ///< of those that reported theirs
    std::uint64_t cached_tokens = 0;                    ///< as reported
    std::uint64_t cache_rows_reported = 0;
    std::uint64_t rows_unforetold = 0;  ///< without a forecast of their hits: unsent, or ..
    std::uint64_t rows_in_words = 0;    ///< .. sent as recorded text
    // Of rows that reported and have no forecast.
    std::uint64_t cache_rows_unforetold = 0;
    std::uint64_t cached_tokens_unforetold = 0;
    /// Prompts of rows that reported and have a forecast; one of unknown length: nothing.
    std::optional<std::uint64_t> cache_prompt_tokens = 0;
    std::uint64_t cache_rows_equal = 0;  ///< reported what was expected
    std::uint64_t cache_rows_above = 0;  ///< reported more
    ShardRole shard_role;
    std::uint64_t cache_excess = 0;  ///< hits that only a warm cache has: warm_cache.hpp
    std::uint64_t template_pre = 0;  ///< tokens before every prompt: all rows share them

    // The same by the server's own cache blocks, over rows that reported and whose forecast is
    // known.
    std::uint64_t server_cache_rows = 0;
    std::uint64_t server_cache_rows_equal = 0;
    std::uint64_t server_cache_expected = 0;

    /// Lengths of whole answers against the recorded ones, whatever `--output` wants.
    std::uint64_t outputs_exact = 0;
    std::uint64_t outputs_short = 0;
    std::uint64_t outputs_long = 0;
    std::uint64_t outputs_unknown = 0;     ///< not counted by the server, or not recorded
    std::uint64_t outputs_unrecorded = 0;  ///< of these: no length was recorded to compare with
    std::vector<ErrorText> errors;         ///< why rows failed, most rows first
    std::uint64_t errors_others = 0;       ///< rows whose reasons are not among them
    std::uint64_t tpot_unknown = 0;        ///< ok rows of several tokens that came at one instant

    PromptFigures prompts;  ///< the server's counts against the trace, all rows

    std::array<std::uint64_t, late_cause_count> late_causes{};
    std::array<std::uint64_t, tokens_source_count> tokens_sources{};
    TaintFigures taints;
    std::uint64_t tainted_rows = 0;
    std::uint64_t interrupted_untainted = 0;  ///< what they measured is lost all the same
    std::uint64_t unrecorded = 0;  ///< rows that left and have no record; set by who knows of them
    bool more_unrecorded = false;  ///< and their number is not known more
    std::vector<std::uint32_t> tainted_first;  ///< the first `tainted_listed` of them, by `row`
    std::array<std::uint64_t, late_cause_count> tainted_late{};  ///< sent too late, by cause
    std::uint64_t tainted_read_late = 0;                         ///< tokens read too late
    std::uint64_t tainted_wire_late = 0;                         ///< on the wire too late
    std::uint64_t tainted_sent_late = 0;                         ///< the rest of a request waited
    std::uint64_t tainted_retried = 0;                           ///< sent again
    std::uint64_t tainted_lost = 0;                              ///< payload or entries dropped
    std::uint64_t tainted_limit = 0;           ///< held back by a limit of the host
    std::uint64_t tainted_client_failed = 0;   ///< failed for our own lack
    std::uint64_t lost_whole = 0;              ///< nobody knows what would have become of them
    std::uint64_t tainted_end_unsure = 0;      ///< which might have ended otherwise
    std::uint64_t tainted_answered_early = 0;  ///< by bytes that were there before the request left
    std::uint64_t tainted_retransmitted = 0;   ///< lost on the way, and sent again
    std::uint64_t tainted_unacknowledged = 0;  ///< gave up before that: nobody had it for sure
    std::uint64_t retransmits = 0;             ///< segments sent again, of all rows
    std::uint64_t retransmitted_rows = 0;      ///< rows that have any
    std::uint64_t retransmits_unknown = 0;     ///< rows that left, and nobody counted
    std::uint64_t stale_retries = 0;
    std::uint64_t coalesced_chunks = 0;
    OptionalNs receive_delay_max_ns;

    SentTokens sent;                    ///< what servers can have counted, the warm-up with it
    PhaseFigures phase;                 ///< what rules ask for
    std::vector<UrlFigures> urls;       ///< by the server that a row was sent to
    std::optional<SideFigures> sides;   ///< of dual fire alone
    std::vector<ShardFigures> shards;   ///< of a merged run alone: those that have records
    std::vector<std::string> warnings;  ///< verdict.hpp; set by who knows how the run was asked for

    /// Rows that left later than the host's limit.
    std::uint64_t sent_late() const {
        return std::accumulate(tainted_late.begin(), tainted_late.end(), std::uint64_t{0});
    }
    /// How late rows reached the wire; where the kernel did not stamp all, how late they left.
    const Distribution& load_late() const {
        return sending.wire_unknown == 0 ? sending.wire_drift : sending.drift;
    }
    /// Whole answers, of whatever length.
    std::uint64_t answered() const { return completed + short_output + long_output; }
    /// Rows that failed after they were sent, or when they should have been: those that a failed
    /// row kept from being sent did not.
    std::uint64_t failed_sent() const {
        return failed - std::min(failed, outcomes[static_cast<std::size_t>(Outcome::not_sent)]);
    }
    /// Rows that a time limit ended.
    std::uint64_t timed_out() const {
        return outcomes[static_cast<std::size_t>(Outcome::timeout_first_byte)] +
               outcomes[static_cast<std::size_t>(Outcome::timeout_idle)] +
               outcomes[static_cast<std::size_t>(Outcome::timeout_total)];
    }
    /// Those whose clients have waited for the end: of abandoned ones nobody knows it.
    std::uint64_t ended_sent() const { return answered() + failed_sent(); }
    /// Rows that reported their hits, and whose forecast is known; and their hits.
    std::uint64_t cache_rows_compared() const {
        return cache_rows_reported - cache_rows_unforetold;
    }
    std::uint64_t cached_tokens_compared() const {
        return cached_tokens - cached_tokens_unforetold;
    }
    /// Whether all of them are forecast in the server's own blocks, too; and what an endless cache
    /// would have held of them, in those blocks if so.
    bool compares_server_blocks() const {
        return server_cache_rows > 0 && server_cache_rows == cache_rows_compared();
    }
    std::uint64_t expected_of_compared() const {
        return compares_server_blocks() ? server_cache_expected : expected_cached_tokens_reported;
    }
    /// Whether the hits of some row are forecast.
    bool foretells_hits() const { return rows_unforetold == 0 || rows_unforetold < rows; }
    /// Salt, seed and overhead change nothing: what was sent is recorded text.
    bool is_recorded_text() const { return rows_in_words > 0 && !foretells_hits(); }
    /// --max-inflight, a budget or a limit of this host kept some row back.
    bool has_held() const {
        return sending.held_by_user.held.count + sending.held_by_budget.held.count +
                   sending.held_by_host.held.count >
               0;
    }
    /// Of rows that left, or would have, no record says what became of them: no bar takes them in.
    bool lacks_rows() const {
        return unrecorded > 0 || more_unrecorded || (dropped > 0 && failed_here() > 0);
    }
    /// Rows that failed for the client's own lack, or were in flight when the run was killed.
    std::uint64_t failed_here() const {
        return outcomes[static_cast<std::size_t>(Outcome::client_failed)] +
               outcomes[static_cast<std::size_t>(Outcome::interrupted)];
    }
    bool has_bars() const { return has_bounds && !lacks_rows(); }
    /// 0 where the run has no duration.
    double per_second(std::uint64_t count) const {
        return duration_ns > 0
                   ? static_cast<double>(count) / (static_cast<double>(duration_ns) / 1e9)
                   : 0;
    }
    bool judges_goodput() const { return !goodput_rules.empty(); }
    /// Of all rules.
    GoodputCounts goodput() const;
    /// How far the client may have moved the share of good rows, and rates, per second. Nothing:
    /// that is not known. Rates have no bar where the load waited for answers or caps either: late
    /// reads lower such a load itself.
    std::optional<ErrorBar> good_error() const {
        return has_bars() ? goodput().error() : std::nullopt;
    }
    std::optional<ErrorBar> request_goodput_error() const;
    /// Of a rate of requests or of tokens; nothing where that is not known.
    std::optional<ErrorBar> throughput_error(std::optional<double> rate) const;
};

class Summary {
  public:
    Summary() = default;
    /// `overhead`: the tokens that were held to stand around every prompt.
    explicit Summary(GoodputRules rules, Overhead overhead = {}, ShardRole shard_role = {})
        : prompts_(overhead), by_url_(overhead) {
        figures_.shard_role = shard_role;
        figures_.goodput_counts.resize(rules.size());
        figures_.goodput_rules = std::move(rules);
        figures_.template_pre = overhead.pre;
    }

    void add(const Record& record);
    /// The figures so far. Sorts copies: not for every row.
    SummaryFigures figures() const;

  private:
    void add_sending(const Record& record);
    void add_goodput(const Record& record);
    void add_taints(const Record& record);
    void add_prompt(const Record& record);
    void add_output(const Record& record);
    void add_ok(const Record& record);
    void add_hidden_tpot(const Record& record);
    void add_gaps(const Record& record);
    void add_missing(const Record& record);

    SummaryFigures figures_;
    BoundedSample ttft_{BoundedSample::Ends::lower};
    Sample ttft_due_;
    BoundedSample tpot_{BoundedSample::Ends::both};
    BoundedSample e2e_{BoundedSample::Ends::lower};
    double tpot_gaps_ = 0;  ///< between the tokens of all that have a TPOT
    Sending sending_;
    BoundedHistogram itl_;
    BoundedHistogram chunk_gap_;
    PromptCounts prompts_;
    ByUrl by_url_;
    BySide by_side_;
    ByShard by_shard_;
    RunTimeline timeline_;
    ErrorTexts errors_;
    PhaseMarks phase_;
    CacheExcess cache_excess_;
    CacheExcess against_excess_;  ///< of side b: another server's
};

/// Of a run that was killed, or goes on: rows without a record.
struct Unfinished {
    std::uint64_t rows = 0;
    std::uint64_t rows_left = 0;  ///< those of them that had been fired, as far as is known
    bool all_known = true;        ///< false: there may be more
};
void walk(auto& fields, const Unfinished& unfinished) {
    fields.value("rows", 1, unfinished.rows);
    fields.value("rows_left", 1, unfinished.rows_left);
}

/// What a summary says beside its figures.
struct SummaryInfo {
    std::string date;     ///< UTC, "20261121-034512"
    std::string backend;  ///< the dialect's name
    std::string model_id;
    std::string tokenizer_id;  ///< empty: null
    std::string trace;
    RunDescription run;
    CacheProbe cache_probe;  ///< of the servers' caches, before the first row
    std::optional<std::uint64_t> max_concurrency;
    std::optional<std::uint32_t> server_block;  ///< tokens of the server's cache blocks
    bool continuous_usage = false;              ///< servers were asked for the tokens of each chunk
    bool split_unknown = false;                 ///< of the overhead: each row may have lost a block
    std::uint64_t clamped_rows = 0;  ///< not longer than the overhead: sent with one word
    std::vector<std::pair<std::string, std::string>> labels;  ///< `--label K=V`
    std::string verdict = "uncalibrated";
    std::vector<std::string> verdict_reasons;
    TaintLimits limits;                        ///< under which it was judged; 0: none
    const ClientTotals* client = nullptr;      ///< null: nobody counted
    std::vector<RuleFinding> rules;            ///< `--rules`; empty: none were asked for
    std::vector<ThresholdFinding> thresholds;  ///< `--fail-if`
    std::optional<StoppedWhen> stopped_when;   ///< `--stop-when`; nothing: it was not stopped so
    std::optional<Unfinished> unfinished;      ///< none: every row has its record
    std::optional<ServerTotals> server;        ///< nothing: no page of metrics was read
    std::optional<MergedRun> merged;           ///< of `driftless merge` alone
    /// Sessions that were answered whole; nothing: nobody counted, as where no power is known.
    std::optional<std::uint64_t> finished_trees;
};

/// Whether the arguments of a run cap its connections, so that rows wait for one.
bool has_lane_cap(const std::vector<std::string>& arguments);

/// Whether the server kept up with the load (steadiness.hpp). Nothing: too few rows to tell; no
/// queue grew, but fewer than 99 % were answered or more than 1 % sent late; or the load was no
/// open one: it was to rise, it waited for answers or caps, or two sides or several segments had
/// it.
std::optional<bool> kept_up(const SummaryFigures& figures, const SummaryInfo& info);
/// The load was an open one, of enough rows: were they in time and answered, it would be known.
bool may_tell_kept_up(const SummaryFigures& figures, const SummaryInfo& info);

/// `summary.json`: one object, newline at the end. Its schema is summary.schema.json.
std::string summary_json(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
