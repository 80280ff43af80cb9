#include "cmd/replay/flags/foreign_values.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "proto/core/decimal.hpp"
#include "proto/json/document.hpp"

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

std::vector<ConfigPart> config_parts(std::string_view text) {
    std::vector<ConfigPart> parts;
    JsonDocument document;
    if (const Result<JsonValue> root = document.parse(text);
        root && root.value().is(JsonType::object)) {
        std::vector<std::pair<std::string, JsonValue>> inner{{"", root.value()}};
        for (std::size_t i = 0; i < inner.size(); ++i) {  // bounded by the document's objects
            const std::string prefix = inner[i].first;
            for (JsonValue one = inner[i].second.first(); one.present(); one = one.next()) {
                const std::string key = prefix + std::string(one.key());
                if (one.is(JsonType::object)) {
                    inner.emplace_back(key + ".", one);
                } else {
                    parts.push_back({key, std::string(one.as_string().value_or(one.raw()))});
                }
            }
        }
        return parts;
    }
    while (!text.empty()) {  // each turn takes a part off
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::size_t equals = std::min(part.find('='), part.size());
        parts.push_back({std::string(part.substr(0, equals)),
                         std::string(part.substr(std::min(equals + 1, part.size())))});
    }
    return parts;
}

std::string config_value(std::string_view text, std::string_view key) {
    const std::vector<ConfigPart> parts = config_parts(text);
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [key](const ConfigPart& one) { return one.key == key; });
    return found == parts.end() ? "" : found->value;
}

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
