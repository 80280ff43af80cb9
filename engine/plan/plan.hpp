/// Plan: which rows are sent, when, and by whom and to whom: for one server, for two at once (dual
/// fire), dealt to several that play it (shares). Then one request of it: when it is due, how it
/// ended, when its client gives it up, and what is known of those of earlier segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// A plan is made of a trace and the user's choices; it is immutable afterwards and shared by the
// engine thread and the writer thread.

/// `--speed` as the exact fraction that its decimal says: 2.5 is 5/2. Never a double, so that a due
/// instant is the same on every machine.
struct Speed {
    std::uint64_t numerator = 1;
    std::uint64_t denominator = 1;
};

/// Reads a positive decimal ("2", "0.5", "1e2"), at most 18 significant digits. Errors: invalid,
/// out_of_range.
Result<Speed> parse_speed(std::string_view text);

/// floor(trace_ns / speed), computed in 128 bits; the largest int64 where it would not fit.
std::int64_t due_of(std::int64_t trace_ns, Speed speed);

/// What is selected, in this order: window of trace time, number of rows, wall time.
struct PlanOptions {
    Speed speed;
    std::optional<std::int64_t> start_ns;     ///< `--start`: trace time, inclusive
    std::optional<std::int64_t> end_ns;       ///< `--end`: trace time, exclusive
    std::optional<std::uint64_t> limit;       ///< `--limit`: rows, after sorting
    std::optional<std::int64_t> duration_ns;  ///< `--duration`: rows due before this, wall time
    /// `--spread`: rows of one recorded instant go, in file order, to seeded uniform places in the
    /// gap to the next instant (the last instant: in the gap before it). A row's place depends on
    /// seed and trace only; the window is that of recorded times. Copies are spread each by itself.
    bool spread = false;
    std::uint64_t seed = 0;
};

/// One selected row, for one server of dual fire where there are two. 24 bytes.
struct Planned {
    std::int64_t due_ns = 0;  ///< from time 0; the first planned row is due at 0
    std::uint32_t row = 0;    ///< position in `Trace::rows`
    /// Tokens that an infinite prefix cache would hold when this row comes: block size times the
    /// blocks of the longest prefix seen in an earlier row of the trace (file order, selected rows
    /// only, full blocks only, never the row's last token).
    std::uint32_t expected_cached_tokens = 0;
    Side side = Side::none;

    /// Of the two requests of a row, the one to the second server: who counts rows skips it.
    bool is_to_second() const { return side == Side::b; }
};

/// Hits of an infinite cache, of the selected rows of which they are known (Trace::foretells_hits).
struct ForetoldHits {
    std::uint64_t rows = 0;
    std::uint64_t input_tokens = 0;   ///< of those rows
    std::uint64_t cached_tokens = 0;  ///< that they would hit
    std::uint64_t rows_unknown = 0;   ///< all other selected rows
};

/// Tokens that a server's template puts behind a prompt; `against`: that of the second server.
struct PostTokens {
    std::uint32_t first = 0;
    std::uint32_t against = 0;
    friend bool operator==(const PostTokens&, const PostTokens&) = default;
};

struct Plan {
    std::vector<Planned> rows;          ///< sorted by due, equal instants in file order
    std::uint64_t schedule_digest = 0;  ///< of (file index, due) of every row, in order
    std::uint64_t rows_outside = 0;     ///< rows of the trace that were not selected
    std::uint32_t burst_rows_max = 0;   ///< most rows at one instant
    std::uint64_t input_tokens = 0;     ///< sums over the selected rows
    std::uint64_t output_tokens = 0;
    std::uint64_t inputs_unknown = 0;  ///< rows whose length is not recorded: not in these sums
    std::uint64_t outputs_unknown = 0;
    ForetoldHits foretold;
    PostTokens post;  ///< that the forecast of cached tokens was made for
    std::int64_t last_due_ns = 0;
    /// By position in `Trace::rows`: the same in the server's own blocks (forecast.hpp);
    /// empty where their size is not known.
    std::vector<std::uint32_t> server_cached;
    bool dual = false;                          ///< each row stands twice, once for each server
    std::vector<std::uint32_t> against_cached;  ///< `server_cached` of the second of them

