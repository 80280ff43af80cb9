/// Knee: the highest load at which a server still keeps its limits: where to try next, and
/// whether a try has settled.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

// Stability: whether a server kept up with the load of a run. Where requests come faster than they
// are served, the requests that wait and the TTFT both rise until the last one has come, and the
// percentiles say how long the run was and not what the server can do. Pure.
//
// The test: rows in the order of their dues, without those due in the first median time of an
// answer, from its first token to its end (the server fills then; at most half of the run), in 10
// batches of equal counts. Of each batch: the mean number of rows that were due and had not ended,
// and the mean TTFT from the due instant (a row without a token: until it ended). Each of the two
// rises if
// - the Mann-Kendall test of the 10 means says so (z above 3.3, p < 0.0005, one-sided), and
// - the last three batches are 1.5 times as high as the first three, and
// - at least a fifth of that rise comes after the middle: the server does not just fill slowly.
// Unstable: both rise. Over simulated servers of 8 and 32 places (cmd/runs/find.md): at 90 % of
// the capacity 0.5 to 2 % of runs of 700 rows are called unstable, at 130 % 95 to 100 %.

/// Of a row that was sent. ns from time 0.
struct RowTimes {
    std::int64_t due_ns = 0;
    std::optional<std::int64_t> first_token_ns;
    std::int64_t ended_ns = 0;
};

enum class Stability : std::uint8_t {
    unknown,  ///< fewer than 40 rows after the filling
    stable,
    unstable,
};

/// How far the last batches are above the first ones: 2 is twice as high. 0 where unknown.
struct StabilityFinding {
    Stability stability = Stability::unknown;
    double waiting_ratio = 0;
    double ttft_ratio = 0;
};

StabilityFinding judge_stability(std::vector<RowTimes> rows);

// The search for the knee: the highest load at which a run meets its SLO. Pure: it is given what
// came of the probes so far, and says which probe is next, or what was found. It starts nothing
// and reads no clock.
//
// In this order: a bracket by doubling or halving from `start`; bisection to the tolerance; one
// probe below the boundary, because batching can make a lower load worse; then further seeds at
// both sides of the boundary, which give the interval.

struct SearchRules {
    bool whole = true;             ///< loads are integers: users, copies
    double low = 1;                ///< lowest load that is allowed; above 0
    double high = 0;               ///< highest load that is allowed; not below `low`
    double start = 1;              ///< the first probe, from `low` to `high`
    double tolerance = 0.05;       ///< of the bracket's lower end; whole loads: 1 at least
    std::uint32_t replicates = 3;  ///< further seeds at each side; 0: no interval
    std::uint32_t tries_max = 3;   ///< of a probe that was spoiled each time
};

enum class Purpose : std::uint8_t { bracket, bisect, below, replicate };
const char* name_of(Purpose purpose);

struct KneeProbe {
    double value = 0;
    std::uint32_t seed = 0;     ///< added to the seed of the search: equal seeds play the same rows
    std::uint32_t attempt = 0;  ///< how often it was spoiled before
    Purpose purpose = Purpose::bracket;
};

enum class ProbeResult : std::uint8_t { meets, fails, spoiled };

struct ProbeDone {
    KneeProbe probe;
    ProbeResult result = ProbeResult::spoiled;
};

enum class SearchState : std::uint8_t {
    searching,
    found,           ///< between `pass` and `fail`
    lowest_fails,    ///< the lowest load that is allowed fails
    highest_passes,  ///< the highest one passes
    spoiled,         ///< a probe was spoiled each time that it was tried
    too_many,        ///< `probes_max`: results contradict each other
};
const char* name_of(SearchState state);

/// What is known. `pass` is below `fail`.
struct Knee {
    std::optional<double> pass;  ///< highest load that met the SLO, with none below it that failed
    std::optional<double> fail;  ///< lowest load that failed
    /// The interval: at `low` and at every seed tried there the SLO was met, at `high` none did.
    /// Null where no such load was found within the bounds, or none was looked for.
    std::optional<double> low;
    std::optional<double> high;
    bool monotone = true;  ///< false: a load above `fail` met the SLO
    SearchState state = SearchState::searching;
};

struct SearchStep {
    Knee knee;
    std::optional<KneeProbe> next;  ///< nothing: the search is over
};

/// A search ends by then, whatever comes.
inline constexpr std::size_t probes_max = 100;

/// Whether `rules` can be searched. Errors: out_of_range; `doing` says what is wrong.
Result<void> check_rules(const SearchRules& rules);

/// The next step after `done`, in their order. Same input, same step.
SearchStep next_step(const SearchRules& rules, const std::vector<ProbeDone>& done);

}  // namespace driftless
