#include "engine/plan/synth_spec.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"

namespace driftless {
/// Draws until one lies inside. At least half of the law does: so many in a row do not miss.
static constexpr int draws_max = 1000;

/// Uniform in (0, 1): never an end, where quantiles are infinite.
static double open_uniform(Random& random) {
    return (static_cast<double>(random.next() >> 12) + 0.5) * 0x1.0p-52;
}

static double draw_real(const ValueLaw& law, Random& random) {
    switch (law.kind) {
        case LawKind::normal:
            return law.centre + law.spread * normal_quantile(open_uniform(random));
        case LawKind::lognormal: {
            const double power = law.spread * normal_quantile(open_uniform(random));
            return law.centre * portable_exp(std::clamp(power, -700.0, 700.0));
        }
        case LawKind::exponential:
            return -law.centre * portable_log(open_uniform(random));
        default:
            return law.centre;
    }
}

static std::int64_t between(std::int64_t low, std::int64_t high, Random& random) {
    const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return low + static_cast<std::int64_t>(random.below(width + 1));
}

static std::int64_t draw_bin(const ValueLaw& law, Random& random) {
    CHECK(!law.bins.empty());
    const std::uint64_t place = random.below(law.bins.back().upto);
    const auto found =
        std::upper_bound(law.bins.begin(), law.bins.end(), place,
                         [](std::uint64_t value, const LawBin& bin) { return value < bin.upto; });
    return between(found->low, found->high, random);
}

/// P(normal <= x). Not portable to the last bit: it decides refusals only.
static double normal_share(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

static double share_below(const ValueLaw& law, double x) {
    if (law.kind == LawKind::exponential) {
        return x <= 0 ? 0 : 1 - std::exp(-x / law.centre);
    }
    if (law.kind == LawKind::lognormal) {
        return x <= 0 ? 0 : normal_share(std::log(x / law.centre) / law.spread);
    }
    return normal_share((x - law.centre) / law.spread);
}

/// A whole number of units between the bounds.
static Result<std::int64_t> read_value(std::string_view text, std::int64_t unit, std::int64_t least,
                                       std::int64_t most) {
    const Result<std::uint64_t> value = parse_whole(trim_blanks(text));
    if (!value && value.error().code == ErrorCode::invalid) {
        return Error{ErrorCode::invalid, 0, "is not a value and its weight, as in 512,40"};
    }
    if (!value || value.value() > static_cast<std::uint64_t>(most / unit) ||
        static_cast<std::int64_t>(value.value()) * unit < least) {
        return Error{ErrorCode::out_of_range, 0, "has a value out of range"};
    }
    return static_cast<std::int64_t>(value.value()) * unit;
}

static Result<LawBin> read_bin(std::string_view line, std::int64_t unit, std::int64_t least,
                               std::int64_t most) {
    constexpr std::uint64_t weight_max = 1'000'000'000'000;  // a million of them fit 64 bits
    const std::size_t cut = line.find_last_of(", \t;");
    if (cut == line.npos) {
        return Error{ErrorCode::invalid, 0, "is not a value and its weight, as in 512,40"};
    }
    const Result<std::uint64_t> weight = parse_whole(trim_blanks(line.substr(cut + 1)));
    if (!weight || weight.value() > weight_max) {
        return Error{ErrorCode::invalid, 0, "has a weight that is not a whole number up to 10^12"};
    }
    std::string_view value = trim_blanks(line.substr(0, cut));
    value.remove_suffix(!value.empty() && (value.back() == ',' || value.back() == ';') ? 1 : 0);
    const std::size_t dots = value.find("..");
    const Result<std::int64_t> low = read_value(value.substr(0, dots), unit, least, most);
    const Result<std::int64_t> high =
        dots == value.npos ? low : read_value(value.substr(dots + 2), unit, least, most);
    if (!low || !high) {
        return low ? high.error() : low.error();
    }
    if (high.value() < low.value()) {
        return Error{ErrorCode::invalid, 0, "has a range that ends before it begins"};
    }
    return LawBin{low.value(), high.value(), weight.value()};
}

ValueLaw fixed_law(std::int64_t value) {
    ValueLaw law;
    law.centre = static_cast<double>(value);
    law.low = value;
    law.high = value;
    return law;
}

double share_inside(const ValueLaw& law) {
    const bool real = law.kind == LawKind::normal || law.kind == LawKind::lognormal ||
                      law.kind == LawKind::exponential;
    if (!real || (law.spread == 0 && law.kind != LawKind::exponential)) {
        const double value = law.kind == LawKind::fixed || real ? law.centre : 0;
        const bool inside =
            value >= static_cast<double>(law.low) && value <= static_cast<double>(law.high);
        return !real || inside ? 1 : 0;
    }
    return share_below(law, static_cast<double>(law.high) + 0.5) -
           share_below(law, static_cast<double>(law.low) - 0.5);
}

std::int64_t draw(const ValueLaw& law, Random& random) {
    if (law.kind == LawKind::fixed) {
        return law.low;
    }
    if (law.kind == LawKind::uniform) {
        return between(law.low, law.high, random);
    }
    if (law.kind == LawKind::histogram) {
        return draw_bin(law, random);
    }
    const auto low = static_cast<double>(law.low);
    const auto high = static_cast<double>(law.high);
    double value = low;
    for (int i = 0; i < draws_max; ++i) {
        value = std::floor(draw_real(law, random) + 0.5);
        if (value >= low && value <= high) {
            return static_cast<std::int64_t>(value);
        }
    }
    return value < low ? law.low : law.high;
}

Random stream_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t number) {
    return Random(
        mix64(mix64(mix64(seed + golden_gamma) + purpose) ^ mix64(number + golden_gamma)));
}

Result<std::vector<LawBin>> read_law_bins(std::string_view text, std::int64_t unit,
                                          std::int64_t least, std::int64_t most,
                                          std::uint64_t& line) {
    std::vector<LawBin> bins;
    for (line = 1; !text.empty(); ++line) {  // each turn takes a line off the text
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view row = trim(text.substr(0, end), white_space);
        text.remove_prefix(std::min(end + 1, text.size()));
        const bool heading = line == 1 && row.find_first_of("0123456789") == row.npos;
        if (row.empty() || row.front() == '#' || heading) {
            continue;
        }
        Result<LawBin> bin = read_bin(row, unit, least, most);
        if (!bin) {
            return bin.error();
        }
        if (bins.size() == law_bins_max) {
            return Error{ErrorCode::too_large, 0, "is beyond 1,000,000 lines; merge some"};
        }
        if (bin.value().upto > 0) {
            bin.value().upto += bins.empty() ? 0 : bins.back().upto;
            bins.push_back(bin.value());
        }
    }
    if (bins.empty()) {
        line = 0;
        return Error{ErrorCode::missing, 0, "has no line with a value and a weight above 0"};
    }
    return bins;
}

}  // namespace driftless
