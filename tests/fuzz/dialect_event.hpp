/// What every dialect's fuzz target does with its input. Internal to tests/fuzz; it never returns
/// where a property fails.
#pragma once

#include <string>
#include <vector>

#include "proto/api/dialect.hpp"
#include "proto/core/check.hpp"

namespace driftless {

inline void check_reading(const EventReading& reading) {
    const bool text = !reading.content.empty() || !reading.reasoning.empty() ||
                      !reading.tool_text.empty() || reading.token_ids > 0;
    CHECK(reading.token_bearing || !text);
    if (reading.kind != EventReading::Kind::delta) {
        CHECK(!reading.token_bearing && !reading.has_usage && !text);
    }
    for (const std::int64_t count : {reading.token_ids, reading.prompt_tokens,
                                     reading.completion_tokens, reading.cached_tokens}) {
        CHECK(count >= -1 && count <= counted_tokens_max);
    }
    CHECK(reading.has_usage || reading.completion_tokens == -1);
}

/// Any payload reads as one event without reading past it, and what it says holds together. The
/// first byte chooses the event's name; the payload is tried as an error body and as extra members
/// of a request, too.
inline int fuzz_dialect(const Dialect& dialect, const std::uint8_t* data, std::size_t size) {
    static JsonDocument document;
    if (size == 0) {
        return 0;
    }
    const std::vector<char> copy(data + 1, data + size);  // its own allocation: no reading past it
    const std::string_view payload{copy.data(), copy.size()};
    constexpr std::string_view names[] = {"", "message", "error", "other"};
    check_reading(dialect.read(document, names[data[0] / 2 % 4], payload));

    const std::size_t bytes_max = data[0];
    CHECK(error_message_of(document, payload, bytes_max).size() <= bytes_max);

    BodySpec spec;
    spec.extra_body = std::string(payload);
    spec.output = data[0] % 2 == 0 ? OutputRule::exact : OutputRule::free;
    if (const Result<BodyFrame> frame = dialect.frame(spec)) {
        const BodyFrame& parts = frame.value();
        const std::string length = parts.has_length ? "1" : "";
        CHECK(
            static_cast<bool>(document.parse(parts.before + parts.between + length + parts.after)));
    }
    return 0;
}

}  // namespace driftless
