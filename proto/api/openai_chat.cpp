// The chat completions dialect: messages out, deltas in. Servers differ in what they put into a
// delta (null, empty, absent), so that everything is optional and only text counts as a token.
#include "proto/api/dialect.hpp"

namespace driftless {

// GuideLLM, AIPerf, and the benchmarks of SGLang and vLLM.
static constexpr std::string_view aliases[] = {"chat", "chat_completions", "sglang-oai-chat",
                                               "vllm-chat"};

/// A function's name or arguments as written, or a custom tool's name or input, where either came.
static std::string_view read_function(const JsonValue& function) {
    const bool says = !text_of(function.find("name")).empty() ||
                      !text_of(function.find("arguments")).empty() ||
                      !text_of(function.find("input")).empty();
    return says ? function.raw() : std::string_view{};
}

// The text of tool calls as written: the `function` or `custom` object, or the whole array where
// one delta holds several calls. Empty where neither a name nor arguments came.
static std::string_view read_tool_calls(const JsonValue& calls) {
    std::string_view text;
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        const JsonValue function = call.find("function");
        const std::string_view said =
            read_function(function.present() ? function : call.find("custom"));
        if (!said.empty()) {
            text = text.empty() ? said : calls.raw();
        }
    }
    return text;
}

static void take_text(std::string_view& into, std::string_view text) {
    if (!text.empty()) {
        into = text;
    }
}

/// Members of a part that have its text, and that of a thought.
static constexpr std::string_view texts[] = {"text", "refusal", "content"};
static constexpr std::string_view thoughts[] = {"thinking", "reasoning", "summary"};

/// A text, or the first text of an array of parts.
static std::string_view text_of_part(const JsonValue& part) {
    return part.is(JsonType::array) ? text_of(part.at(0).find("text")) : text_of(part);
}

template <std::size_t count>
static std::string_view first_text(const JsonValue& part, const std::string_view (&names)[count]) {
    std::string_view text;
    for (std::size_t i = 0; i < count && text.empty(); ++i) {
        text = text_of_part(part.find(names[i]));
    }
    return text;
}

/// A text; or parts, or one part alone: Mistral's reasoning models stream a content of `text` and
/// `thinking` (an array of texts, or a text), OpenRouter and MiniMax `reasoning_details`, LiteLLM
/// `thinking_blocks`. Where several have text of one kind, the array as written. `thinks`: all of
/// it is reasoning.
static void read_parts(const JsonValue& value, bool thinks, EventReading& reading,
                       std::string_view& reasoning) {
    std::string_view said;
    std::string_view thought;
    const bool many = value.is(JsonType::array);
    for (JsonValue part = many ? value.first() : value; part.present();
         part = many ? part.next() : JsonValue()) {
        std::string_view text = first_text(part, thoughts);
        const bool is_thought =
            thinks || !text.empty() || text_of(part.find("type")).starts_with("reasoning");
        text = !text.empty() ? text : text_of(part);
        text = !text.empty() ? text : first_text(part, texts);
        if (!text.empty()) {
            std::string_view& into = is_thought ? thought : said;
            into = into.empty() ? text : value.raw();
        } else if (has_text(part)) {
            reading.unread_member = value.key();
        }
    }
    take_text(reading.content, said);
    take_text(reasoning, thought);
}

/// One walk over the delta: most have one member, and looking up each name would walk it again.
static void read_chat_choice(const JsonValue& choice, EventReading& reading) {
    const JsonValue streamed = choice.find("delta");
    const JsonValue delta = streamed.present() ? streamed : choice.find("message");
    std::string_view in_parts;  // names of the reasoning, which may be there twice: the last wins
    std::string_view older;
    std::string_view reasoning;
    for (JsonValue member = delta.first(); member.present(); member = member.next()) {
        const std::string_view name = member.key();
        if (name == "content") {
            member.is(JsonType::string) ? take_text(reading.content, text_of(member))
                                        : read_parts(member, false, reading, in_parts);
        } else if (name == "reasoning") {
            read_parts(member, true, reading, reasoning);
        } else if (name == "reasoning_content" || name == "thinking") {
            read_parts(member, true, reading, older);
        } else if (name == "reasoning_details" || name == "thinking_blocks") {
            read_parts(member, true, reading, in_parts);
        } else if (name == "refusal") {
            take_text(reading.content, text_of(member));
        } else if (name == "tool_calls") {
            take_text(reading.tool_text, read_tool_calls(member));
            reading.tool_calls = member;
        } else if (name == "function_call") {  // the older name, of one call
            take_text(reading.tool_text, read_function(member));
        } else if (has_text(member)) {
            reading.unread_member = name;
        }
    }
    for (const std::string_view text : {in_parts, older, reasoning}) {
        take_text(reading.reasoning, text);
    }
    read_choice_frame(choice, reading);
}

Result<BodyFrame> make_chat_frame(const BodySpec& spec) {
    return make_frame(spec, chat_shape_of(spec), openai_members(spec));
}

void read_chat_event(const JsonValue& root, EventReading& reading) {
    read_openai_event(root, read_chat_choice, reading);
}

constexpr Dialect openai_chat_dialect{.api = Api::openai_chat,
                                      .name = "openai-chat",
                                      .aliases = aliases,
                                      .help = "/v1/chat/completions, supported by most servers",
                                      .default_path = "/v1/chat/completions",
                                      .templated = true,
                                      .prompt_member = "messages",
                                      .length_member = "max_completion_tokens",
                                      .has_two_length_names = true,
                                      .has_stream_options = true,
                                      .tokenize_forms = chat_tokenize_forms,
                                      .ignores_named_events = true,
                                      .make_body_frame = make_chat_frame,
                                      .read_event = read_chat_event};

// AIBrix's gateway: this, with headers that say how to route (`--routing-strategy`, `--user`), and
// answers that say which pod gave them.
constexpr Dialect aibrix_dialect = [] {
    Dialect made = openai_chat_dialect;
    made.api = Api::aibrix;
    made.name = "aibrix";
    made.aliases = {};
    made.help = "openai-chat with the headers of AIBrix's gateway";
    made.recorded_headers = {"target-pod", "target-pod-ip", "request-id"};
    made.has_routing_headers = true;
    return made;
}();

}  // namespace driftless
