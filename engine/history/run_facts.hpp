/// What run.json says of a run, and of shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/figures/breakdowns.hpp"
#include "proto/figures/criteria.hpp"
#include "proto/figures/summary.hpp"
#include "proto/figures/taint.hpp"
#include "proto/figures/verdict.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// RunFacts: what `run.json` says of a run to those who come later: `report`, `replay --resume` and
// `replay --from`. Plain values, read from its text; who writes them is cmd/replay/run_file.
//
// Keys that it does not name are ignored. Nothing in them is secret.

/// Readings of both clocks at time 0.
struct ClockAnchors {
    std::int64_t zero_monotonic_ns = 0;  ///< CLOCK_MONOTONIC
    std::int64_t zero_utc_ns = 0;        ///< CLOCK_REALTIME of the same instant
    std::int64_t error_ns = 0;           ///< how far apart the two readings may be
};

/// What calibration allowed a run; without one, why there is none, and what the bar allowed.
struct CalibrationFacts {
    std::string date;
    std::string why_not;           ///< empty: there is one
    std::int64_t measured_ns = 0;  ///< time that this run took for it before time 0; 0: from a file
    double taken_share = 0;        ///< of the engine's CPU, by others while it was measured
    TaintLimits limits;
    /// Of figures that an earlier run has measured and kept: what the run that uses them sees must
    /// not contradict them. In no file.
    struct Kept {
        std::string path;  ///< empty: they are not such
        std::int64_t wake_p99_ns = 0;
    } kept;
};
void walk(auto& fields, IsOf<CalibrationFacts> auto& facts) {
    fields.text("date", 1, facts.date);
    fields.text("why_not", 2, facts.why_not);
    fields.value("drift_ns", 1, facts.limits.drift_ns);
    fields.value("measured_ns", 2, facts.measured_ns);
    fields.value("taken_share", 2, facts.taken_share);
    fields.value("rank_ns", 1, facts.limits.rank_ns);
    fields.value("drift_most_ns", 2, facts.limits.drift_most_ns);
    fields.value("receive_delay_ns", 1, facts.limits.receive_delay_ns);
    fields.value("wire_ns", 2, facts.limits.wire_ns);
    fields.value("error_ns", 2, facts.limits.error_ns);
}
/// "calibrated for 1.9 s before this run", "calibrated at 2026-11-21T03:45:12Z".
std::string how_calibrated(const CalibrationFacts& calibration);

/// One stretch of a run: from its start, or from a `--resume`, until it ended or was killed. The
/// stamps of all segments count from the time 0 of the run; that of a later segment lies before it.
struct RunSegment {
    std::string run_id;                ///< begins the X-Request-Id of its requests
    std::vector<std::string> command;  ///< as typed, keys masked
    ClockAnchors clock;
    std::int64_t first_due_ns = 0;       ///< of the first row that it was to send
    std::uint64_t rows = 0;              ///< that it was to send
    std::uint64_t rows_interrupted = 0;  ///< of the segments before it, found without an end
    std::string driver = "io_uring";     ///< older ones do not say: there was no other
};

/// One of the shards that a replay was dealt to, each a process with a run of its own.
struct ShardFacts {
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::uint64_t plan_rows = 0;  ///< of the whole plan; `rows` of the run are its own
    /// By the exchanges with shard 0, before and after the run, else by the kernel's own word.
    std::optional<ShardClock> clock;
    bool met_after = false;  ///< shard 0 knows when it ended: it was there until then
};

/// The second server of a dual-fire run.
struct AgainstFacts {
    std::string model;
    Overhead overhead;
};

