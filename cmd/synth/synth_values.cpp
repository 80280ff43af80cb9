#include "cmd/synth/synth_values.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "cmd/replay/flags/rate_values.hpp"
#include "cmd/values.hpp"
#include "engine/synth/synth_text.hpp"
#include "proto/json/document.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::uint64_t set_tokens_max = 1'000'000'000'000;
constexpr std::uint64_t groups_max = 1'000'000;

/// What a law's values are.
struct LawValues {
    std::int64_t least;
    std::int64_t most;
    bool times;
    const char* remedy;
    const char* range;
};
constexpr const char* token_remedy =
    "is not a length; use 512, uniform:100..900, normal:512:100, lognormal:512:0.8 (median, sigma) "
    "or file:PATH (lines of length,weight)";
constexpr const char* token_range = "has a length that is not from 1 to 134217728 tokens";
constexpr LawValues tokens{1, row_tokens_max, false, token_remedy, token_range};
constexpr LawValues any_tokens{0, row_tokens_max, false, token_remedy,
                               "has a length that is not from 0 to 134217728 tokens"};
constexpr LawValues numbers{1, 1'000'000, false,
                            "is not a number; use 4, uniform:2..8, normal:6:2, lognormal:4:0.8 or "
                            "file:PATH (lines of number,weight)",
                            "has a number that is not from 1 to 1000000"};
constexpr LawValues times{0, 366LL * 86400 * second_ns, true,
                          "is not a time; use 2s, uniform:1s..5s, lognormal:3s:1 (median, sigma), "
                          "exponential:2s or file:PATH (lines of milliseconds,weight)",
                          "has a time that is not from 0 to 366 days"};

Error invalid(const char* why) {
    return {ErrorCode::invalid, 0, why};
}

/// A decimal that is not negative and finite.
std::optional<double> number_of(std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = code == std::errc{} && end == text.data() + text.size();
    return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

/// Cuts off what stands before the next colon.
std::string_view take_part(std::string_view& text) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

/// One whole value of the law, within its range.
Result<std::int64_t> value_of(std::string_view text, const LawValues& values) {
    Result<std::int64_t> value = invalid(values.remedy);
    if (values.times) {
        value = parse_duration_ns(text);
    } else if (const Result<std::uint64_t> count = parse_count(text); count) {
        value = count.value() > static_cast<std::uint64_t>(values.most)
                    ? values.most + 1
                    : static_cast<std::int64_t>(count.value());
    } else if (count.error().code == ErrorCode::out_of_range ||
               (text.starts_with('-') && parse_count(text.substr(1)))) {
        return invalid(values.range);
    }
    if (!value) {
        return invalid(text.starts_with('-') ? values.range : values.remedy);
    }
    if (value.value() < values.least || value.value() > values.most) {
        return invalid(values.range);
    }
    return value;
}

Result<ValueLaw> between(ValueLaw law, std::string_view text, const LawValues& values) {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) {
        return invalid(values.remedy);
    }
    const Result<std::int64_t> low = value_of(text.substr(0, dots), values);
    const Result<std::int64_t> high = value_of(text.substr(dots + 2), values);
    if (!low || !high) {
        return low ? high.error() : low.error();
    }
    if (high.value() < low.value()) {
        return invalid("has a range that ends before it begins; swap the two ends");
    }
    law.low = low.value();
    law.high = high.value();
    return law;
}

