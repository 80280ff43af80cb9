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

template <Api api>
int fuzz_api(const std::uint8_t* data, std::size_t size) {
    return fuzz_dialect(dialect_of(api), data, size);
}

// The first byte chooses the dialect, too.
int fuzz_openai(const std::uint8_t* data, std::size_t size) {
    const bool chat = size > 0 && data[0] % 2 == 0;
    return fuzz_dialect(dialect_of(chat ? Api::openai_chat : Api::openai_completions), data, size);
}

// A template that is read speaks: its bodies are JSON and its events hold together. The input is
// the template's file, a NUL, and what the other dialects' targets take.
int fuzz_template(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(text.find('\0'), size);
    std::string why;
    const Result<ApiTemplate> form = read_api_template(text.substr(0, end), why);
    CHECK(static_cast<bool>(form) == why.empty());
    if (!form || end == size) {
        return 0;
    }
    return fuzz_dialect(dialect_of(form.value()), data + end + 1, size - end - 1);
}

struct Target {
    const char* name;
    int (*run)(const std::uint8_t* data, std::size_t size);
};
constexpr Target targets[] = {
    {"anthropic_event", fuzz_api<Api::anthropic>},
    {"dynamo_event", fuzz_api<Api::dynamo>},
    {"llamacpp_event", fuzz_api<Api::llamacpp>},
    {"ollama_event", fuzz_api<Api::ollama>},
    {"openai_event", fuzz_openai},
    {"openai_responses_event", fuzz_api<Api::openai_responses>},
    {"sglang_event", fuzz_api<Api::sglang>},
    {"template_event", fuzz_template},
    {"tgi_event", fuzz_api<Api::tgi>},
    {"triton_event", fuzz_api<Api::triton>},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return this_target(targets).run(data, size);
}

}  // namespace driftless
