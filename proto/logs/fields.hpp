/// What all importers read alike: names with several spellings, times, counts of tokens, usage.
///
/// Pure but for the context's errors. A null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "proto/logs/format.hpp"

namespace driftless {

using Names = std::initializer_list<std::string_view>;

/// The first of these members that is there; absent where none is.
JsonValue member(const JsonValue& object, Names names);
/// Its text: that of a string, or a number as written. Empty where there is none.
std::string_view text_member(const JsonValue& object, Names names);

/// An epoch in s, ms, us or ns by its magnitude (the years 2001 to 2286), or a wall clock with a
/// zone or in UTC: ns since 1970.
std::optional<std::int64_t> time_of(const JsonValue& value);

/// Reads when a call began and ended. False, and listed, where the beginning is missing or no
/// time. An end that is missing stays unknown; one that is no time or before the beginning is
/// counted and dropped.
bool read_times(const LogContext& context, const JsonValue& start, const JsonValue& end,
                std::string_view start_name, LogCall& call);

/// A whole number of tokens, a string of digits too. Nothing above `row_tokens_max`.
std::optional<std::uint32_t> tokens_of(const JsonValue& value);

/// Usage as chat, completions and messages APIs write it: `prompt_tokens` or `input_tokens` (plus
/// Anthropic's `cache_read_input_tokens` and `cache_creation_input_tokens`, which its
/// `input_tokens` leaves out), `completion_tokens` or `output_tokens`.
void read_usage(const JsonValue& usage, LogCall& call);

/// Whether the text is one of the names, whatever the case of its letters.
bool is_one_of(std::string_view text, Names names);

}  // namespace driftless
