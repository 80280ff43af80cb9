#include "proto/logs/fields.hpp"

#include <algorithm>

#include "proto/core/decimal.hpp"
#include "proto/core/letter_case.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

/// The contents of a string, a number as written; empty for all else.
std::string_view scalar_text(const JsonValue& value) {
    return value.is(JsonType::number) ? value.raw() : value.as_string().value_or("");
}

}  // namespace

JsonValue member(const JsonValue& object, Names names) {
    for (const std::string_view name : names) {
        const JsonValue value = object.find(name);
        if (value.present() && !value.is(JsonType::null)) {
            return value;
        }
    }
    return {};
}

std::string_view text_member(const JsonValue& object, Names names) {
    for (const std::string_view name : names) {
        const std::string_view text = scalar_text(object.find(name));
        if (!text.empty()) {
            return text;
        }
    }
    return {};
}

std::optional<std::int64_t> time_of(const JsonValue& value) {
    const std::string_view text = scalar_text(value);
    const std::optional<TimeUnit> unit = guess_time_unit(text);
    if (!unit) {
        return std::nullopt;
    }
    const Result<std::int64_t> time = parse_time(text, *unit);
    return time ? std::optional(time.value()) : std::nullopt;
}

bool read_times(const LogContext& context, const JsonValue& start, const JsonValue& end,
                std::string_view start_name, LogCall& call) {
    if (!start.present()) {
        context.refuse(start_name, "is missing: the log does not say when the request was made",
                       "export the log with times, or remove the line");
        return false;
    }
    const std::optional<std::int64_t> began = time_of(start);
    if (!began) {
        context.refuse(start_name, "is neither a date nor an epoch",
                       "write ISO-8601, or seconds, ms, us or ns since 1970");
        return false;
    }
    call.start_ns = *began;
    call.end_ns = time_of(end);
    if (end.present() && (!call.end_ns || *call.end_ns < *began)) {
        call.end_ns.reset();
        context.remark("call whose end is not after its start: its end counts as unknown",
                       "calls whose ends are not after their starts: their ends count as unknown");
    }
    return true;
}

std::optional<std::uint32_t> tokens_of(const JsonValue& value) {
    const Result<std::uint64_t> whole = parse_whole(scalar_text(value));
    if (!whole || whole.value() > row_tokens_max) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(whole.value());
}

void read_usage(const JsonValue& usage, LogCall& call) {
    if (const auto prompt = tokens_of(usage.find("prompt_tokens"))) {
        call.input_tokens = prompt;
    } else if (const auto input = tokens_of(usage.find("input_tokens"))) {
        const std::uint32_t read = tokens_of(usage.find("cache_read_input_tokens")).value_or(0);
        const std::uint32_t made = tokens_of(usage.find("cache_creation_input_tokens")).value_or(0);
        call.input_tokens = std::min(*input + read + made, row_tokens_max);
    }
    const JsonValue output = member(usage, {"completion_tokens", "output_tokens"});
    if (const auto tokens = tokens_of(output)) {
        call.output_tokens = tokens;
    }
}

bool is_one_of(std::string_view text, Names names) {
    return std::any_of(names.begin(), names.end(),
                       [text](std::string_view name) { return equal_ignoring_case(text, name); });
}

}  // namespace driftless
