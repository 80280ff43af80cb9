/// The time of a run, by its records: how late each row left, how long the run was active, and
/// how far its measurement reached.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/figures/distribution.hpp"
#include "proto/figures/steadiness.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// Sending: how late each row left, and why: stage by stage from its due instant to the wire, by
// cause, and by its place among the rows of the same instant. Fed with records one by one, in any
// order, so that it can be rebuilt from `requests.jsonl`; it judges nothing. 48 bytes a row, 24
// more one that a cap held back.
//
//     due --drift--> fired --wire delay--> on the wire
//                      `---- submit ----'  the call that hands the row over, which mostly reaches
//                                          the wire before it returns

/// Drift of the rows that are `first` to `last` among those of their instant, from 0: one core
/// sends one after another. Ranks 0, 1, 2-3, 4-7 and so on.
struct RankFigures {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    Distribution drift;
};

/// Rows that one cap held back: for how long, and how late they left in all, ns.
struct HeldFigures {
    Distribution held;
    Distribution drift;
};

/// ns. Rows that `--max-inflight` or a token budget held back are in none of the drifts, nor in
/// `wire_drift`.
struct SendingFigures {
    Distribution drift;                                   ///< fired - due
    std::array<Distribution, late_cause_count> by_cause;  ///< drift of the rows of each late cause
    std::vector<RankFigures> by_rank;                     ///< ranks that there are
    std::uint32_t instant_rows_max = 0;  ///< due at the instant of a row that left, up to it
    Distribution submit;
    Distribution wire_delay;         ///< wire - fired
    Distribution wire_drift;         ///< wire - due
    Distribution receive_delay;      ///< worst of each row
    HeldFigures held_by_user;        ///< `--max-inflight`
    HeldFigures held_by_budget;      ///< `--budget-input`, `--budget-output`
    HeldFigures held_by_host;        ///< a limit of the host: its rows are in the drifts, too
    std::uint64_t wire_unknown = 0;  ///< rows that left and have no `wire_ns`
};

class Sending {
  public:
    /// Rows that did not leave have a place in their instant, and no figures.
    void add(const Record& record);
    SendingFigures figures() const;

  private:
    struct Row {
        std::int64_t due_ns;
        std::int64_t drift_ns;
        std::int64_t wire_delay_ns;     ///< -1: unknown
        std::int64_t receive_delay_ns;  ///< -1: unknown
        std::int64_t submit_ns;         ///< -1: unknown
        std::uint32_t row;
        LateCause cause;
        bool left;
    };

    struct Held {
        std::int64_t held_ns;
        std::int64_t drift_ns;
        LateCause cause;
    };

    std::vector<RankFigures> by_rank(std::uint32_t& instant_rows_max) const;

    std::deque<Row> rows_;
    std::deque<Held> held_;
};

// RunTimeline: what records say of the run's time: how long it was active, how many requests were
// open at once, its best second. Fed with records one by one, in any order, so that it can be
// rebuilt from `requests.jsonl`; it judges nothing. 32 bytes a row, 8 bytes a second.
//
// The segments of a run that was killed and resumed followed one another, but their stamps may
// overlap: a later one begins at the due instant of its first row, which may lie before the last
// stamp of the one before. Nothing is added up, or counted as open, across segments. The first
// segments of the shards of a merged run went side by side, each on its own clock: they count as
// one. What a shard was resumed for came later, and is a segment of its own.

struct RunTimelineFigures {
    /// Sum over the segments that sent a row or gave one up, each from its beginning to its last
    /// stamp. The first segment begins at time 0, a later one, and one with a warm-up, when the
    /// first of those rows was due.
    std::int64_t duration_ns = 0;
    /// The same if each row ended as early as it can have: its last byte may have waited for us.
    std::int64_t duration_least_ns = 0;
    std::vector<MeasuredSpan> spans;  ///< those stretches, by segment
    /// Rows with fired_ns <= t < ended_ns, at most; a row without an end was open until its segment
    /// died. (Records of schema 1 have no ended_ns: done_ns is in.)
    std::uint64_t max_concurrent_requests = 0;
    /// Output tokens of a second of a segment, from time 0, at most. Unknown where chunks of a row
    /// are not known, or those of a whole answer not counted; of others each is one token.
    std::optional<std::uint64_t> max_output_tokens_per_s;
    /// Requests a second, from the first fire to the last. Unknown of fewer than two instants, and
    /// of several segments.
    std::optional<double> sent_rate;
    StabilityFinding stability;             ///< of one segment; of several unknown
    std::uint64_t rows_without_chunks = 0;  ///< they had tokens, but nobody kept the stamps
};