/// "512:100", "512:0.8", "512", and maybe bounds behind it.
Result<ValueLaw> real_law(LawKind kind, std::string_view text, const LawValues& values) {
    ValueLaw law;
    law.kind = kind;
    law.low = values.least;
    law.high = values.most;
    const auto real = [&](std::string_view part) {
        if (!values.times) {
            return number_of(part);
        }
        const Result<std::int64_t> ns = parse_duration_ns(part);
        return ns ? std::optional(static_cast<double>(ns.value())) : std::nullopt;
    };
    const std::optional<double> centre = real(take_part(text));
    std::optional<double> spread = 0.0;
    if (kind != LawKind::exponential) {
        const std::string_view part = take_part(text);
        spread = kind == LawKind::lognormal ? number_of(part) : real(part);
    }
    if (!centre || !spread || *centre <= 0) {
        return invalid(centre && *centre <= 0 ? "must have a mean or median above 0"
                                              : values.remedy);
    }
    law.centre = *centre;
    law.spread = *spread;
    if (!text.empty()) {
        const Result<ValueLaw> bounded = between(law, text, values);
        if (!bounded) {
            return bounded;
        }
        law = bounded.value();
    }
    if (share_inside(law) < law_share_min) {
        return invalid(
            "has more than half of its values outside its bounds; use a smaller deviation, or "
            "lognormal");
    }
    return law;
}

Result<ValueLaw> parse_law(std::string_view text, const LawValues& values) {
    std::string_view behind = text;
    const std::string_view kind = take_part(behind);
    if (kind == "file" && !behind.empty()) {
        ValueLaw law;
        law.kind = LawKind::histogram;
        law.low = values.least;
        law.high = values.most;
        law.file = behind;
        law.unit = values.times ? second_ns / 1000 : 1;
        return law;
    }
    if (kind == "uniform") {
        ValueLaw law;
        law.kind = LawKind::uniform;
        return between(law, behind, values);
    }
    if (kind == "normal" || kind == "lognormal" || kind == "exponential") {
        return real_law(kind == "normal"      ? LawKind::normal
                        : kind == "lognormal" ? LawKind::lognormal
                                              : LawKind::exponential,
                        behind, values);
    }
    const Result<std::int64_t> value = value_of(text, values);
    return value ? Result<ValueLaw>(fixed_law(value.value())) : value.error();
}

/// A count within [least, most].
Result<std::uint64_t> parse_within(std::string_view text, std::uint64_t least, std::uint64_t most,
                                   const char* remedy) {
    const Result<std::uint64_t> count = parse_count(text);
    if (!count || count.value() < least || count.value() > most) {
        return invalid(remedy);
    }
    return count;
}

Result<std::uint32_t> narrow(const Result<std::uint64_t>& value) {
    return value ? Result<std::uint32_t>(static_cast<std::uint32_t>(value.value())) : value.error();
}

constexpr const char* range_remedy =
    "is not from 0 up to (not including) 1, as in 0.2, nor {\"input\":0.2,\"output\":0.1}";

}  // namespace

Result<ValueLaw> parse_token_law(std::string_view text) {
    return parse_law(text, tokens);
}

Result<ValueLaw> parse_any_token_law(std::string_view text) {
    return parse_law(text, any_tokens);
}

Result<ValueLaw> parse_number_law(std::string_view text) {
    return parse_law(text, numbers);
}

Result<ValueLaw> parse_time_law(std::string_view text) {
    return parse_law(text, times);
}

Result<std::uint32_t> parse_row_tokens(std::string_view text) {
    return narrow(parse_within(text, 0, row_tokens_max, "is not from 0 to 134217728 tokens"));
}

Result<std::uint32_t> parse_positive_row_tokens(std::string_view text) {
    return narrow(parse_within(text, 1, row_tokens_max, "is not from 1 to 134217728 tokens"));
}

Result<std::uint64_t> parse_set_tokens(std::string_view text) {
    return parse_within(text, 1, set_tokens_max, "is not from 1 to 1000000000000 tokens");
}

Result<SetRange> parse_set_range(std::string_view text) {
    constexpr const char* remedy =
        "is not a range of tokens, the smaller one first, as in 1000000..4000000";
    const std::size_t dots = text.find("..");
    if (dots == text.npos) {
        return invalid(remedy);
    }
    const Result<std::uint64_t> low = parse_set_tokens(text.substr(0, dots));
    const Result<std::uint64_t> high = parse_set_tokens(text.substr(dots + 2));
    if (!low || !high || high.value() < low.value()) {
        return invalid(remedy);
    }
    return SetRange{low.value(), high.value()};
}

