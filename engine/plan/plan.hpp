/// Plan: which rows are sent, and when. Made of a trace and the user's choices; immutable
/// afterwards and shared by the engine thread and the writer thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/record/outcome.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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
};

/// Hits of an infinite cache, of the selected rows of which they are known (Trace::foretells_hits).
struct ForetoldHits {
    std::uint64_t rows = 0;
    std::uint64_t input_tokens = 0;   ///< of those rows
    std::uint64_t cached_tokens = 0;  ///< that they would hit
    std::uint64_t rows_unknown = 0;   ///< all other selected rows
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
    std::uint32_t post_tokens = 0;  ///< that the forecast of cached tokens was made for
    std::int64_t last_due_ns = 0;
    /// By position in `Trace::rows`: the same in the server's own blocks (server_forecast.hpp);
    /// empty where their size is not known.
    std::vector<std::uint32_t> server_cached;
    bool dual = false;  ///< each row stands twice, once for each server (dual_fire.hpp)
    std::vector<std::uint32_t> against_cached;  ///< `server_cached` of the second of them
};

/// The rows that are selected, by due, without their `expected_cached_tokens`; maybe none.
std::vector<Planned> select_rows(const Trace& trace, const PlanOptions& options);

/// Errors: invalid, where nothing is selected; out_of_range, where the last row is due in 73 years.
Result<Plan> make_plan(const Trace& trace, const PlanOptions& options);

/// The same rows, with all that is said of them: sums, digest and forecast of cached tokens.
Plan summed_up(const Trace& trace, Plan plan);

/// Positions in `plan.rows` by the rows' order in the file. Nearly free where the plan goes by it.
std::vector<std::uint32_t> file_order(const Trace& trace, const Plan& plan);

/// The same plan with each `expected_cached_tokens` for a server whose template puts `post_tokens`
/// behind the prompt: they displace the end of a row's last block, which then differs from the same
/// block inside a longer row. `make_plan` assumes none.
Plan expect_cached(const Trace& trace, std::uint32_t post_tokens, Plan plan);

}  // namespace driftless
