// OpenAI's Responses, as vLLM, SGLang and llama.cpp serve them, too. What an event is is in its
// `type`; up to six come before the first token, and the last one holds the whole response.
#include <algorithm>
#include <iterator>

#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view aliases[] = {"responses"};

static constexpr BodyShape shape{"input", "\"", "\"", "max_output_tokens", ""};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    return make_frame(spec, shape, flat_members(spec));
}

/// The first text of each kind in the output of a whole response.
static void read_output(const JsonValue& output, EventReading& reading) {
    for (JsonValue item = output.first(); item.present(); item = item.next()) {
        const bool reasons = text_of(item.find("type")) == "reasoning";
        const std::string_view said = text_of(item.find("content").at(0).find("text"));
        const std::string_view text =
            said.empty() ? text_of(item.find("summary").at(0).find("text")) : said;
        std::string_view& into = reasons ? reading.reasoning : reading.content;
        into = into.empty() ? text : into;
    }
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
}

/// What a response says of itself when it is over: why (else what its event is called), and its
/// usage, which may be beside it.
static void read_ending(const JsonValue& response, const JsonValue& beside, std::string_view called,
                        EventReading& reading) {
    const std::string_view reason = text_of(response.find("incomplete_details").find("reason"));
    const std::string_view status = text_of(response.find("status"));
    reading.response_id = text_of(response.find("id"));
    reading.finish_reason = !reason.empty() ? reason : !status.empty() ? status : called;
    reading.error_message = text_of(response.find("error").find("message"));
    const JsonValue inside = response.find("usage");
    const JsonValue usage = inside.is(JsonType::object) ? inside : beside;
    if (usage.is(JsonType::object)) {
        read_usage(usage, reading);
    }
}

/// The events that end a stream; what they are called behind the prefix is why.
static constexpr std::string_view prefix = "response.";
static constexpr std::string_view ends[] = {"response.completed", "response.incomplete",
                                            "response.failed", "response.cancelled"};

/// The deltas that bear tokens, by the end of their type's name.
static void read_delta(std::string_view type, const JsonValue& delta, EventReading& reading) {
    constexpr std::string_view tool_deltas[] = {"call_arguments.delta", "call_input.delta",
                                                "call_code.delta"};
    const std::string_view text =
        text_of(delta.is(JsonType::object) ? delta.find("text") : delta);  // some send a part
    if (type == "response.output_text.delta" || type == "response.refusal.delta") {
        reading.content = text;
    } else if (type.starts_with("response.reasoning") && type.ends_with(".delta")) {
        reading.reasoning = text;
    } else if (std::ranges::any_of(tool_deltas,
                                   [type](std::string_view end) { return type.ends_with(end); })) {
        reading.tool_text = text;
    } else {
        reading.kind = EventReading::Kind::ignored;
        reading.unread_member = has_text(delta) ? type : std::string_view{};
    }
    reading.token_bearing =
        !reading.content.empty() || !reading.reasoning.empty() || !reading.tool_text.empty();
}

static void read_event(const JsonValue& root, EventReading& reading) {
    const std::string_view type = text_of(root.find("type"));
    const JsonValue response = root.find("response");
    if (type == "error") {
        const std::string_view message = text_of(root.find("message"));
        reading.kind = EventReading::Kind::error;
        reading.error_message = message.empty() ? type : message;
    } else if (type == "response.created") {
        reading.response_id = text_of(response.find("id"));
    } else if (const auto* end = std::find(std::begin(ends), std::end(ends), type);
               end != std::end(ends)) {
        read_ending(response, root.find("usage"), end->substr(prefix.size()), reading);
    } else if (text_of(root.find("object")) == "response") {
        read_output(root.find("output"), reading);
        read_ending(root, JsonValue(), "completed", reading);
    } else {
        read_delta(type, root.find("delta"), reading);
    }
}

const Dialect openai_responses_dialect{.api = Api::openai_responses,
                                       .name = "openai-responses",
                                       .aliases = aliases,
                                       .help = "/v1/responses",
                                       .default_path = "/v1/responses",
                                       .templated = true,
                                       .tokenize_forms = chat_tokenize_forms,
                                       .make_body_frame = make_body_frame,
                                       .read_event = read_event};

}  // namespace driftless
