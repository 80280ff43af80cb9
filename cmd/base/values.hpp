/// Values as people type them on a command line: durations, sizes, counts, pairs.
///
/// Shared by the option parsers of all commands. Pure functions; they print nothing and read no
/// environment. The `doing` of an Error is a clause for the message: what is wrong, and the remedy.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

/// Of a value that is refused: what is wrong, and the remedy.
constexpr Error invalid(const char* doing) {
    return {ErrorCode::invalid, 0, doing};
}

/// The number that the whole of a text is; nothing where it is none.
template <typename Number>
std::optional<Number> read_number(
    std::string_view text, [[maybe_unused]] std::chars_format format = std::chars_format::general) {
    Number value{};
    const char* const end = text.data() + text.size();
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<Number>) {
        read = std::from_chars(text.data(), end, value, format);
    } else {
        read = std::from_chars(text.data(), end, value);
    }
    return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}
/// The same of a plain decimal number from 0 on.
std::optional<double> read_decimal(std::string_view text);

/// The value, if there is one from `least` to `most`; else an error that says `why`.
template <typename T>
Result<T> within(const Result<T>& value, std::type_identity_t<T> least,
                 std::type_identity_t<T> most, const char* why) {
    return value && value.value() >= least && value.value() <= most ? value : invalid(why);
}

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

/// The lines of a file that a flag names, without blanks around them.
struct TextLines {
    std::string_view rest;
    std::uint64_t number = 0;  ///< of the line that was given last, from 1

    /// The next one with anything on it that is no comment (#); false at the end.
    bool next(std::string_view& line);
};

/// The parts of a comma-separated list, blanks trimmed. Errors: invalid, for an empty part.
Result<std::vector<std::string>> parse_list(std::string_view text);

template <typename T>
struct Choice {
    const char* name = nullptr;
    T value{};
};

/// Choices: the words of a flag that takes one of a few, each with its value. The one table by
/// which a word is read, a value is named, and the words are listed in errors, help and
/// completions. A constant of the program: errors refer to its text.
template <typename T>
class Choices {
  public:
    /// An error says `before`, the words, and `behind`; `last` is before the last word.
    constexpr Choices(std::initializer_list<Choice<T>> choices,
                      std::string_view before = "is not one of ", std::string_view last = ", ",
                      std::string_view behind = "") {
        write(before);
        list_at_ = remedy_bytes_;
        for (const Choice<T>& choice : choices) {
            write(count_ == 0 ? "" : count_ + 1 < choices.size() ? ", " : last);
            write(choice.name);
            choices_[count_++] = choice;
        }
        write(behind);
    }

    /// Errors: invalid, with the remedy.
    Result<T> operator()(std::string_view text) const {
        for (const Choice<T>& choice : *this) {
            if (choice.name == text) {
                return choice.value;
            }
        }
        return invalid(remedy_.data());
    }

    /// The first word of the value; empty: it has none.
    const char* name_of(const T& value) const {
        for (const Choice<T>& choice : *this) {
            if (choice.value == value) {
                return choice.name;
            }
        }
        return "";
    }
    std::vector<std::string> words() const {
        std::vector<std::string> words;
        for (const Choice<T>& choice : *this) {
            words.emplace_back(choice.name);
        }
        return words;
    }
    /// The words as an error lists them, with what is behind them.
    const char* list() const { return remedy_.data() + list_at_; }

    const Choice<T>* begin() const { return choices_.data(); }
    const Choice<T>* end() const { return choices_.data() + count_; }

  private:
    constexpr void write(std::string_view text) {
        for (const char letter : text) {
            remedy_[remedy_bytes_++] = letter;
        }
    }

    // Bounds that the compiler checks: each table is made when it compiles.
    std::array<Choice<T>, 8> choices_{};
    std::size_t count_ = 0;
    std::array<char, 96> remedy_{};
    std::size_t remedy_bytes_ = 0;
    std::size_t list_at_ = 0;
};

}  // namespace driftless