    /// Rows of the trace, of a plan that is whole: each counts once, though two servers get it.
    std::size_t rows_once() const { return dual ? rows.size() / 2 : rows.size(); }
};

/// The rows that are selected, by due, without their `expected_cached_tokens`; maybe none.
std::vector<Planned> select_rows(const Trace& trace, const PlanOptions& options);

/// Errors: invalid, where nothing is selected; out_of_range, where the last row is due in 73 years.
Result<Plan> make_plan(const Trace& trace, const PlanOptions& options);

/// The same rows, with all that is said of them: sums, digest and forecast of cached tokens.
Plan summed_up(const Trace& trace, Plan plan);

/// Positions in `plan.rows` by the rows' order in the file. Nearly free where the plan goes by it.
std::vector<std::uint32_t> file_order(const Trace& trace, const Plan& plan);

/// The same plan with each `expected_cached_tokens` for servers whose templates put `post` behind
/// the prompt: they displace the end of a row's last block, which then differs from the same block
/// inside a longer row. Each server has a cache of its own. `make_plan` assumes no such tokens.
Plan expect_cached(const Trace& trace, PostTokens post, Plan plan);

/// PlannedRows: where a row of the trace is in a plan, if it was selected. A plain table, made
/// once; 4 bytes for each row of the trace.
class PlannedRows {
  public:
    PlannedRows(const Trace& trace, const Plan& plan);

    /// Position in `Plan::rows` of the row of that `index`; nothing where it is not planned.
    std::optional<std::uint32_t> find(std::uint32_t index) const {
        const bool known = index < positions_.size() && positions_[index] != unplanned;
        return known ? std::optional(positions_[index]) : std::nullopt;
    }
    bool contains(std::uint32_t index) const { return find(index).has_value(); }

  private:
    static constexpr std::uint32_t unplanned = UINT32_MAX;
    std::vector<std::uint32_t> positions_;  ///< [row index]
};

// Dual fire: a plan in which each row stands twice, for two servers, a and b, at one instant.
//
// The two requests of a row follow each other in the plan, and so leave one after the other, about
// 10 us apart over loopback. Which side goes first is drawn: of the rows 2k and 2k+1 of the file
// one begins with a and the other with b, and the seed says which. A row keeps its order whatever
// is selected, and the orders of neighbours cancel what a first place is worth.
//
// Pure functions. All that comes behind the plan sees requests, each with its side.

/// Whom the row with this `index` goes to first.
Side first_side(std::uint64_t seed, std::uint32_t index);

/// Both requests of each row of `plan`, which has one of each. Sums are over both sides, and the
/// digest covers the order of each pair. Errors: out_of_range, where a trace of so many rows has no
/// place for each twice.
Result<Plan> dual_plan(const Trace& trace, Plan plan, std::uint64_t seed);

// Shares: a plan dealt to several that play it side by side: the engines of one process
// (`--engines`), the processes of several machines (`--shard`).
//
// Rows are dealt one by one, as they are due: the rows of one instant are spread over all shares,
// which shortens the wait inside a burst. Where rows depend on each other, whole trees are dealt.
// Both requests of a row under dual fire stay together. Who gets what depends on the trace, the
// plan and the number of shares alone, so that each process can work it out by itself.
//
// Pure functions.

