// OpenAI's Responses, as vLLM, SGLang and llama.cpp serve them, too. What an event is stands in its
// `type`; up to six come before the first token, and the last one holds the whole response.
#include "proto/api/body.hpp"
#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"

namespace driftless {

namespace {

constexpr BodyShape shape{"input", "\"", "\"", "max_output_tokens", ""};

Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    return make_frame(spec, shape, flat_members(spec));
}

/// The first text of each kind in the output of a whole response.
void read_output(const JsonValue& output, EventReading& reading) {
    for (JsonValue item = output.first(); item.present(); item = item.next()) {
        const bool reasons = text_of(item.find("type")) == "reasoning";
        const std::string_view text = text_of(item.find("content").at(0).find("text"));
        std::string_view& into = reasons ? reading.reasoning : reading.content;
        into = into.empty() ? text : into;
    }
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
}

/// What a response says of itself when it is over: why, and its usage.
void read_ending(const JsonValue& response, EventReading& reading) {
    const std::string_view reason = text_of(response.find("incomplete_details").find("reason"));
    reading.finish_reason = reason.empty() ? text_of(response.find("status")) : reason;
    const JsonValue usage = response.find("usage");
    if (usage.is(JsonType::object)) {
        reading.has_usage = true;
        reading.prompt_tokens = count_of(usage.find("input_tokens"));
        reading.completion_tokens = count_of(usage.find("output_tokens"));
        reading.cached_tokens = count_of(usage.find("input_tokens_details").find("cached_tokens"));
    }
}

EventReading failed(std::string_view message) {
    EventReading reading;
    reading.kind = EventReading::Kind::error;
    reading.error_message = message;
    return reading;
}

/// The deltas that bear tokens, by the end of their type's name.
void read_delta(std::string_view type, const JsonValue& delta, EventReading& reading) {
    if (type == "response.output_text.delta" || type == "response.refusal.delta") {
        reading.content = text_of(delta);
    } else if (type == "response.reasoning_text.delta" ||
               type == "response.reasoning_summary_text.delta") {
        reading.reasoning = text_of(delta);
    } else if (type == "response.function_call_arguments.delta") {
        reading.tool_text = text_of(delta);
    } else {
        reading.kind = EventReading::Kind::ignored;
    }
    reading.token_bearing =
        !reading.content.empty() || !reading.reasoning.empty() || !reading.tool_text.empty();
}

void read_event(const JsonValue& root, EventReading& reading) {
    const std::string_view type = text_of(root.find("type"));
    const JsonValue response = root.find("response");
    if (type == "error") {
        reading = failed(text_of(root.find("message")));
        return;
    }
    if (type == "response.failed") {
        reading = failed(text_of(response.find("error").find("message")));
        return;
    }
    if (type == "response.created") {
        reading.response_id = text_of(response.find("id"));
    } else if (type == "response.completed" || type == "response.incomplete") {
        reading.response_id = text_of(response.find("id"));
        read_ending(response, reading);
    } else if (text_of(root.find("object")) == "response") {
        reading.response_id = text_of(root.find("id"));
        read_output(root.find("output"), reading);
        read_ending(root, reading);
    } else {
        read_delta(type, root.find("delta"), reading);
    }
}

}  // namespace

const Dialect openai_responses_dialect{.api = Api::openai_responses,
                                       .name = "openai-responses",
                                       .help = "/v1/responses",
                                       .default_path = "/v1/responses",
                                       .framing = Framing::sse,
                                       .takes_ids = false,
                                       .has_ignore_eos = true,
                                       .templated = true,
                                       .tokenize_forms = chat_tokenize_forms,
                                       .make_body_frame = make_body_frame,
                                       .read_event = read_event};

}  // namespace driftless
