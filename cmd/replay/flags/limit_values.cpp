#include "cmd/replay/flags/limit_values.hpp"

#include <array>
#include <cstdint>

#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* rate_remedy = "is not a token rate; use 20000/s, 500k/m or 30M/h";
constexpr const char* input_remedy =
    "is not a token rate; use 20000/s, 500k/m, 30M/h or 500k/m:uncached";
constexpr std::uint64_t tokens_most = 1'000'000'000'000;

struct Period {
    std::string_view text;
    Duration length;
};
constexpr std::array periods{Period{"/s", seconds(1)}, Period{"/m", seconds(60)},
                             Period{"/h", seconds(3600)}};

std::uint64_t take_factor(std::string_view& text) {
    const std::uint64_t factor = text.ends_with('k') ? 1'000 : text.ends_with('M') ? 1'000'000 : 1;
    text.remove_suffix(factor == 1 ? 0 : 1);
    return factor;
}

Result<TokenRate> parse_rate(std::string_view text, const char* remedy) {
    for (const Period& period : periods) {
        if (!text.ends_with(period.text)) {
            continue;
        }
        text.remove_suffix(period.text.size());
        const std::uint64_t factor = take_factor(text);
        const Result<std::uint64_t> count = parse_positive_count(text);
        if (!count) {
            return Error{count.error().code, 0, remedy};
        }
        if (count.value() > tokens_most / factor) {
            return Error{ErrorCode::out_of_range, 0, "is more than 10^12 tokens"};
        }
        return TokenRate{count.value() * factor, period.length};
    }
    return Error{ErrorCode::invalid, 0, remedy};
}

}  // namespace

Result<TypedBudget> parse_input_budget(std::string_view text) {
    constexpr std::string_view uncached = ":uncached";
    const bool counts_uncached = text.ends_with(uncached);
    text.remove_suffix(counts_uncached ? uncached.size() : 0);
    const Result<TokenRate> rate = parse_rate(text, input_remedy);
    return rate ? Result<TypedBudget>(TypedBudget{rate.value(), counts_uncached}) : rate.error();
}

Result<TypedBudget> parse_output_budget(std::string_view text) {
    const Result<TokenRate> rate = parse_rate(text, rate_remedy);
    return rate ? Result<TypedBudget>(TypedBudget{rate.value(), false}) : rate.error();
}

std::string text_of(const TokenRate& rate, bool uncached) {
    for (const Period& period : periods) {
        if (rate.tokens > 0 && rate.period == period.length) {
            return std::to_string(rate.tokens) + std::string(period.text) +
                   (uncached ? ":uncached" : "");
        }
    }
    return "";
}

}  // namespace driftless
