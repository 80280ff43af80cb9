#include "proto/figures/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "proto/core/errors.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Below this, comparing is as fast.
static constexpr std::size_t radix_from = 2048;

/// Doubles and these have the same order (IEEE 754: of two below 0 the bits fall where values
/// rise).
static std::uint64_t ordered_bits(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return bits >> 63 != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}
static double from_ordered_bits(std::uint64_t bits) {
    return std::bit_cast<double>(bits >> 63 != 0 ? bits & ~(std::uint64_t{1} << 63) : ~bits);
}

/// By 11 bits a pass, from the lowest; passes in which all are alike are left out. Millions of
/// times of one run are sorted several times faster so than by comparing them.
static std::vector<std::uint64_t> radix_sorted(std::vector<std::uint64_t> from) {
    constexpr unsigned digit_bits = 11;
    constexpr std::size_t digits = std::size_t{1} << digit_bits;
    const auto digit_of = [](std::uint64_t bits, unsigned shift) {
        return static_cast<std::size_t>(bits >> shift) & (digits - 1);
    };
    std::vector<std::uint64_t> to(from.size());
    for (unsigned shift = 0; shift < 64; shift += digit_bits) {
        std::array<std::size_t, digits> places{};
        for (const std::uint64_t bits : from) {
            ++places[digit_of(bits, shift)];
        }
        if (places[digit_of(from.front(), shift)] == from.size()) {
            continue;
        }
        std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
        for (const std::uint64_t bits : from) {
            to[places[digit_of(bits, shift)]++] = bits;
        }
        from.swap(to);
    }
    return from;
}

std::vector<double> Sample::sorted() const {
    std::vector<double> sorted;
    if (values_.size() < radix_from) {
        sorted.assign(values_.begin(), values_.end());
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    }
    std::vector<std::uint64_t> bits(values_.size());
    std::transform(values_.begin(), values_.end(), bits.begin(), ordered_bits);
    bits = radix_sorted(std::move(bits));
    sorted.resize(bits.size());
    std::transform(bits.begin(), bits.end(), sorted.begin(), from_ordered_bits);
    return sorted;
}

std::uint64_t nearest_rank(std::uint64_t count, std::uint32_t per_mille) {
    CHECK(per_mille <= 1000);
    const auto product = static_cast<unsigned __int128>(count) * per_mille;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>((product + 999) / 1000));
}

void write_members(JsonWriter& json, const Distribution& d, double unit) {
    const auto value = [&](const std::string& name, double of) {
        json.key(name);
        d.count == 0 ? json.null() : json.number(of / unit);
    };
    json.key("count").unsigned_integer(d.count);
    value("mean", d.mean);
    value("std", d.std);
    value("min", d.min);
    for (const Statistic& one : statistics) {
        if (one.per_mille > 0) {
            value(one.name, one.of(d));
        }
    }
    value("max", d.max);
}

void put_value(JsonWriter& json, const Distribution& d, double unit) {
    json.begin_object();
    write_members(json, d, unit);
    json.end_object();
}

Distribution Sample::distribution(std::size_t zeros, std::size_t infinities) const {
    Distribution result;
    std::vector<double> sorted = this->sorted();
    sorted.insert(sorted.begin(), zeros, 0.0);
    sorted.insert(sorted.end(), infinities, std::numeric_limits<double>::infinity());
    if (sorted.empty()) {
        return result;
    }
    const auto count = static_cast<double>(sorted.size());
    double sum = 0;
    for (const double value : sorted) {
        sum += value;
    }
    result.count = sorted.size();
    result.mean = sum / count;
    double squares = 0;
    for (const double value : sorted) {
        squares += (value - result.mean) * (value - result.mean);
    }
    result.std = std::sqrt(squares / count);
    result.min = sorted.front();
    result.max = sorted.back();
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        result.at[i] = sorted[nearest_rank(sorted.size(), percentiles[i].per_mille) - 1];
    }
    return result;
}

std::optional<ErrorBar> error_bar(double value, double lower, double upper) {
    if (upper >= static_cast<double>(BoundedHistogram::unbounded) / 2) {
        return std::nullopt;
    }
    return ErrorBar{std::max(value - lower, 0.0), std::max(upper - value, 0.0)};
}

void BoundedSample::add(double value, double below, double above, bool excluded) {
    Ended& to = excluded ? excluded_ : kept_;
    to.values.add(value);
    to.lower.add(std::max(value - std::max(below, 0.0), std::min(value, 0.0)));
    if (ends_ == Ends::both) {
        to.upper.add(value + std::max(above, 0.0));
    }
}

Sample BoundedSample::all(Sample Ended::* which, bool with_unbounded) const {
    Sample all = kept_.*which;
    all.add(excluded_.*which);
    if (with_unbounded) {
        all.add(unbounded_);
    }
    return all;
}

/// The most that each figure of `values`, with so many endless ones, can be if any of `possible`
/// are among them.
static Distribution most_with(const Sample& values, std::size_t endless, const Sample& possible) {
    Distribution most = values.distribution(0, endless);
    if (possible.count() == 0 || most.count == 0) {
        return most;
    }
    const std::vector<double> sure = values.sorted();
    const std::vector<double> more = possible.sorted();
    std::vector<double> ends = more;  // a percentile can only rise to one of these
    ends.insert(ends.end(), sure.begin(), sure.end());
    std::sort(ends.begin(), ends.end());
    const auto below = [](const std::vector<double>& all, double end) {
        return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), end) -
                                        all.begin());
    };
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        // With those alone that are as large: fewer can reach a larger one.
        const auto reaches = [&](double end) {
            const std::size_t count = sure.size() + endless + more.size() - below(more, end);
            return below(sure, end) < nearest_rank(count, percentiles[i].per_mille);
        };
        const auto past = std::partition_point(ends.begin(), ends.end(), reaches);
        most.at[i] = past == ends.begin() ? most.at[i] : std::max(most.at[i], *(past - 1));
    }
    double sum = most.mean * static_cast<double>(most.count);
    for (auto one = more.rbegin(); one != more.rend() && *one > most.mean; ++one) {
        sum += *one;
        most.mean = sum / static_cast<double>(++most.count);
    }
    most.max = std::max(most.max, more.back());
    return most;
}

