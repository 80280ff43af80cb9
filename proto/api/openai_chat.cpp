// The chat completions dialect: messages out, deltas in. Servers differ in what they put into a
// delta (null, empty, absent), so that everything is optional and only text counts as a token.
#include <algorithm>
#include <iterator>

#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"
#include "proto/api/openai_common.hpp"

namespace driftless {

namespace {

// GuideLLM, AIPerf, and the benchmarks of SGLang and vLLM.
constexpr std::string_view aliases[] = {"chat", "chat_completions", "sglang-oai-chat", "vllm-chat"};

/// A function's name or arguments as written, where either came.
std::string_view read_function(const JsonValue& function) {
    const bool says =
        !text_of(function.find("name")).empty() || !text_of(function.find("arguments")).empty();
    return says ? function.raw() : std::string_view{};
}

// The text of tool calls as written: the `function` object, or the whole array where one delta
// holds several calls. Empty where neither name nor arguments came.
std::string_view read_tool_calls(const JsonValue& calls) {
    std::string_view text;
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        if (const std::string_view said = read_function(call.find("function")); !said.empty()) {
            text = text.empty() ? said : calls.raw();
        }
    }
    return text;
}

void take_text(std::string_view& into, std::string_view text) {
    if (!text.empty()) {
        into = text;
    }
}

/// A text, or the first text of an array of parts.
std::string_view text_of_part(const JsonValue& part) {
    return part.is(JsonType::array) ? text_of(part.at(0).find("text")) : text_of(part);
}

/// A content in parts, as Mistral's reasoning models stream it: `text`, `thinking` (an array of
/// texts, or a text), `refusal`. Where several have text of one kind, the array as written.
void read_parts(const JsonValue& parts, EventReading& reading) {
    std::string_view content;
    std::string_view reasoning;
    for (JsonValue part = parts.first(); part.present(); part = part.next()) {
        const std::string_view thought = text_of_part(part.find("thinking"));
        const std::string_view refusal = text_of(part.find("refusal"));
        const std::string_view text = refusal.empty() ? text_of(part.find("text")) : refusal;
        if (!thought.empty()) {
            reasoning = reasoning.empty() ? thought : parts.raw();
        }
        if (!text.empty()) {
            content = content.empty() ? text : parts.raw();
        }
    }
    take_text(reading.content, content);
    take_text(reading.reasoning, reasoning);
}

/// Members that have text and bear no token.
constexpr std::string_view names_without_tokens[] = {"role", "name", "id", "tool_call_id"};

/// A member that holds text of which nobody here knows what it is.
bool is_unread(std::string_view name, const JsonValue& member) {
    return !text_of(member).empty() &&
           std::find(std::begin(names_without_tokens), std::end(names_without_tokens), name) ==
               std::end(names_without_tokens);
}

/// One walk over the delta: most have one member, and looking up each name would walk it again.
void read_chat_choice(const JsonValue& choice, EventReading& reading) {
    const JsonValue streamed = choice.find("delta");
    const JsonValue delta = streamed.present() ? streamed : choice.find("message");
    std::string_view older;  // names of the reasoning; the newer one wins
    std::string_view reasoning;
    for (JsonValue member = delta.first(); member.present(); member = member.next()) {
        const std::string_view name = member.key();
        if (name == "content") {
            member.is(JsonType::array) ? read_parts(member, reading)
                                       : take_text(reading.content, text_of(member));
        } else if (name == "reasoning") {
            take_text(reasoning, text_of(member));
        } else if (name == "reasoning_content" || name == "thinking") {
            take_text(older, text_of(member));
        } else if (name == "refusal") {
            take_text(reading.content, text_of(member));
        } else if (name == "tool_calls") {
            take_text(reading.tool_text, read_tool_calls(member));
            reading.tool_calls = member;
        } else if (name == "function_call") {  // the older name, of one call
            take_text(reading.tool_text, read_function(member));
        } else if (is_unread(name, member)) {
            reading.unread_member = name;
        }
    }
    take_text(reading.reasoning, reasoning.empty() ? older : reasoning);
    read_choice_frame(choice, reading);
}

}  // namespace

Result<BodyFrame> make_chat_frame(const BodySpec& spec) {
    return make_frame(spec, chat_shape_of(spec), openai_members(spec));
}

void read_chat_event(const JsonValue& root, EventReading& reading) {
    read_openai_event(root, read_chat_choice, reading);
}

const Dialect openai_chat_dialect{.api = Api::openai_chat,
                                  .name = "openai-chat",
                                  .aliases = aliases,
                                  .help = "/v1/chat/completions, supported by most servers",
                                  .default_path = "/v1/chat/completions",
                                  .framing = Framing::sse,
                                  .takes_ids = false,
                                  .has_ignore_eos = true,
                                  .templated = true,
                                  .prompt_member = "messages",
                                  .length_member = "max_completion_tokens",
                                  .has_two_length_names = true,
                                  .has_stream_options = true,
                                  .tokenize_forms = chat_tokenize_forms,
                                  .ignores_named_events = true,
                                  .make_body_frame = make_chat_frame,
                                  .read_event = read_chat_event};

}  // namespace driftless
