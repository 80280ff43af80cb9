/// Distributions: what is printed of many numbers, and the two ways to get there. `Sample` keeps
/// every value and is exact: 8 bytes each, in pieces, so that nothing is copied when it grows;
/// `Histogram` keeps counts in log-linear buckets and is within 0.1 %. Percentiles are nearest
/// rank: the smallest value with at least p % at or below it. Standard deviations are the
/// population's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proto/json/members.hpp"

namespace driftless {

struct Percentile {
    std::uint32_t per_mille;
    const char* name;  ///< as it is in keys and on the screen: "50", "99.9"
};
inline constexpr std::array<Percentile, 7> percentiles = {{
    {250, "25"},
    {500, "50"},
    {750, "75"},
    {900, "90"},
    {950, "95"},
    {990, "99"},
    {999, "99.9"},
}};
inline constexpr std::size_t median_index = 1;
inline constexpr std::size_t p90_index = 3;
inline constexpr std::size_t p95_index = 4;
inline constexpr std::size_t p99_index = 5;
static_assert(percentiles[median_index].per_mille == 500 &&
              percentiles[p90_index].per_mille == 900);
static_assert(percentiles[p95_index].per_mille == 950 && percentiles[p99_index].per_mille == 990);

/// All 0 where `count` is 0.
struct Distribution {
    std::uint64_t count = 0;
    double mean = 0;
    double std = 0;
    double min = 0;
    double max = 0;
    std::array<double, percentiles.size()> at{};  ///< [percentiles]

    double median() const { return at[median_index]; }
};

/// Writes its members into an open object: count, mean, std, min, percentiles, max. Values are
/// divided by `unit`, and null where nothing was measured.
void write_members(JsonWriter& json, const Distribution& d, double unit = 1);
/// An object of them.
void put_value(JsonWriter& json, const Distribution& d, double unit = 1);
/// The same of ns, in ms.
struct InMs {
    const Distribution& ns;
};
inline void put_value(JsonWriter& json, const InMs& times) {
    put_value(json, times.ns, 1e6);
}

/// A number of a distribution that figures may name.
struct Statistic {
    const char* name;  ///< as it is in keys and on the screen: "mean", "p50"
    double (*of)(const Distribution& d);
    std::uint32_t per_mille = 0;  ///< of a percentile; 0: it is none
};
inline constexpr std::array<Statistic, 3 + percentiles.size()> statistics = {{
    {"mean", [](const Distribution& d) { return d.mean; }},
    {"min", [](const Distribution& d) { return d.min; }},
    {"max", [](const Distribution& d) { return d.max; }},
    {"p25", [](const Distribution& d) { return d.at[0]; }, 250},
    {"p50", [](const Distribution& d) { return d.at[1]; }, 500},
    {"p75", [](const Distribution& d) { return d.at[2]; }, 750},
    {"p90", [](const Distribution& d) { return d.at[3]; }, 900},
    {"p95", [](const Distribution& d) { return d.at[4]; }, 950},
    {"p99", [](const Distribution& d) { return d.at[5]; }, 990},
    {"p99.9", [](const Distribution& d) { return d.at[6]; }, 999},
}};
static_assert(std::ranges::equal(percentiles, std::span(statistics).subspan(3), {},
                                 &Percentile::per_mille, &Statistic::per_mille));
/// Null: there is none of that name.
constexpr const Statistic* find_statistic(std::string_view name) {
    const auto* const found = std::ranges::find(statistics, name, &Statistic::name);
    return found == statistics.end() ? nullptr : found;
}

/// What tables show of a distribution, in their order.
inline constexpr std::array shown_statistics = {*find_statistic("mean"), *find_statistic("p50"),
                                                *find_statistic("p90"),  *find_statistic("p95"),
                                                *find_statistic("p99"),  *find_statistic("max")};

/// The rank, from 1, of a percentile among `count` values: ceil(count x per_mille / 1000).
std::uint64_t nearest_rank(std::uint64_t count, std::uint32_t per_mille);

/// How far the true number may lie below and above the one that was measured.
struct ErrorBar {
    double below = 0;
    double above = 0;
};
/// The larger of both.
inline double most_of(const ErrorBar& bar) {
    return std::max(bar.below, bar.above);
}
/// Of one that lies between these ends; nothing: from above it is not bounded.
std::optional<ErrorBar> error_bar(double value, double lower, double upper);

void walk(auto& fields, IsOf<ErrorBar> auto& bar) {
    fields.value("below", 1, bar.below);
    fields.value("above", 1, bar.above);
}

/// What the client's own lateness may have done to a distribution: the same of all lower ends of
/// its values, and of all upper ends. The true one lies between them, number by number.
struct Bounds {
    Distribution lower;
    Distribution upper;
};

class Sample {
  public:
    void add(double value) { values_.push_back(value); }
    void add(const Sample& others) {
        values_.insert(values_.end(), others.values_.begin(), others.values_.end());
    }
    template <typename Value>
    void add_known(const std::optional<Value>& value) {
        if (value) {
            add(static_cast<double>(*value));
        }
    }
    std::size_t count() const { return values_.size(); }
    std::vector<double> sorted() const;
    /// `zeros`, `infinities`: so many values more of these.
    Distribution distribution(std::size_t zeros = 0, std::size_t infinities = 0) const;