class RunTimeline {
  public:
    void add(const Record& record);
    /// A record of the warm-up, which is in no figure.
    void add_warm_up(const Record& record);
    /// The figures so far. Sorts a copy.
    RunTimelineFigures figures() const;

  private:
    /// A request that left. -1: not known.
    struct Left {
        std::int64_t fired_ns;
        std::int64_t ended_ns;
        std::int64_t due_ns;
        std::int64_t first_token_ns;
    };
    struct Segment {
        bool sent = false;
        bool has_warm_up = false;
        std::int64_t first_due_ns = 0;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
        std::int64_t end_least_ns = 0;
        std::vector<std::uint64_t> tokens_in_second;
        std::deque<Left> left;
    };
    void add_tokens(const Record& record, Segment& segment);
    static std::optional<double> sent_rate(const Segment& segment);
    static std::uint64_t max_open(const Segment& segment);
    static StabilityFinding stability(const Segment& segment);

    std::map<std::uint64_t, Segment> segments_;  ///< shard, if it is a later one, and segment
    std::uint64_t rows_without_chunks_ = 0;
    bool has_uncounted_chunks_ = false;  ///< some whole answer has chunks of unknown tokens
    bool has_unstamped_tokens_ = false;  ///< some answer had tokens and no chunk (--no-stream)
};

// PhaseMarks: what rules ask of a run beside its latencies: how far the measurement reached, how
// many users took part, which requests did not fit the server's context, and what the first
// request of each tree hit. Takes records of the warm-up too, in any order, but that a user's are
// in the order of the trees that it plays, as they end. Pure.
//
// 48 bytes a user: what a tree has shown is added up when its user plays the next one. Where there
// are no users, 64 bytes a tree: none is played twice.

/// Of the first request of each tree, in the warm-up or not: nothing before it was of its tree.
struct FirstTurnFigures {
    std::uint64_t trees = 0;
    std::uint64_t reported = 0;         ///< of those: the server says how many tokens were cached
    std::uint64_t input_tokens = 0;     ///< of those that were reported, as all that follows
    std::uint64_t cached_tokens = 0;    ///< as reported
    std::uint64_t expected_tokens = 0;  ///< hits that an empty cache allows, but for ..
    std::uint64_t unforetold = 0;       ///< .. those of which it is not known (recorded text)
};

struct PhaseFigures {
    OptionalNs last_first_token_ns;  ///< of the profile phase; from time 0 of the run
    OptionalNs last_token_ns;        ///< the same
    std::uint64_t context_overflows = 0;
    std::uint64_t users = 0;  ///< that sent a request in the profile phase
    FirstTurnFigures first_turns;
};

/// The server's words for a prompt that is too long, in any case: those that AIPerf's AgentX knows.
bool is_context_overflow(std::string_view error);

class PhaseMarks {
  public:
    void add(const Record& record);
    PhaseFigures figures() const;

  private:
    struct First {
        std::uint64_t tree = 0;  ///< a digest of its name and pass
        std::uint32_t request = 0;
        std::uint32_t input = 0;
        bool is_known = false;
        std::optional<std::int64_t> cached;
        std::optional<std::int64_t> expected;
    };

    void add_first(const Record& record);
    static void add_tree(const First& first, FirstTurnFigures& turns);

    PhaseFigures figures_;         ///< `first_turns` of the trees that users have done with
    std::vector<bool> users_;      ///< [user] it sent something
    std::vector<First> of_users_;  ///< [user] of the tree that it plays
    std::unordered_map<std::uint64_t, First> first_;  ///< by `tree`, where there are no users
};

}  // namespace driftless