/// One of several that play a plan.
struct ShardPlace {
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    bool is_part() const { return count > 1; }
    /// What each of them counts from 0 by itself, as numbers that no two of them have.
    constexpr std::uint32_t number_of(std::uint32_t own) const { return own * count + index; }
    /// The place among all of one of several that share what is here.
    constexpr ShardPlace within(ShardPlace outer) const {
        return {outer.index + outer.count * index, outer.count * count};
    }
    friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

/// What stays together.
enum class DealRule : std::uint8_t {
    rows,   ///< a row: each at its recorded instant, on any connection
    trees,  ///< the rows of a tree (trees.hpp): closed or sticky sessions, users
};

/// [position in the plan] its share, from 0. `shares`: at least 1.
std::vector<std::uint32_t> deal(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                DealRule rule);

/// What one of them plays.
struct PlanShare {
    /// Digest, sums and forecasts are of the whole plan.
    Plan plan;
    /// Those of its rows in the whole plan, ascending.
    std::vector<std::uint32_t> positions;
};

/// `owners` is what `deal` gave. A share may have no row.
PlanShare share_of(const Plan& plan, const std::vector<std::uint32_t>& owners, std::uint32_t share);

/// All shares that have rows, in order. None where fewer than two would have any: then the plan is
/// played whole.
std::vector<PlanShare> shares_with_rows(const Trace& trace, const Plan& plan, std::uint32_t shares,
                                        DealRule rule);

/// Of `total` things (users, open requests) that several share: as many as that one gets. The first
/// get one more where they do not divide evenly.
constexpr std::uint32_t part_of(std::uint32_t total, std::uint32_t shares, std::uint32_t share) {
    return total / shares + (share < total % shares ? 1 : 0);
}

/// Balance: which of several servers a row goes to. Pure functions: nothing of a run decides, so
/// that a run that is repeated or resumed sends every row of a session where it went before.
enum class Balance : std::uint8_t {
    turn,     ///< row after row, in the order of the plan
    session,  ///< the rows of one session to one server, sessions in turn; other rows as above
};
template <>
inline constexpr auto closed_list<Balance> = name_list("turn", "session");

/// Index of the server, below `targets`. `planned`: the row's position in the plan.
inline std::uint32_t target_of(Balance balance, const TraceRow& row, std::uint32_t planned,
                               std::uint32_t targets) {
    const bool by_session = balance == Balance::session && row.session != no_session;
    return (by_session ? row.session : planned) % targets;
}

/// Due: one request, and the instant at which it must be sent. A plain value that goes with the
/// request all the way to its record, so that nobody behind the schedule looks anything up.
struct Due {
    std::int64_t due_ns = 0;    ///< from time 0
    std::uint32_t request = 0;  ///< number of the sending: where each row is sent once, its
                                ///< position in the plan; users use it again in a later pass
    std::uint32_t row = 0;      ///< position in `Trace::rows`
    std::uint32_t rank = 0;     ///< how many requests of the same instant go before it
    /// Position in `Trace::rows` of a row that this one waited for, in vain: it will not be sent.
    std::uint32_t failed_row = none_failed;
    /// From time 0: when the last of the rows that it waited for had ended, or had left where it
    /// waited for that alone.
    std::int64_t parent_end_ns = no_parent;
    std::uint32_t pass = 0;        ///< how often the corpus had been gone through before
    std::uint32_t user = no_user;  ///< who sends it
    Phase phase = Phase::profile;  ///< what it is sent for
    std::uint8_t attempt = 0;      ///< how often the row was sent before in this pass, in vain
    bool one_token = false;        ///< of its answer no more is asked for
    Side side = Side::none;        ///< which of two servers it is for (dual fire)