Result<std::uint64_t> parse_rows(std::string_view text) {
    return parse_within(text, 1, synth_rows_max,
                        "is not from 1 to 4294967000, the most rows that a trace can have");
}

Result<std::uint32_t> parse_groups(std::string_view text) {
    return narrow(parse_within(text, 1, groups_max, "is not a number from 1 to 1000000"));
}

Result<std::uint32_t> parse_small(std::string_view text) {
    return narrow(parse_within(text, 1, 1000, "is not a number from 1 to 1000"));
}

Result<std::uint32_t> parse_depth(std::string_view text) {
    return narrow(parse_within(text, 0, 8, "is not a number from 0 to 8"));
}

Result<std::uint64_t> parse_hit_rate(std::string_view text) {
    const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    const std::optional<double> percent = number_of(digits);
    if (!percent || *percent > 100) {
        return invalid("is not a hit rate from 0 to 100 %");
    }
    return static_cast<std::uint64_t>(std::floor(*percent * 10'000 + 0.5));
}

Result<double> parse_part(std::string_view text) {
    const std::optional<double> part = number_of(text);
    return part && *part <= 1 ? Result<double>(*part)
                              : invalid("is not a decimal from 0 to 1, as in 0.25");
}

Result<RangeRatio> parse_range_ratio(std::string_view text) {
    RangeRatio ratio;
    if (const std::optional<double> both = number_of(text)) {
        ratio = {*both, *both};
    } else {
        JsonDocument document;
        const Result<JsonValue> pair = document.parse(text);
        if (!pair || !pair.value().is(JsonType::object)) {
            return invalid(range_remedy);
        }
        for (JsonValue one = pair.value().first(); one.present(); one = one.next()) {
            const std::optional<double> part = number_of(one.raw());
            if (!part || (one.key() != "input" && one.key() != "output")) {
                return invalid(range_remedy);
            }
            (one.key() == "input" ? ratio.input : ratio.output) = *part;
        }
    }
    return ratio.input < 1 && ratio.output < 1 ? Result<RangeRatio>(ratio) : invalid(range_remedy);
}

Result<double> parse_synth_rate(std::string_view text) {
    constexpr double least = 1e-6;
    const Result<TypedRate> rate = parse_rate(text);
    if (!rate || rate.value().infinite) {
        return rate ? Result<double>(0.0) : Result<double>(rate.error());
    }
    return rate.value().per_second < least
               ? invalid("is less than one row in 11 days; use 10 (a second), 600/m, 50/h or inf")
               : Result<double>(rate.value().per_second);
}

Result<bool> parse_constant(std::string_view text) {
    return text == "constant" || text == "poisson"
               ? Result<bool>(text == "constant")
               : invalid("is not known; use poisson or constant");
}

Result<Popularity> parse_popularity(std::string_view text) {
    Popularity popularity;
    if (text.starts_with("zipf:")) {
        const std::optional<double> zipf = number_of(text.substr(5));
        if (!zipf || *zipf > 20) {
            return invalid("has an exponent that is not from 0 to 20, as in zipf:1.1");
        }
        popularity.zipf = *zipf;
    } else if (text != "equal" && text != "ordered") {
        return invalid("is not known; use equal, ordered, or zipf:EXPONENT");
    }
    popularity.ordered = text == "ordered";
    return popularity;
}

Result<std::int64_t> parse_token_time(std::string_view text) {
    const Result<std::int64_t> time = parse_duration_ns(text);
    return time && time.value() <= 10 * second_ns ? time : invalid("is not a time up to 10s");
}

Result<ValueLaw> range_law(const ValueLaw& fixed, double ratio) {
    ValueLaw law = fixed;
    law.kind = LawKind::uniform;
    law.low = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::floor(fixed.centre * (1 - ratio))));
    law.high = static_cast<std::int64_t>(std::ceil(fixed.centre * (1 + ratio)));
    return law.high <= row_tokens_max ? Result<ValueLaw>(law) : invalid("reaches beyond 134217728");
}

}  // namespace driftless
