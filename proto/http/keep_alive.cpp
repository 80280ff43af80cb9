#include "proto/http/keep_alive.hpp"

#include <algorithm>
#include <charconv>

#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

std::optional<std::uint32_t> number_of(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
        return std::nullopt;
    }
    return error == std::errc::result_out_of_range ? UINT32_MAX : number;
}

void lower_to(std::optional<std::uint32_t>& limit, std::optional<std::uint32_t> said) {
    if (said) {
        limit = std::min(limit.value_or(UINT32_MAX), *said);
    }
}

/// A field's value: the smallest of several numbers counts, those beyond 32 bits as the largest.
KeepAliveLimits read_keep_alive(std::string_view value) {
    KeepAliveLimits limits;
    while (!value.empty()) {
        const std::string_view part = value.substr(0, value.find_first_of(",;"));
        value.remove_prefix(std::min(part.size() + 1, value.size()));
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            continue;
        }
        const std::string_view name = trim_blanks(part.substr(0, equals));
        const auto number = number_of(trim_blanks(part.substr(equals + 1)));
        if (equal_ignoring_case(name, "timeout")) {
            lower_to(limits.timeout_s, number);
        } else if (equal_ignoring_case(name, "max")) {
            lower_to(limits.max, number);
        }
    }
    return limits;
}

}  // namespace

void KeepAliveScanner::feed(std::string_view head) {
    field_.feed(head, [this](std::string_view value, bool cut) {
        if (cut) {  // what goes on behind the limit may be a number
            value = value.substr(0, value.find_last_of(",;") + 1);
        }
        const KeepAliveLimits said = read_keep_alive(value);
        lower_to(limits_.timeout_s, said.timeout_s);
        lower_to(limits_.max, said.max);
    });
}

}  // namespace driftless
