/// Values that ReplayOptions holds as they were typed: when rows are sent (rates, users, limits
/// that hold them back), and what is beside the rows (API and answers, timed events, pages of
/// metrics, other machines and engines). From typed text and back: pure, but for what reads a file.
/// The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/base/values.hpp"
#include "engine/host/cpu_load.hpp"
#include "engine/plan/arrivals.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/record/grow_and_stop.hpp"
#include "engine/replay/settings.hpp"
#include "proto/api/api_template.hpp"
#include "proto/api/dialect.hpp"
#include "proto/api/request_body.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/request.hpp"
#include "proto/run/period.hpp"

namespace driftless {

// When rows are sent: at a rate.

/// `--rate`.
struct TypedRate {
    bool infinite = false;
    double per_second = 0;  ///< above 0, where it is not infinite
    std::string text;
};

/// `--arrivals`.
struct TypedArrivals {
    ArrivalLaw law = ArrivalLaw::poisson;
    double shape = 1;  ///< of gamma
    bool scaled = false;
};

/// `--ramp`. Rates are per second.
struct TypedRamp {
    double from = 0;
    double to = 0;
    bool over_rows = false;  ///< over all rows; else over `length_ns`
    std::int64_t length_ns = 0;
    RampForm form = RampForm::linear;
    std::uint32_t steps = 0;  ///< 0: a line or a curve
    std::string text;
};

/// Rates that are higher would put two rows into one nanosecond.
inline constexpr double rate_most = 1e9;
inline constexpr std::uint32_t ramp_steps_max = 1000;

/// "10", "2.5/s", "600/m", "36000/h", "inf".
Result<TypedRate> parse_rate(std::string_view text);
/// A rate of that spelling, per second, finite; it may be 0.
Result<double> parse_rate_or_zero(std::string_view text);

inline constexpr Choices<ArrivalLaw> arrival_choices{{"constant", ArrivalLaw::constant},
                                                     {"poisson", ArrivalLaw::poisson},
                                                     {"recorded", ArrivalLaw::recorded}};
/// One of them, or "gamma:0.5"; drawn gaps with ":scaled" behind.
Result<TypedArrivals> parse_arrivals(std::string_view text);
std::string text_of(const TypedArrivals& arrivals);

/// "1:20:60s", with ":linear", ":exponential" or ":steps=5" behind; "rows" for a time.
Result<TypedRamp> parse_ramp(std::string_view text);

/// "10%:2s..10s", "0.1:500ms..1m": a share of the requests, and when they are given up after their
/// fire. Without the seed.
Result<AbandonRules> parse_abandon(std::string_view text);

// By users.

/// `--users`: "8", or "2..64" where `--grow` adds them.
struct UserCount {
    std::uint32_t first = 0;
    std::uint32_t most = 0;
    bool is_bound = false;  ///< "..8": as many as there are trees, up to 8
};
Result<UserCount> parse_user_count(std::string_view text);
/// `--grow`: "ttft:2s", "ttft:p95:2s"; the metric is ttft, ttft_due, tpot or e2e, and its figure
/// avg, p50, p90, p95, p99 or max. Sets all but the numbers of users.
Result<GrowRules> parse_grow_rules(std::string_view text);
/// As it is typed: "ttft:p95:2s"; empty where there is none.
std::string text_of(const GrowRules& rules);

/// `--session-order`.
inline constexpr Choices<TreeRule> tree_choices{{"file", TreeRule::file},
                                                {"shuffle", TreeRule::shuffle}};

inline constexpr Choices<FailureRule> failure_choices({{"end-tree", FailureRule::end_tree},
                                                       {"continue", FailureRule::go_on}},
                                                      "is not one of ", ", ",
                                                      ", or retry:N with N from 1 to 30");
/// One of them, or "retry:N" with N from 1 to 30. Keeps `waits_for_429` false.
Result<FailureRules> parse_failure_rules(std::string_view text);
/// As it is typed, `--on-429` left out.
std::string text_of(const FailureRules& rules);
/// `--on-429`: whether the row waits and is sent again.
inline constexpr Choices<bool> wait_for_429_choices{{"record", false}, {"wait", true}};

/// Shares of a recording, from and to, "0.25:0.75" or "0:50%"; both up to 1, in that order.
struct StartWithin {
    double from = 0;
    double to = 0;
};
Result<StartWithin> parse_start_within(std::string_view text);
/// `--start-by`, `--barrier`, `--recycle-share`, `--prime`: whether it is the second of two words.
inline constexpr Choices<bool> start_by_turns_choices{{"timeline", false}, {"turns", true}};
inline constexpr Choices<bool> tree_barrier_choices{{"stream", false}, {"tree", true}};
inline constexpr Choices<bool> share_system_choices{{"none", false}, {"system", true}};
inline constexpr Choices<bool> prime_one_token_choices{{"exact", false}, {"one-token", true}};

// Held back by token budgets.

/// A budget as it is typed.
struct TypedBudget {
    TokenRate rate;
    bool uncached = false;
};
std::string text_of(const TypedBudget& budget);

/// `--budget-input`: "500k/m", "20000/s", "30M/h"; behind it ":uncached", or not. k and M are a
/// thousand and a million tokens. Errors: invalid, out_of_range.
Result<TypedBudget> parse_input_budget(std::string_view text);
/// `--budget-output`: the same without ":uncached".
Result<TypedBudget> parse_output_budget(std::string_view text);

/// As it is typed: "500000/m:uncached"; empty where there is none.
std::string text_of(const TokenRate& rate, bool uncached);

/// DescribedApi: the server of `--api template`, as the file of `--template` describes it. Owned by
/// the options of a run, on the heap: the dialect refers to the rest.
struct DescribedApi {
    ApiTemplate form;
    Dialect dialect;
};

/// If `dialect` is the one of templates: reads the file, and replaces `dialect` by what the file
/// describes. Does nothing for other dialects. Returns the empty text, or one line that says what
/// is wrong.
std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described);

