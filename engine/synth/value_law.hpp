/// ValueLaw: the distribution of a length or of a time, and seeded draws from it.
///
/// Values are whole numbers: tokens, turns, or nanoseconds. The same seed gives the same values on
/// every machine (portable_math.hpp). Immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/hash.hpp"
#include "proto/core/result.hpp"

namespace driftless {

enum class LawKind : std::uint8_t {
    fixed,        ///< `centre`
    uniform,      ///< every whole number from `low` to `high`
    normal,       ///< mean `centre`, standard deviation `spread`
    lognormal,    ///< median `centre`; `spread` is the deviation of the logarithm
    exponential,  ///< mean `centre`
    histogram,    ///< `bins`
};

/// A part of a histogram: every whole number from `low` to `high` is as probable as the others.
struct LawBin {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::uint64_t upto = 0;  ///< sum of the weights up to this one; each is at least 1
};

struct ValueLaw {
    LawKind kind = LawKind::fixed;
    double centre = 0;
    double spread = 0;
    /// Values lie between these, both included. Of normal, lognormal and exponential laws, what
    /// falls outside is drawn again.
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::vector<LawBin> bins;
    std::string file;       ///< where `bins` are to be read from; empty: they are there
    std::int64_t unit = 1;  ///< of the values in `file`
};

/// The law of one value.
ValueLaw fixed_law(std::int64_t value);

/// Least share of a law that must lie between `low` and `high`: below it, what is drawn has little
/// to do with the law.
inline constexpr double law_share_min = 0.5;

/// The share of a normal, lognormal or exponential law between its bounds, before rounding; 1 for
/// the others.
double share_inside(const ValueLaw& law);

/// One value. A histogram must have its bins.
std::int64_t draw(const ValueLaw& law, Random& random);

/// A stream of random numbers of one purpose: those of another purpose or number do not depend on
/// how many of these are drawn.
Random stream_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number);

/// Bounds of a histogram's text.
inline constexpr std::size_t law_bins_max = 1'000'000;

/// Reads lines of a value, or of a range A..B, and its weight, behind a blank, a comma or a tab:
/// "512,40". Lines that are empty or begin with # are skipped, and so is a first line without
/// digits. A value is a whole number from `least` to `most` times `unit`. On an error, `line` is
/// its number, and `doing` says what is wrong with it. Errors: invalid; out_of_range; missing,
/// where there is no line.
Result<std::vector<LawBin>> read_law_bins(std::string_view text, std::int64_t unit,
                                          std::int64_t least, std::int64_t most,
                                          std::uint64_t& line);

}  // namespace driftless