  private:
    std::deque<double> values_;
};

/// Sample whose values are off by up to some bound, which mostly differs from value to value.
class BoundedSample {
  public:
    /// Which ends differ from the values.
    enum class Ends : std::uint8_t { lower, both };
    explicit BoundedSample(Ends ends) : ends_(ends) {}

    /// The true one lies in [value - below, value + above]; `above` counts where both ends differ.
    /// A bound below 0 counts as 0: records can be anybody's. `excluded`: not in `kept`.
    void add(double value, double below, double above, bool excluded);
    /// A value of which it is not known how far it is off.
    void add_unbounded(double value) { unbounded_.add(value); }
    /// One that is not known at all: it counts in the bounds alone.
    void add_missing() { ++missing_; }
    /// One from 0 to `most`, or none: nobody knows. It counts in the bounds alone.
    void add_possible(double most, bool excluded) {
        (excluded ? excluded_ : kept_).possible.add(most);
    }
    Distribution distribution() const { return all(&Ended::values, true).distribution(); }
    Bounds bounds() const;
    /// Of those alone whose bounds are known, and which are not excluded.
    Distribution kept() const { return kept_.values.distribution(); }
    Bounds kept_bounds() const;

  private:
    struct Ended {
        Sample values;
        Sample lower;
        Sample upper;     ///< where both ends differ
        Sample possible;  ///< the most that each may be
    };
    Sample all(Sample Ended::* which, bool with_unbounded) const;

    Ends ends_;
    Ended kept_;
    Ended excluded_;
    Sample unbounded_;
    std::size_t missing_ = 0;
};

/// Values from 0 (below is counted as 0) to 2^63 - 1. Below 1,024 every value has its own bucket;
/// above, 512 buckets an octave, so that the middle of a bucket is within 1/1024 of all in it.
/// Mean, std, min and max are those of the values, not of the buckets. 222 KiB.
class Histogram {
  public:
    Histogram() : counts_(buckets, 0) {}

    void add(std::int64_t value, std::uint64_t weight = 1);
    void merge(const Histogram& other);
    enum class Of : std::int8_t { first = -1, middle = 0, last = 1 };
    /// `of`: which value of its bucket a percentile is.
    Distribution distribution(Of of = Of::middle) const;

    static constexpr double relative_error = 1.0 / 1024;

  private:
    static constexpr std::size_t exact_below = 1024;
    static constexpr std::size_t per_octave = 512;
    static constexpr std::size_t octaves = 53;  // 2^10 .. 2^63
    static constexpr std::size_t buckets = exact_below + octaves * per_octave;
    static std::size_t bucket_of(std::uint64_t value);
    static double middle_of(std::size_t bucket);
    /// Of its first and last value.
    static double half_width_of(std::size_t bucket);

    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::int64_t min_ = 0;
    std::int64_t max_ = 0;
    double mean_ = 0;     ///< running (Welford, weighted)
    double squares_ = 0;  ///< sum of squared distances from the mean
};

/// Histogram whose values are off by up to some bound.
class BoundedHistogram {
  public:
    /// Of an end that is not known; percentiles there are as large.
    static constexpr std::int64_t unbounded = std::int64_t{1} << 60;
    /// Bounds from 0 to `unbounded`.
    void add(std::int64_t value, std::int64_t below, std::int64_t above, std::uint64_t weight = 1) {
        const std::int64_t near = std::clamp<std::int64_t>(value, 0, unbounded);
        values_.add(value, weight);
        lower_.add(near - below, weight);
        upper_.add(near + above, weight);
        has_unbounded_ = has_unbounded_ || below >= unbounded || above >= unbounded;
    }
    /// So many that are not known at all: they count in the bounds alone.
    void add_missing(std::uint64_t count) {
        lower_.add(0, count);
        upper_.add(unbounded, count);
        has_unbounded_ = has_unbounded_ || count > 0;
    }
    Distribution distribution() const { return values_.distribution(); }
    Bounds bounds() const;

  private:
    Histogram values_;
    Histogram lower_;
    Histogram upper_;
    bool has_unbounded_ = false;
};

// Floors: how many independent values a percentile needs. Pure.

/// The least count at which, with 99 % confidence, one value above the bound is allowed: the least
/// n with P(Binomial(n, 1 - p) <= 1) < 0.01, as MLPerf's early stopping has it (p90: 64, p99: 662,
/// p99.9: 6,636). `per_mille` from 1 to 999; below the median, that of its mirror image.
std::uint64_t percentile_floor(std::uint32_t per_mille);

}  // namespace driftless
