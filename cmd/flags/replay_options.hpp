/// ReplayOptions: what the user asked of `driftless replay`, as plain values.
///
/// Made by `parse_replay_options` (with `--resume` and `--from` once more, by `take_up`) and never
/// changed; what becomes of keys and salts is in invocation.hpp. Parsing touches no clock, no
/// socket and no file but those of --template, --events and --metrics-table, which are flags
/// themselves; what needs them (does the output folder exist? is the model there?) is asked later.
/// Durations are ns. A flag is here when it works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/base/files.hpp"
#include "cmd/base/program.hpp"
#include "cmd/flags/replay_values.hpp"
#include "cmd/flags/rule_sets.hpp"
#include "cmd/flags/summary_values.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/tls.hpp"
#include "engine/plan/arrivals.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/plan/trees.hpp"
#include "engine/plan/wait_graph.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/replay/settings.hpp"
#include "proto/api/dialect.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/taint.hpp"
#include "proto/http/request.hpp"
#include "proto/metrics/server_figure.hpp"

namespace driftless {

/// Which stamps the kernel is asked for. `wire`: of what leaves, not of what is received.
enum class StampRule : std::uint8_t { full, wire, none };

/// `--session-headers`: a family of headers by which routers know a session.
enum class SessionHeaders : std::uint8_t { none, agentx };

/// One server: where it is, and the paths that are joined to it.
struct ReplayTarget {
    Url url;
    std::string api_path;   ///< request target of every row, for instance "/v1/chat/completions"
    std::string root_path;  ///< what is before "/v1": empty, or for instance "/proxy"
};

/// `--arm-ahead`.
struct ArmAhead {
    bool all = false;  ///< everything before the start; `window_ns` means nothing then
    std::int64_t window_ns = 0;
};

/// `--record-header` may be given so many times: each costs a look through every answer's head.
inline constexpr std::size_t record_headers_max = 8;

/// `--save-responses all`.
inline constexpr std::uint64_t save_all_responses = std::numeric_limits<std::uint64_t>::max();

/// What says the rate of rows, as typed: one of three, or none.
struct RateFlags {
    std::optional<TypedRate> rate;          ///< `--rate`
    std::optional<TypedRamp> ramp;          ///< `--ramp`
    std::string shape_file;                 ///< `--shape`; empty: none
    std::optional<TypedArrivals> arrivals;  ///< `--arrivals`
};

/// Which rows are sent, and when. `plan.seed` is the seed of everything.
struct WorkloadFlags {
    TraceFiles files;
    LoadOptions load;
    PlanOptions plan;
    std::optional<GapRule> gap;              ///< `--gap`; empty: end to start
    std::optional<std::int64_t> gap_cap_ns;  ///< `--gap-cap`
    std::string speed_text;                  ///< as typed, for run.json
    RateFlags rates;
    /// Rows arrive at a rate; empty: as recorded, or as users play. Once all flags are read.
    std::optional<ArrivalRules> arrivals;
    UserCount user_count;                      ///< `--users`
    std::optional<std::uint32_t> concurrency;  ///< `--concurrency`: as users of single rows
    std::optional<GrowRules> grow;             ///< `--grow`; its users once all flags are read
    UserRules users;  ///< `users.users` 0: there are none; whole once all flags are read
    std::optional<FailureRules> on_failure;   ///< `--on-failure`
    std::optional<StartWithin> start_within;  ///< `--start-within`
};

/// Where the server is, and what it is asked before time 0.
struct ServerFlags {
    std::vector<ReplayTarget> targets;  ///< at least one, but under `dry_run`
    bool dual = false;                  ///< `--against`: two targets, which get each row both
    std::optional<Url> connect_to;      ///< where connections go to; empty: where the URLs say
    TlsClientOptions tls;               ///< of https targets
    bool preflight = true;
    std::optional<std::int64_t> wait_ready_ns;
    std::optional<Overhead> overhead;           ///< empty: what preflight finds, or none
    std::optional<std::uint32_t> server_block;  ///< `--server-block`; empty: what preflight finds
    bool warm_probe = true;                     ///< is the cache warm from an earlier run?
    bool reset_cache = false;                   ///< `--reset-cache`
    std::uint32_t verify_prompts = 0;  ///< rows held against the server's tokenize endpoint
};

/// What is in every request, and what is recorded of its answer.
struct RequestFlags {
    const Dialect* dialect = nullptr;         ///< never nullptr after parsing
    std::string template_file;                ///< `--api template`; else empty
    std::unique_ptr<DescribedApi> described;  ///< what it says; null: another API
    std::string model;                        ///< empty: the first of /v1/models
    std::optional<FieldTemplate> row_model;   ///< `--model` with placeholders
    std::string against_model;                ///< of `--against`; empty: as `model`
    /// `--header`, then Authorization where there is a key; values may be `env:NAME`.
    std::vector<Header> headers;
    bool key_of_environment = false;  ///< the key is that of OPENAI_API_KEY
    /// `--header` with placeholders, then those of the family.
    std::vector<FieldTemplate> row_headers;
    SessionHeaders session_headers = SessionHeaders::none;
    std::vector<std::string> record_headers;  ///< `--record-header`, then those of the dialect
    bool traceparent = false;                 ///< each request names its trace
    std::string extra_body;                   ///< JSON object text, or empty
    std::optional<BodyTemplate> row_body;     ///< `--extra-body` with placeholders
    std::string routing_strategy;             ///< `--api aibrix`
    std::string user;                         ///< `--api aibrix`
    PromptKind prompt = PromptKind::text;
    OutputRule output = OutputRule::exact;
    std::optional<Assistant> assistant;  ///< empty: as the trace needs it
    KeptWords live_keep;                 ///< of an answer, in later prompts
    bool continuous_usage = false;
    bool stream = true;
    std::string length_member;  ///< `--length-field`; empty: the dialect's, or what is obeyed
};

/// What prompts are made of.
struct PromptFlags {
    std::string tokenizer;  ///< file whose vocabulary gives the words; empty: the built-in words
    std::string dataset;    ///< file whose text prompts are cut from; empty: words only
    std::string dataset_column;  ///< empty: detected
    std::uint32_t ids_from = 0;
    std::uint64_t block_cache_bytes = 0;
    std::string cache_salt;    ///< as typed; empty: none; "random" is drawn (invocation.hpp)
    std::string save_prompts;  ///< new file for the exact bodies; empty: none
};

/// How rows leave: connections, how many at once, and how long they may take.
struct SendingFlags {
    ArmAhead arm_ahead;
    std::optional<std::uint32_t> inflight_max;  ///< empty: file limit - 64
    std::optional<TypedBudget> budget_input;
    std::optional<TypedBudget> budget_output;
    std::optional<AbandonRules> abandon;       ///< `--abandon`; without the seed
    std::optional<std::uint32_t> connections;  ///< empty: follows the schedule
    ConnectionRule connection = ConnectionRule::reuse;
    Balance balance = Balance::turn;
    Timeouts timeouts;
    std::int64_t grace_ns = 0;
};

/// What is written and shown.
struct ResultFlags {
    std::string out;           ///< folder; empty: runs/<UTC time>-<trace name>
    std::string records_path;  ///< `--output-path`; empty: requests.jsonl in the folder
    bool chunks = true;        ///< chunk arrays in the records
    std::uint64_t save_responses = 0;
    GoodputRules goodput;  ///< in the order in which they were given
    std::vector<Threshold> fail_if;
    std::vector<StopRule> stop_when;
    std::int64_t period_ns = 0;  ///< of periods.jsonl; 0: there is none
    std::vector<std::pair<std::string, std::string>> labels;
    bool page = true;  ///< report.html in the folder
    CiFiles ci;
    bool progress = true;
    bool quiet = false;  ///< errors and the result only
    TableKind table = TableKind::compact;
};

/// What is done at instants of the run, beside sending rows.
struct EventFlags {
    std::vector<TypedEvent> typed;  ///< `--event`, then those of the file
    std::string file;               ///< `--events`; empty: none
    std::int64_t timeout_ns = 0;    ///< of each
};

/// Which pages of the servers' own metrics are read beside the run, and where its own is.
struct MetricsFlags {
    std::vector<MetricsPlace> places;  ///< `--metrics`; empty: auto
    std::int64_t period_ns = 0;
    std::vector<std::string> table_files;  ///< `--metrics-table`
    std::vector<std::string> table_texts;  ///< what they say
    std::vector<EngineMapping> tables;     ///< the same, read
    std::optional<Url> listen;             ///< `--listen`: the run's own page; empty: none
    bool automatic() const { return places.empty() || has(MetricsPlace::Kind::automatic); }
    bool has(MetricsPlace::Kind kind) const {
        return std::ranges::find(places, kind, &MetricsPlace::kind) != places.end();
    }
};

/// Which part of the plan this process sends. Filled once the environment is known (shard.hpp).
struct ShardFlags {
    std::optional<TypedShard> typed;  ///< `--shard`
    std::string from;                 ///< "--shard", or a variable's name; empty: all is sent
    ShardPlace place;
    bool any() const { return !from.empty(); }
    bool is_part() const { return place.is_part(); }

