#include "proto/trace/mooncake.hpp"

#include <optional>

#include "proto/core/decimal.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {"timestamp",    "created_time",  "input_length",
                                        "input_tokens", "output_length", "output_tokens",
                                        "hash_ids"};

/// The four fields of a row. A null counts as absent.
struct Fields {
    JsonValue time;
    JsonValue input;
    JsonValue output;
    JsonValue ids;
};

Fields fields_of(const JsonValue& row) {
    Fields fields;
    const auto take = [](JsonValue& field, const JsonValue& value) {
        field = field.present() || value.is(JsonType::null) ? field : value;
    };
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        const std::string_view key = value.key();
        if (key == "timestamp" || key == "created_time") {
            take(fields.time, value);
        } else if (key == "input_length" || key == "input_tokens") {
            take(fields.input, value);
        } else if (key == "output_length" || key == "output_tokens") {
            take(fields.output, value);
        } else if (key == "hash_ids") {
            take(fields.ids, value);
        }
    }
    return fields;
}

bool matches(const JsonValue& row) {
    const Fields fields = fields_of(row);
    const int known = fields.time.present() + fields.input.present() + fields.output.present() +
                      fields.ids.is(JsonType::array);
    return known >= 2;
}

void refuse_missing(const RowContext& context, std::string_view field, std::string remedy) {
    context.refuse(field, "", "is missing", std::move(remedy));
}

/// Text of a number as written, or of a string that may hold one.
std::string_view number_text(const JsonValue& value) {
    return value.as_string().value_or(value.raw());
}

std::optional<std::int64_t> read_time(const RowContext& context, const JsonValue& value) {
    if (!value.present()) {
        refuse_missing(context, "timestamp", "every row needs its arrival time");
        return std::nullopt;
    }
    const std::string_view text = number_text(value);
    const Result<std::int64_t> time = parse_time(text, context.rules.time_unit);
    if (time) {
        return time.value();
    }
    if (time.error().code == ErrorCode::invalid) {
        context.refuse(value.key(), text, "is no decimal number", "write the time as one");
    } else if (text.starts_with('-')) {
        context.refuse(value.key(), text, "is negative", "times count from the trace's start");
    } else {
        context.refuse(value.key(), text, "is beyond 2^62 ns",
                       std::string("--time-unit names the unit; here it was ") +
                           name_of(context.rules.time_unit));
    }
    return std::nullopt;
}

std::optional<std::uint32_t> read_tokens(const RowContext& context, const JsonValue& value,
                                         std::string_view field, std::uint32_t least) {
    if (!value.present()) {
        refuse_missing(context, field, "every row needs it");
        return std::nullopt;
    }
    std::optional<std::uint64_t> tokens = value.as_u64();
    if (!tokens && value.is(JsonType::number)) {
        const Result<std::uint64_t> whole = parse_whole(value.raw());
        tokens = whole ? std::optional(whole.value()) : std::nullopt;
    }
    if (tokens && *tokens >= least && *tokens <= row_tokens_max) {
        return static_cast<std::uint32_t>(*tokens);
    }
    context.refuse(value.key(), value.raw(),
                   "is no whole number of tokens from " + std::to_string(least) + " to " +
                       std::to_string(row_tokens_max),
                   "correct the row");
    return std::nullopt;
}

/// Appends the ids to the arena. False after an error.
bool read_ids(const RowContext& context, const JsonValue& list) {
    if (!list.is(JsonType::array)) {
        context.refuse("hash_ids", list.raw(), "is no list of block ids", "correct the row");
        return false;
    }
    for (JsonValue value = list.first(); value.present(); value = value.next()) {
        std::optional<std::uint64_t> id = value.as_u64();
        if (!id && value.is(JsonType::number)) {
            const Result<std::uint64_t> whole = parse_whole(value.raw());
            id = whole ? std::optional(whole.value()) : std::nullopt;
        }
        if (!id) {
            context.refuse("hash_ids", value.raw(), "is no block id",
                           "ids are whole numbers from 0 to 2^64 - 1");
            return false;
        }
        context.trace.ids.push_back(*id);
    }
    return true;
}

std::uint64_t blocks_of(std::uint64_t tokens, std::uint64_t block_size) {
    return (tokens + block_size - 1) / block_size;
}

/// What would mend a count that contradicts its length.
std::string count_remedy(std::uint64_t tokens, std::uint64_t count) {
    std::string fits;
    for (std::uint64_t size = 16; size <= 1024; size *= 2) {
        if (blocks_of(tokens, size) == count) {
            fits += (fits.empty() ? "--block-size " : " or ") + std::to_string(size);
        }
    }
    return (fits.empty() ? "no block size of 16, 32, .. 1024 would fit" : fits + " would fit") +
           "; --lenient ignores surplus ids and fills missing ones with private tokens";
}

/// Holds the ids from `ids_begin` on against the length: they must be ceil(length / block size).
bool check_count(const RowContext& context, std::uint32_t tokens, TraceRow& row) {
    Trace& trace = context.trace;
    const std::uint64_t count = trace.ids.size() - row.ids_begin;
    const std::uint64_t needed = blocks_of(tokens, context.rules.block_size);
    if (count != needed && !context.rules.lenient) {
        context.refuse("hash_ids", std::to_string(count) + (count == 1 ? " id" : " ids"),
                       "contradicts input_length " + std::to_string(tokens) +
                           ", which at block size " + std::to_string(context.rules.block_size) +
                           " needs " + std::to_string(needed),
                       count_remedy(tokens, count));
        return false;
    }
    if (count > needed) {
        trace.surplus_ids += count - needed;
        trace.ids.resize(row.ids_begin + needed);
    }
    trace.rows_uncovered += count < needed ? 1 : 0;
    row.ids_count = static_cast<std::uint32_t>(trace.ids.size() - row.ids_begin);
    return true;
}

bool read_row(const RowContext& context, const JsonValue& json, TraceRow& row) {
    const Fields fields = fields_of(json);
    const auto time = read_time(context, fields.time);
    const auto input = read_tokens(context, fields.input, "input_length", 1);
    const auto output = read_tokens(context, fields.output, "output_length", 0);
    row.ids_begin = context.trace.ids.size();
    bool ids_fine = true;
    if (fields.ids.present()) {
        ids_fine = read_ids(context, fields.ids);
    } else if (!context.rules.lenient) {
        refuse_missing(context, "hash_ids", "--lenient fills the prompt with private tokens");
        ids_fine = false;
    }
    ids_fine = ids_fine && (!input || check_count(context, *input, row));
    if (!time || !input || !output || !ids_fine) {
        return false;
    }
    row.at_ns = *time;
    row.input_length = *input;
    row.output_length = std::max(*output, 1U);
    context.trace.zero_outputs += *output == 0 ? 1 : 0;
    return true;
}

}  // namespace

constinit const TraceFormat mooncake_format = {
    .name = "mooncake",
    .time_unit = TimeUnit::ms,
    .block_size = 512,
    .tail_rule = TailRule::ceil,
    .columns = columns,
    .matches = matches,
    .read_row = read_row,
};

}  // namespace driftless