struct RunFacts {
    std::int64_t schema = 0;             ///< of its records (record.hpp)
    std::vector<std::string> arguments;  ///< of `replay`: TRACE.., then `--flag=value`
    std::string records_path;            ///< empty: requests.jsonl in the folder
    std::string records_in(const std::string& folder) const {
        return records_path.empty() ? folder + "/requests.jsonl" : records_path;
    }
    std::vector<RunSegment> segments;  ///< at least one
    /// What moved its bytes: "io_uring"; of a run that was resumed perhaps "io_uring, then epoll".
    std::string drivers() const;
    bool ended = false;                       ///< it closed its books
    std::optional<std::uint64_t> rows_fired;  ///< in all segments, by those books

    std::vector<std::string> rule_texts;      ///< TOML of the sets of `--rules`
    RuleFacts rules;                          ///< what they ask for
    std::vector<std::string> metrics_tables;  ///< TOML of `--metrics-table`

    std::uint64_t trace_digest = 0;
    std::uint64_t schedule_digest = 0;
    std::optional<std::uint64_t>
        prompts_digest;        ///< of all rows; unknown where a run was cut short
    std::uint64_t rows = 0;    ///< selected
    std::uint64_t probes = 0;  ///< requests before them: of the preflight, of --verify-prompts
    bool is_live = false;      ///< prompts held its own answers
    bool has_users = false;    ///< ... which users play: how many requests they send is not known

    // What prompts are made of, beside the rows: it stands in for a digest that is not known.
    std::uint64_t seed = 0;
    std::optional<std::string> cache_salt;
    std::optional<std::uint64_t> dataset_digest;  ///< of the text of `--dataset`
    std::uint64_t words_digest = 0;
    std::string prompt;                            ///< "text" or "ids"
    std::optional<std::uint64_t> template_digest;  ///< of `--api template`
    Overhead overhead;
    std::optional<AgainstFacts> against;  ///< of dual fire alone
    std::optional<ShardFacts> shard;      ///< of a shard alone
    std::string meeting;                  ///< that member of run.json, JSON; empty: null
    /// Other processes sent rows of the plan, too.
    bool is_part() const { return shard && shard->count > 1; }
    /// Rows leave when others have ended, or users are free: in which order, the run decides.
    bool in_run_order() const { return info.run.sessions == "closed" || has_users; }
    ShardRole shard_role() const {
        const bool merged = info.merged && info.merged->count > 1;
        return {.others_send = is_part() || (merged && info.merged->not_reported() > 0),
                .merged = merged,
                .forecast_apart = (is_part() || merged) && in_run_order()};
    }
    /// Of two servers, those of the one that puts more in front.
    Overhead largest_overhead() const {
        const bool is_first = !against || against->overhead.pre <= overhead.pre;
        return is_first ? overhead : against->overhead;
    }

    GoodputRules goodput;
    CalibrationFacts calibration;
    std::string kernel;  ///< of the host that it began on; empty: not known
    std::string cpu_model;
    SummaryInfo info;  ///< all but the verdict
};

/// Reads the text of run.json. What a merged run says of its shards is in `info.merged`. Errors:
/// bad_json, missing, out_of_range; `doing` is the key.
Result<RunFacts> read_run_facts(JsonDocument& document, std::string_view text);

/// The verdict of a run under the limits that it had, calibrated or not. A cache that was warm is
/// among its reasons.
Judgement judge_run(const CalibrationFacts& calibration, const SummaryFigures& figures,
                    const ClientTotals& client, const CacheProbe& cache);

/// "20261121-034512", as `date` of the summary has it.
std::string date_text(std::int64_t utc_ns);

// What run.json says of shards: of the one that a run is (`shard`, `meeting`), and of those that a
// merged run was made of (`merged`). Read and written here; pure.

/// Nothing where `shard` is null or absent. Errors: bad_json, missing, out_of_range; `doing` is the
/// key.
Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting);

/// The key `merged` with its object.
void write_merged(JsonWriter& json, const MergedRun& run);
/// Reads it back. Nothing where it is null or absent. Errors: as above.
Result<std::optional<MergedRun>> read_merged(JsonValue merged);

}  // namespace driftless