/// Notes which API a name of --api stands for, where it is not the API's own: "openai" is the
/// completions API to most tools, and a chat to some.
void note_api(const std::vector<std::string>& typed, const Dialect& dialect,
              std::vector<std::string>& notes);

inline constexpr Choices<Assistant> assistant_choices{{"recorded", Assistant::recorded},
                                                      {"live", Assistant::live}};

/// `--live-keep`: the parts of an answer.
inline constexpr Choices<bool KeptWords::*> kept_choices({{"text", &KeptWords::text},
                                                          {"tools", &KeptWords::tools},
                                                          {"reasoning", &KeptWords::reasoning}},
                                                         "is not a comma-separated list of ");
/// Any of them, with commas between.
Result<KeptWords> parse_kept_words(std::string_view text);
/// As it is typed.
std::string text_of(const KeptWords& kept);

// Timed events as people type them: `--event "+90s post http://a:8000/start_profile"`, and files
// of such lines. Pure, but for `read_events`.

struct TypedEvent {
    std::int64_t at_ns = 0;  ///< from time 0 of the run, in wall time
    TimedEventKind kind = TimedEventKind::label;
    std::string what;  ///< URL, command line or label
    Url url;           ///< of a POST
    bool operator==(const TypedEvent& other) const {
        return at_ns == other.at_ns && kind == other.kind && what == other.what;
    }
};

/// A run has so many at most: each may be a process.
inline constexpr std::size_t events_max = 1000;

/// "+T post URL", "+T run COMMAND", "+T label TEXT". Errors: invalid, out_of_range.
Result<TypedEvent> parse_event(std::string_view text);

/// Adds those of a file: one a line; empty lines, and those that begin with '#', are left out.
/// Returns why it cannot be, with file and line, or the empty text.
std::string read_events(const std::string& path, std::vector<TypedEvent>& out);
/// The same of the text of a file; `where` is before what is said.
std::string parse_events(const std::string& where, std::string_view text,
                         std::vector<TypedEvent>& out);

// Where a replay reads the servers' own metrics, and where it shows its own, as people type it.
// Pure, but for `complete_metrics`.

/// One value of `--metrics`.
struct MetricsPlace {
    enum class Kind : std::uint8_t { automatic, none, url };
    Kind kind = Kind::automatic;
    Url url;  ///< its path is "/metrics" where none was typed
};

/// Each has a connection of its own on the thread that reads them.
inline constexpr std::size_t metrics_places_max = 32;

/// "auto", "none" or a URL. Errors: invalid, out_of_range.
Result<MetricsPlace> parse_metrics_place(std::string_view text);

/// "1s": from 100ms to 1h. Errors: invalid.
Result<std::int64_t> parse_metrics_period(std::string_view text);

/// "127.0.0.1:9123", "[::1]:9123". Errors: invalid, out_of_range.
Result<Url> parse_listen_place(std::string_view text);

struct MetricsFlags;
/// Reads the files of tables. Returns what contradicts another flag, or why a file cannot be taken;
/// empty: all is well.
std::string complete_metrics(MetricsFlags& metrics);

/// More than any cluster has for its load generator: every shard reads the whole trace, and shard 0
/// talks to all others.
inline constexpr std::uint32_t shards_max = 4096;

/// `--shard` as it is typed.
struct TypedShard {
    bool is_none = false;  ///< the whole plan is sent, whatever the environment says
    ShardPlace place;
};
/// "0/3", or "none". Errors: invalid, out_of_range.
Result<TypedShard> parse_shard(std::string_view text);

/// As it is typed: "0/3".
std::string text_of(const ShardPlace& place);

/// `--meet` as it is typed.
struct MeetPlace {
    std::string host;
    std::uint16_t port = 0;
};
/// "node0:7100", "10.0.0.5:7100", "[::1]:7100". Errors: invalid, out_of_range.
Result<MeetPlace> parse_meet_place(std::string_view text);
/// As it is typed.
std::string text_of(const MeetPlace& place);

/// `--start-at`: a date and time of RFC 3339 with its offset, "2026-11-26T05:30:00Z", from 1970 on:
/// ns of CLOCK_REALTIME. Errors: invalid, out_of_range.
Result<std::int64_t> parse_utc_ns(std::string_view text);

/// "auto" (`engines_auto`), or 1 to `engines_max`.
Result<std::uint32_t> parse_engines(std::string_view text);

}  // namespace driftless
