// Anthropic's Messages, as vLLM and llama.cpp serve them, too. What an event is is in its
// `type`; its input tokens leave out those that the cache held.
#include <algorithm>

#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view aliases[] = {"messages"};

static constexpr BodyShape shape{"messages", R"([{"role":"user","content":")", R"("}])",
                                 "max_tokens", ""};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    return make_frame(spec, shape, flat_members(spec));
}

/// The prompt's tokens: those computed, read from the cache, and written to it.
static void read_prompt_usage(const JsonValue& usage, EventReading& reading) {
    const std::int64_t computed = count_of(usage.find("input_tokens"));
    if (computed < 0) {
        return;
    }
    reading.has_usage = true;
    reading.cached_tokens = count_of(usage.find("cache_read_input_tokens"));
    const std::int64_t written = count_of(usage.find("cache_creation_input_tokens"));
    const std::int64_t sum = computed + std::max(reading.cached_tokens, std::int64_t{0}) +
                             std::max(written, std::int64_t{0});
    reading.prompt_tokens = sum > tokens_reported_max ? -1 : sum;
}

static void read_delta(const JsonValue& delta, EventReading& reading) {
    const std::string_view type = text_of(delta.find("type"));
    if (type == "text_delta") {
        reading.content = text_of(delta.find("text"));
    } else if (type == "thinking_delta") {
        reading.reasoning = text_of(delta.find("thinking"));
    } else if (type == "input_json_delta") {
        reading.tool_text = text_of(delta.find("partial_json"));
    } else if (has_text(delta)) {
        reading.unread_member = type;
    }
    reading.token_bearing =
        !reading.content.empty() || !reading.reasoning.empty() || !reading.tool_text.empty();
}

static void read_last_usage(const JsonValue& usage, EventReading& reading) {
    read_prompt_usage(usage, reading);
    reading.completion_tokens = count_of(usage.find("output_tokens"));
    reading.has_usage = reading.has_usage || reading.completion_tokens >= 0;
}

/// A block that begins with text, as some servers send it.
static void read_block(const JsonValue& block, EventReading& reading) {
    reading.content = text_of(block.find("text"));
    reading.reasoning = text_of(block.find("thinking"));
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
    reading.kind = reading.token_bearing ? EventReading::Kind::delta : EventReading::Kind::ignored;
}

/// An answer that was not streamed: the text of its first block of each kind.
static void read_message(const JsonValue& message, EventReading& reading) {
    reading.response_id = text_of(message.find("id"));
    const JsonValue content = message.find("content");
    for (JsonValue block = content.first(); block.present(); block = block.next()) {
        const std::string_view text = text_of(block.find("text"));
        const std::string_view thinking = text_of(block.find("thinking"));
        reading.content = reading.content.empty() ? text : reading.content;
        reading.reasoning = reading.reasoning.empty() ? thinking : reading.reasoning;
    }
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
    reading.finish_reason = text_of(message.find("stop_reason"));
    read_last_usage(message.find("usage"), reading);
}

static void read_event(const JsonValue& root, EventReading& reading) {
    const std::string_view type = text_of(root.find("type"));
    if (type == "message_start") {
        reading.response_id = text_of(root.find("message").find("id"));
        read_prompt_usage(root.find("message").find("usage"), reading);
    } else if (type == "content_block_start") {
        read_block(root.find("content_block"), reading);
    } else if (type == "content_block_delta") {
        read_delta(root.find("delta"), reading);
    } else if (type == "message_delta") {
        reading.finish_reason = text_of(root.find("delta").find("stop_reason"));
        read_last_usage(root.find("usage"), reading);
    } else if (type == "message_stop") {
        reading.kind = EventReading::Kind::done;
        read_last_usage(root.find("usage"), reading);
    } else if (type == "message") {
        read_message(root, reading);
    } else {
        reading.kind = EventReading::Kind::ignored;  // pings, and ends of blocks
    }
}

const Dialect anthropic_dialect{.api = Api::anthropic,
                                .name = "anthropic",
                                .aliases = aliases,
                                .help = "/v1/messages",
                                .default_path = "/v1/messages",
                                .templated = true,
                                .key_header = "x-api-key",
                                .fixed_header = {"anthropic-version", "2023-06-01"},
                                .tokenize_forms = chat_tokenize_forms,
                                .make_body_frame = make_body_frame,
                                .read_event = read_event};

}  // namespace driftless