    std::optional<std::int64_t> start_at_utc_ns;  ///< `--start-at`: CLOCK_REALTIME of time 0
    std::optional<MeetPlace> meet;                ///< `--meet`: where shard 0 waits for the others
    std::int64_t meet_timeout_ns = 0;
    std::int64_t clock_error_max_ns = 0;  ///< `--clock-error-max`: wider is worth a warning
};

/// Which earlier run, or file of flags, is taken up: its flags are added by whoever reads it
/// (settings.hpp).
struct AgainFlags {
    std::string resume;  ///< folder of the run that goes on; empty: a new one
    bool resend = false;
    std::string from;    ///< folder of the run that is repeated; empty: none
    std::string config;  ///< file of flags; empty: none
    bool any() const { return !(resume.empty() && from.empty() && config.empty()); }
};

/// `--writer-cpu`: where the writer's thread runs.
struct WriterCpu {
    enum class Where : std::uint8_t { automatic, beside, apart, on } where = Where::automatic;
    std::uint32_t cpu = 0;  ///< on
};

/// What the engines may use of this host.
struct HostFlags {
    std::uint32_t engines = 1;  ///< or `engines_auto`
    std::optional<std::uint32_t> cpu;
    WriterCpu writer_cpu;
    std::optional<WaitPolicy> wait;        ///< empty: host_choice.hpp decides, as of the next one
    std::optional<Scheduling> scheduling;  ///< never `realtime`: that is a flag of its own
    bool warm_sends = false;
    bool realtime = false;  ///< the engine thread before all ordinary ones
    /// Of 4 KiB, a power of two; empty: by the connections that there can be.
    std::optional<std::uint32_t> receive_buffers;
    StampRule stamps = StampRule::full;
    DriverKind driver = DriverKind::automatic;
};

/// What the verdict compares with.
struct CalibrationFlags {
    std::string source;  ///< file, "none", or "auto": where `calibrate` puts it
    CertifyWithin certify_within;
    bool require_certified = false;
};

/// `--rules`: what a run is compared with. Their flags are among the others.
struct RuleFlags {
    std::vector<std::string> typed;
    RuleSets chosen;
    bool required = false;  ///< `--require-rules`
};

struct ReplayOptions {
    WorkloadFlags workload;
    ServerFlags server;
    RequestFlags request;
    PromptFlags prompts;
    SendingFlags sending;
    ResultFlags results;
    EventFlags events;
    MetricsFlags metrics;
    AgainFlags again;
    ShardFlags shard;
    HostFlags host;
    CalibrationFlags calibration;
    RuleFlags rules;
    bool dry_run = false;
};

struct ReplayCommandLine : CommandLine {
    /// run: what was given, in our spelling: TRACE.., then `--flag` or `--flag=value`.
    std::vector<std::string> arguments;
    std::vector<std::string> notes;  ///< run: flags of other tools that were ignored, and why
    ReplayOptions options;
};

/// Parses everything after the command's name. With `--resume` or `--from` the rest is only read,
/// and not held to be complete: what the earlier run says is missing. `api_key` is the value of
/// OPENAI_API_KEY, empty where it is not set; `--api-key` goes before it.
ReplayCommandLine parse_replay_options(const std::vector<std::string>& arguments,
                                       const std::string& api_key);

}  // namespace driftless
