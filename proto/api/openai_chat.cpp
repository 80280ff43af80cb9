// The chat completions dialect: messages out, deltas in. Servers differ in what they put into a
// delta (null, empty, absent), so that everything is optional and only text counts as a token.
#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"
#include "proto/api/openai_common.hpp"

namespace driftless {

namespace {

// The text of tool calls as written: the `function` object, or the whole array where one delta
// holds several calls. Empty where neither name nor arguments came.
std::string_view read_tool_calls(const JsonValue& calls) {
    std::string_view text;
    for (JsonValue call = calls.first(); call.present(); call = call.next()) {
        const JsonValue function = call.find("function");
        if (!text_of(function.find("name")).empty() ||
            !text_of(function.find("arguments")).empty()) {
            text = text.empty() ? function.raw() : calls.raw();
        }
    }
    return text;
}

void take_text(std::string_view& into, std::string_view text) {
    if (!text.empty()) {
        into = text;
    }
}

}  // namespace

void read_chat_choice(const JsonValue& choice, EventReading& reading) {
    const JsonValue streamed = choice.find("delta");
    const JsonValue delta = streamed.present() ? streamed : choice.find("message");
    take_text(reading.content, text_of(delta.find("content")));
    take_text(reading.reasoning, text_of(delta.find("reasoning_content")));
    take_text(reading.reasoning, text_of(delta.find("reasoning")));  // the newer name wins
    take_text(reading.tool_text, read_tool_calls(delta.find("tool_calls")));
    read_choice_frame(choice, reading);
}

Result<BodyFrame> make_chat_frame(const BodySpec& spec) {
    return make_frame(spec, chat_shape_of(spec), openai_members(spec));
}

EventReading read_chat_event(JsonDocument& document, std::string_view event_name,
                             std::string_view data) {
    return read_openai_event(document, event_name, data, read_chat_choice);
}

const Dialect openai_chat_dialect{.api = Api::openai_chat,
                                  .name = "openai-chat",
                                  .default_path = "/v1/chat/completions",
                                  .framing = Framing::sse,
                                  .takes_ids = false,
                                  .has_ignore_eos = true,
                                  .templated = true,
                                  .prompt_member = "messages",
                                  .length_member = "max_completion_tokens",
                                  .has_two_length_names = true,
                                  .make_body_frame = make_chat_frame,
                                  .read_event = read_chat_event};

}  // namespace driftless