Bounds BoundedSample::bounds() const {
    const std::size_t unknown = unbounded_.count() + missing_;
    const Sample possible = all(&Ended::possible, false);
    const auto upper = ends_ == Ends::both ? &Ended::upper : &Ended::values;
    return {all(&Ended::lower, false).distribution(unknown + possible.count()),
            most_with(all(upper, false), unknown, possible)};
}

Bounds BoundedSample::kept_bounds() const {
    const Sample& upper = ends_ == Ends::both ? kept_.upper : kept_.values;
    return {kept_.lower.distribution(kept_.possible.count()), most_with(upper, 0, kept_.possible)};
}

Bounds BoundedHistogram::bounds() const {
    Bounds bounds{lower_.distribution(Histogram::Of::first),
                  upper_.distribution(Histogram::Of::last)};
    if (has_unbounded_) {
        bounds.upper.mean = std::numeric_limits<double>::infinity();
    }
    return bounds;
}

std::size_t Histogram::bucket_of(std::uint64_t value) {
    if (value < exact_below) {
        return static_cast<std::size_t>(value);
    }
    const auto exponent = static_cast<unsigned>(std::bit_width(value) - 1);  // at least 10
    const std::uint64_t mantissa = (value >> (exponent - 9)) - per_octave;   // 0 .. 511
    return exact_below + (exponent - 10) * per_octave + static_cast<std::size_t>(mantissa);
}

double Histogram::middle_of(std::size_t bucket) {
    if (bucket < exact_below) {
        return static_cast<double>(bucket);
    }
    CHECK(bucket < buckets);
    const std::size_t octave = (bucket - exact_below) / per_octave;
    const std::size_t mantissa = (bucket - exact_below) % per_octave + per_octave;
    const double first = std::ldexp(static_cast<double>(mantissa), static_cast<int>(octave) + 1);
    return first + half_width_of(bucket);
}

double Histogram::half_width_of(std::size_t bucket) {
    const std::size_t octave = (std::max(bucket, exact_below) - exact_below) / per_octave;
    return bucket < exact_below ? 0 : (std::ldexp(1.0, static_cast<int>(octave) + 1) - 1) / 2;
}

void Histogram::add(std::int64_t value, std::uint64_t weight) {
    if (weight == 0) {
        return;
    }
    const std::int64_t clamped = std::max<std::int64_t>(value, 0);
    const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(clamped));
    CHECK(bucket < buckets);
    counts_[bucket] += weight;
    min_ = count_ == 0 ? clamped : std::min(min_, clamped);
    max_ = count_ == 0 ? clamped : std::max(max_, clamped);
    count_ += weight;
    const double distance = static_cast<double>(clamped) - mean_;
    mean_ += distance * static_cast<double>(weight) / static_cast<double>(count_);
    squares_ += distance * (static_cast<double>(clamped) - mean_) * static_cast<double>(weight);
}

void Histogram::merge(const Histogram& other) {
    if (other.count_ == 0) {
        return;
    }
    const std::size_t last = bucket_of(static_cast<std::uint64_t>(other.max_));
    for (std::size_t i = bucket_of(static_cast<std::uint64_t>(other.min_)); i <= last; ++i) {
        counts_[i] += other.counts_[i];
    }
    min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
    max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
    const auto ours = static_cast<double>(count_);
    const auto theirs = static_cast<double>(other.count_);
    const double distance = other.mean_ - mean_;
    mean_ += distance * theirs / (ours + theirs);
    squares_ += other.squares_ + distance * distance * ours * theirs / (ours + theirs);
    count_ += other.count_;
}

Distribution Histogram::distribution(Of of) const {
    Distribution result;
    if (count_ == 0) {
        return result;
    }
    result.count = count_;
    result.mean = mean_;
    result.std = std::sqrt(squares_ / static_cast<double>(count_));
    result.min = static_cast<double>(min_);
    result.max = static_cast<double>(max_);
    std::size_t bucket = bucket_of(static_cast<std::uint64_t>(min_));  // those before it are empty
    std::uint64_t below = counts_[bucket];  // values up to and including `bucket`
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        const std::uint64_t rank = nearest_rank(count_, percentiles[i].per_mille);
        CHECK(rank <= count_);  // so the buckets do not run out
        while (below < rank) {
            below += counts_[++bucket];
        }
        const double value = middle_of(bucket) + static_cast<int>(of) * half_width_of(bucket);
        result.at[i] = std::clamp(value, result.min, result.max);
    }
    return result;
}

std::uint64_t percentile_floor(std::uint32_t per_mille) {
    constexpr double doubt = 0.01;
    CHECK(per_mille > 0 && per_mille < 1000);
    const double p = std::max(per_mille, 1000 - per_mille) / 1000.0;
    const double q = 1 - p;
    std::uint64_t count = 2;
    // At most 6,636 turns, for 999.
    for (;; ++count) {
        const auto n = static_cast<double>(count);
        const double at_most_one = std::pow(p, n) + n * q * std::pow(p, n - 1);
        if (at_most_one < doubt) {
            return count;
        }
    }
}

}  // namespace driftless
