#include "tests/fuzz/shared/dialect_event.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

void check_reading(const EventReading& reading) {
    const bool text = !reading.content.empty() || !reading.reasoning.empty() ||
                      !reading.tool_text.empty() || reading.token_ids > 0;
    CHECK(reading.token_bearing || !text);
    if (reading.kind != EventReading::Kind::delta) {
        CHECK(!reading.token_bearing && !reading.has_usage && !text);
    }
    for (const std::int64_t count : {reading.token_ids, reading.prompt_tokens,
                                     reading.completion_tokens, reading.cached_tokens}) {
        CHECK(count >= -1 && count <= tokens_reported_max);
    }
    CHECK(reading.has_usage || reading.completion_tokens == -1);
}

// Whatever the bits of `choice` ask for, and whatever is added, a body is JSON around its prompt.
void check_body(const Dialect& dialect, unsigned choice, std::string_view extra,
                JsonDocument& document) {
    BodySpec spec;
    spec.extra_body = std::string(extra);
    spec.output = choice % 2 == 0 ? OutputRule::exact : OutputRule::free;
    spec.prompt = (choice & 8) == 0 ? PromptKind::text : PromptKind::ids;
    spec.stream = (choice & 16) == 0;
    spec.model = (choice & 32) == 0 ? "" : "org/\"{prompt}\"\x01\x02";
    const Result<BodyFrame> frame = dialect.frame(spec);
    CHECK(!frame || dialect.takes_ids || spec.prompt == PromptKind::text);
    if (frame) {
        const BodyFrame& parts = frame.value();
        const char* const prompt = spec.prompt == PromptKind::ids ? "1,2" : R"(a \" b)";
        const std::string length = parts.has_length ? "1" : "";
        CHECK(static_cast<bool>(
            document.parse(parts.before + prompt + parts.between + length + parts.after)));
    }
}

}  // namespace

int fuzz_dialect(const Dialect& dialect, const std::uint8_t* data, std::size_t size) {
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

    check_body(dialect, data[0], payload, document);
    return 0;
}

}  // namespace driftless
