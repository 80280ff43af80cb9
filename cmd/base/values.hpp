/// Values as people type them on a command line: durations, sizes, counts, pairs.
///
/// Shared by the option parsers of all commands. Pure functions; they print nothing and read no
/// environment. The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

/// "90", "1.5s", "10m", "250ms", "5us", "80ns", "2h": nanoseconds, exactly as the decimal says; a
/// bare number is seconds. Never negative. Errors: invalid; out_of_range above 100 years or for
/// what is finer than 1 ns.
Result<std::int64_t> parse_duration_ns(std::string_view text);

/// The same length of time as a person writes it: "250ms", "1.5s", "10m". Reads back to `ns`.
std::string duration_to_text(std::int64_t ns);
/// "12.345 s".
std::string seconds_text(std::int64_t ns);

/// "4096", "64k", "64M", "2G" (also KiB, MiB, GiB): bytes, in powers of 1024. Errors: invalid,
/// out_of_range.
Result<std::uint64_t> parse_bytes(std::string_view text);

/// A whole number without sign. Errors: invalid, out_of_range.
Result<std::uint64_t> parse_count(std::string_view text);
/// The same, at least 1.
Result<std::uint64_t> parse_positive_count(std::string_view text);

/// The text without its blanks and tabs.
std::string without_blanks(std::string_view text);

/// The parts of a comma-separated list, blanks trimmed. Errors: invalid, for an empty part.
Result<std::vector<std::string>> parse_list(std::string_view text);

// choose: a value by its name, of a few. Included by the readers of flag values only.

template <typename T>
struct Choice {
    std::string_view name;
    T value;
};

/// Errors: invalid, with the remedy.
template <typename T, std::size_t count>
Result<T> choose(std::string_view text, const std::array<Choice<T>, count>& choices,
                 const char* remedy) {
    for (const Choice<T>& choice : choices) {
        if (choice.name == text) {
            return choice.value;
        }
    }
    return Error{ErrorCode::invalid, 0, remedy};
}

}  // namespace driftless
