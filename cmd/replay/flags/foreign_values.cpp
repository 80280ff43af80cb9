#include "cmd/replay/flags/foreign_values.hpp"

#include <optional>

#include "proto/core/decimal.hpp"

namespace driftless {

namespace {

constexpr std::uint64_t billion = 1'000'000'000;

/// `value` / 10^`digits` as a decimal without trailing zeros.
std::string decimal_text(std::uint64_t value, std::size_t digits) {
    const std::string all = std::to_string(value);
    const std::string padded =
        all.size() > digits ? all : std::string(digits + 1 - all.size(), '0') + all;
    const std::string whole = padded.substr(0, padded.size() - digits);
    const std::string part = padded.substr(padded.size() - digits);
    const std::size_t last = part.find_last_not_of('0');
    return last == part.npos ? whole : whole + "." + part.substr(0, last + 1);
}

}  // namespace

std::uint64_t nano_of(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    const Result<Scaled> nano = decimal ? scale(*decimal, 9) : Result<Scaled>(Scaled{});
    const bool good = decimal && !decimal->negative && nano && nano.value().exact;
    return good ? nano.value().value : 0;
}

std::string inverse_text(std::uint64_t nano) {
    const bool exact = nano != 0 && billion * billion % nano == 0;
    return exact ? decimal_text(billion * billion / nano, 9) : "";
}

std::string milliseconds_text(std::string_view seconds) {
    const std::uint64_t nano = nano_of(seconds);
    return nano == 0 ? std::string(seconds) : decimal_text(nano, 6);
}

std::string interval_text(std::string_view per_second) {
    const std::uint64_t nano = nano_of(per_second);
    return nano == 0 ? std::string(per_second) : decimal_text(billion * billion / nano, 6);
}

}  // namespace driftless
