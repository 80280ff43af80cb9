/// The search for the knee: the highest load at which a run meets its SLO. Pure: it is given what
/// came of the probes so far, and says which probe is next, or what was found. It starts nothing
/// and reads no clock.
///
/// In this order: a bracket by doubling or halving from `start`; bisection to the tolerance; one
/// probe below the boundary, because batching can make a lower load worse; then further seeds at
/// both sides of the boundary, which give the interval.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

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
