#include "proto/core/decimal.hpp"

#include <algorithm>

#include "proto/core/text.hpp"

namespace driftless {
namespace {

bool take(std::string_view& text, char c) {
    const bool there = !text.empty() && text.front() == c;
    text.remove_prefix(there ? 1 : 0);
    return there;
}

bool take_sign(std::string_view& text) {
    const bool negative = take(text, '-');
    if (!negative) {
        (void)take(text, '+');
    }
    return negative;
}

bool all_zero(std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

bool Decimal::zero() const {
    return all_zero(whole) && all_zero(fraction);
}

std::optional<Decimal> scan_decimal(std::string_view text) {
    Decimal decimal;
    decimal.negative = take_sign(text);
    decimal.whole = take_digits(text);
    if (take(text, '.')) {
        decimal.fraction = take_digits(text);
    }
    if (decimal.whole.empty() && decimal.fraction.empty()) {
        return std::nullopt;
    }
    if (take(text, 'e') || take(text, 'E')) {
        const bool negative = take_sign(text);
        const std::string_view digits = take_digits(text);
        if (digits.empty()) {
            return std::nullopt;
        }
        for (const char digit : digits) {
            decimal.exponent =
                std::min(decimal.exponent * 10 + (digit - '0'), decimal_exponent_max);
        }
        decimal.exponent = negative ? -decimal.exponent : decimal.exponent;
    }
    if (!text.empty()) {
        return std::nullopt;
    }
    return decimal;
}

Result<Scaled> scale(const Decimal& decimal, std::int32_t power) {
    Scaled scaled;
    if (decimal.zero()) {
        return scaled;
    }
    // `point`: how many of the digits, zeros appended as needed, stand before the point now. After
    // the first digit that is not 0, twenty more leave the range; so the loop ends soon.
    const auto count = static_cast<std::int64_t>(decimal.whole.size() + decimal.fraction.size());
    const auto digit_at = [&](std::int64_t i) {
        const auto index = static_cast<std::size_t>(i);
        const std::size_t whole = decimal.whole.size();
        return static_cast<std::uint64_t>(
            (index < whole ? decimal.whole[index] : decimal.fraction[index - whole]) - '0');
    };
    const std::int64_t point =
        static_cast<std::int64_t>(decimal.whole.size()) + decimal.exponent + power;
    std::int64_t i = 0;
    for (; i < point; ++i) {
        const std::uint64_t digit = i < count ? digit_at(i) : 0;
        if (__builtin_mul_overflow(scaled.value, std::uint64_t{10}, &scaled.value) ||
            __builtin_add_overflow(scaled.value, digit, &scaled.value)) {
            return Error{ErrorCode::out_of_range, 0, "read a number"};
        }
    }
    for (; i < count && scaled.exact; ++i) {
        scaled.exact = digit_at(i) == 0;
    }
    return scaled;
}

Result<std::uint64_t> parse_whole(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return Error{ErrorCode::invalid, 0, "read a number"};
    }
    if (decimal->negative && !decimal->zero()) {
        return Error{ErrorCode::out_of_range, 0, "read a number"};
    }
    const Result<Scaled> scaled = scale(*decimal, 0);
    if (!scaled) {
        return scaled.error();
    }
    if (!scaled.value().exact) {
        return Error{ErrorCode::invalid, 0, "read a whole number"};
    }
    return scaled.value().value;
}

}  // namespace driftless
