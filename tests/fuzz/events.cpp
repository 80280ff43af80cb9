// What every dialect does with any event: it reads it without reading past it, and what it says
// holds together. The first byte chooses the event's name and the kind of body; the payload is
// tried as an error body and as extra members of a request, too. A target for each dialect.
#include "proto/api/api_template.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/std.hpp"

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
    BodySpec spec{.extra_body = std::string(extra)};
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

void fuzz_dialect(const Dialect& dialect, std::string_view bytes) {
    static JsonDocument document;
    if (bytes.empty()) {
        return;
    }
    const std::vector<char> copy(bytes.begin() + 1, bytes.end());  // no reading past its end
    const std::string_view payload{copy.data(), copy.size()};
    constexpr std::string_view names[] = {"", "message", "error", "other"};
    const auto choice = static_cast<std::uint8_t>(bytes[0]);
    check_reading(dialect.read(document, names[choice / 2 % 4], payload));
    CHECK(error_message_of(document, payload, choice).size() <= choice);
    check_body(dialect, choice, payload, document);
}

// The first byte chooses the dialect, too.
void fuzz_openai(std::string_view bytes) {
    const bool chat = !bytes.empty() && bytes[0] % 2 == 0;
    fuzz_dialect(dialect_of(chat ? Api::openai_chat : Api::openai_completions), bytes);
}

// A template that is read speaks: its bodies are JSON and its events hold together. The input is
// the template's file, a NUL, and what the other dialects' targets take.
void fuzz_template(std::string_view bytes) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    std::string why;
    const Result<ApiTemplate> form = read_api_template(bytes.substr(0, end), why);
    CHECK(static_cast<bool>(form) == why.empty());
    if (form && end < bytes.size()) {
        fuzz_dialect(dialect_of(form.value()), bytes.substr(end + 1));
    }
}

FuzzTarget of(const std::string& api, Api dialect) {
    return {api + "_event",
            [dialect](std::string_view bytes) { fuzz_dialect(dialect_of(dialect), bytes); }};
}

const FuzzTargets event_targets = {
    of("anthropic", Api::anthropic),
    of("dynamo", Api::dynamo),
    of("llamacpp", Api::llamacpp),
    of("ollama", Api::ollama),
    {"openai_event", fuzz_openai},
    of("openai_responses", Api::openai_responses),
    of("sglang", Api::sglang),
    {"template_event", fuzz_template},
    of("tgi", Api::tgi),
    of("triton", Api::triton),
};

}  // namespace
}  // namespace driftless
