/// Field: one value of a row as every format reads it, from JSON or from CSV.
///
/// The readers below list what is wrong with a value, with its remedy, and give nothing then. Pure
/// but for the context's errors and draft.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/trace/format.hpp"

namespace driftless {

/// Most tokens in one row: over ten times the longest context that any server offers. Keeps sums
/// and buffer sizes of a row far inside their types.
inline constexpr std::uint32_t row_tokens_max = 1U << 27;

struct Field {
    std::string_view name;  ///< for messages
    std::string_view raw;   ///< as written; a JSON string with its quotes
    std::string_view text;  ///< the contents of a JSON string; else as written
    JsonValue json;         ///< absent in CSV
    bool present = false;   ///< a null, "" and an empty cell count as absent
};

/// A value that is not null, or an absent one.
inline JsonValue given(const JsonValue& value) {
    return value.is(JsonType::null) ? JsonValue() : value;
}

/// A JSON value; `name` stands in where it is absent.
Field field_of(const JsonValue& value, std::string_view name);
/// A cell.
Field field_of(const CsvRow& row, std::string_view name);

/// The whole number that the text says, "512.0" too.
std::optional<std::uint64_t> whole_number(std::string_view text);

/// An arrival time in the unit of the rules.
std::optional<std::int64_t> read_time(const RowContext& context, const Field& field);
/// A length of time; `unit` is never iso.
std::optional<std::int64_t> read_gap(const RowContext& context, const Field& field, TimeUnit unit);
/// Whether a length of time, in the unit of the rules, is one, where it is there at all. False
/// after an error.
bool check_length(const RowContext& context, const Field& field);
/// A number of tokens from `least` on.
std::optional<std::uint32_t> read_tokens(const RowContext& context, const Field& field,
                                         std::uint32_t least);
/// The two lengths of a row. An output of 0 is taken as 1 and counted; one that is missing is what
/// the rules say, 0 for unknown. False after an error.
bool read_lengths(const RowContext& context, const Field& input, const Field& output,
                  TraceRow& row);

/// Whether a list holds objects only, where it is there at all. False after an error.
bool check_objects(const RowContext& context, const JsonValue& list, std::string_view name);

/// What a row waits for in another one: `trigger` of an object of the list `name`; an answer where
/// it does not say. Nothing after an error.
std::optional<Trigger> read_trigger(const RowContext& context, const JsonValue& edge,
                                    std::string_view name);

/// Appends the ids of a JSON list to the draft. False after an error.
bool read_ids(const RowContext& context, const JsonValue& list);

/// Blocks that `tokens` need, the partial last one included.
constexpr std::uint64_t blocks_of(std::uint64_t tokens, std::uint64_t block_size) {
    return (tokens + block_size - 1) / block_size;
}

/// Lists that `count` ids contradict `tokens`, which need `needed` of them.
void refuse_count(const RowContext& context, std::uint64_t count, std::uint32_t tokens,
                  std::uint64_t needed);
/// Holds the ids in the draft against the length: they must be ceil(length / block size).
/// `--lenient` fixes them and counts. False after an error.
bool check_count(const RowContext& context, std::uint32_t tokens);

}  // namespace driftless