    static constexpr std::uint8_t attempts_max = 31;  ///< an event has room for no more
    static constexpr std::uint32_t no_user = UINT32_MAX;
    static constexpr std::uint32_t none_failed = UINT32_MAX;
    static constexpr std::int64_t no_parent = INT64_MIN;  ///< it waited for none
};
static_assert(sizeof(Due) == 48);

/// Tokens that the answer is to have; 0: not known.
inline std::uint32_t asked_tokens(const Due& due, const TraceRow& row) {
    return due.one_token ? 1 : row.output_length;
}

/// A row or a namespace, in one pass through the corpus: passes have nothing in common.
constexpr std::uint64_t number_in_pass(std::uint32_t number, std::uint32_t pass) {
    return std::uint64_t{pass} << 32 | number;
}

/// Tells the sendings of a run apart, but for attempts: by row, pass and side. `pass`: below 2^31.
constexpr std::uint64_t sending_number(std::uint32_t row, std::uint32_t pass, Side side) {
    return number_in_pass(row, pass) | std::uint64_t{side == Side::b ? 1U : 0U} << 63;
}

/// That of a planned row at its instant, as that request.
inline Due planned_due(const Planned& planned, std::uint32_t request) {
    Due due;
    due.due_ns = planned.due_ns;
    due.request = request;
    due.row = planned.row;
    due.side = planned.side;
    return due;
}

/// That of one row of a plan whose instants are all known, in O(log rows).
Due due_at(const Plan& plan, std::uint32_t position);

/// TurnEnd: how a request ended, as far as it matters to those that wait for it. A plain value.
struct TurnEnd {
    bool answered = false;  ///< by a whole answer
    /// Its client gave it up, by plan: a user who goes on with the next turn. It is not sent again.
    bool is_abandoned = false;
    bool is_429 = false;
    /// Of a 429: when its server says that the request may come again, from its end.
    std::int64_t retry_after_ns = unknown;

    static constexpr std::int64_t unknown = -1;

    /// Others go on behind it.
    bool goes_on() const { return answered || is_abandoned; }

    // NOLINTNEXTLINE(google-explicit-constructor): most ends say nothing else.
    TurnEnd(bool is_answered) : answered(is_answered) {}
};

/// How long nothing is sent in the place of what has failed so often in a row, from 1: a server
/// that refuses all at once is not asked again at once.
constexpr std::int64_t failure_pause_ns(std::uint32_t failures) {
    constexpr std::int64_t first_ns = 100'000'000;
    constexpr std::int64_t longest_ns = 30'000'000'000;
    constexpr std::uint32_t doublings_max = 9;
    const std::uint32_t doublings = failures == 0 ? 0 : failures - 1;
    const std::int64_t pause_ns = first_ns
                                  << (doublings < doublings_max ? doublings : doublings_max);
    return pause_ns < longest_ns ? pause_ns : longest_ns;
}

// Abandonment: which requests their clients give up, and how long after the fire (`--abandon`).
// A pure draw from the seed and the request itself. The same requests are given up in each run of
// a seed, whatever the order, the speed or the number of shards. Reads no clock.

/// `--abandon P:T1..T2`. Plain values.
struct AbandonRules {
    double share = 0;          ///< of the requests; 0: none
    std::int64_t from_ns = 0;  ///< after the fire
    std::int64_t to_ns = 0;    ///< inclusive; not less than `from_ns`
    std::uint64_t seed = 0;
    bool any() const { return share > 0; }
};

/// One sending of a row: each attempt of it has a draw of its own.
struct RequestIdentity {
    std::uint32_t row = 0;  ///< in file order (TraceRow::index)
    std::uint32_t pass = 0;
    std::uint32_t attempt = 0;
};

/// How long after its fire the client gives up a request whose answer has not ended by then: evenly
/// distributed from `from_ns` to `to_ns`. Nothing: the client waits for the whole answer.
std::optional<std::int64_t> abandoned_after_ns(const AbandonRules& rules,
                                               const RequestIdentity& request);

// EarlierRows, RowEnds: rows of a run that went before this segment of it, as far as others wait
// for them, or come after them. Plain values, made of what the run has written (engine/history).

/// Instants from time 0 of the run.
struct EarlierRow {
    std::optional<std::int64_t> fired_ns;
    std::optional<std::int64_t> answered_ns;  ///< its answer was whole then, or it was abandoned
};

/// By the `index` of the row.
using EarlierRows = std::unordered_map<std::uint32_t, EarlierRow>;

/// Sendings with a record, by their `sending_number` (the `index` of the row, where each is sent
/// once, to one server): whether it is known that they ended. Those that were not sent, or were
/// lost, are not known to have.
using RowEnds = std::unordered_map<std::uint64_t, bool>;

}  // namespace driftless
