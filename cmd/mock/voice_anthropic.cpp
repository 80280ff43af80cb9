// Anthropic's Messages: events of many types, and input tokens without those of the cache.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_input(std::string& out, const AnswerFacts& facts) {
    const std::uint32_t cached = facts.cached_known ? facts.cached_tokens : 0;
    out += R"("usage":{"input_tokens":)";
    append_number(out, std::int64_t{facts.prompt_tokens} - cached);
    if (facts.cached_known) {
        out += R"(,"cache_read_input_tokens":)";
        append_number(out, cached);
    }
    out += R"(,"output_tokens":)";
}

void append_message(std::string& out, const AnswerFacts& facts) {
    out += R"("id":"msg_)";
    append_json_escaped(out, facts.request_id);
    out += R"(","type":"message","role":"assistant","model":")";
    append_json_escaped(out, facts.model);
    out += R"(","stop_sequence":null,)";
}

void append_open(std::string& out, const AnswerFacts& facts) {
    out += R"(event: message_start)";
    out += "\n";
    out += R"(data: {"type":"message_start","message":{)";
    append_message(out, facts);
    out += R"("content":[],"stop_reason":null,)";
    append_input(out, facts);
    out += "0}}}\n\n";
    out += "event: content_block_start\n";
    out += R"(data: {"type":"content_block_start","index":0,)";
    out += R"("content_block":{"type":"text","text":""}})";
    out += "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n";
}

void append_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    out += "event: content_block_delta\n";
    out += R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")";
    out += piece.words;
    out += "\"}}\n\n";
}

void append_end(std::string& out, const AnswerFacts& facts) {
    out += "event: content_block_stop\n";
    out += R"(data: {"type":"content_block_stop","index":0})";
    out += "\n\nevent: message_delta\n";
    out += R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},)";
    out += R"("usage":{"output_tokens":)";
    append_number(out, facts.output_tokens);
    out += "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
}

void append_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += '{';
    append_message(out, facts);
    out += R"("content":[{"type":"text","text":")";
    out += words;
    out += R"("}],"stop_reason":"max_tokens",)";
    append_input(out, facts);
    append_number(out, facts.output_tokens);
    out += "}}";
}

void append_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("type").string("error").key("error").begin_object();
    json.key("type").string("invalid_request_error").key("message").string(refusal.message);
    json.end_object().end_object();
}

}  // namespace

const Voice anthropic_voice{
    .api = Api::anthropic,
    .path = "/v1/messages",
    .asked = {.messages = true, .length = "max_tokens"},
    .open = append_open,
    .tokens = append_tokens,
    .end = append_end,
    .broken = "event: content_block_delta\ndata: {\"type\":\n\n",
    .error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","
        "\"message\":\"Internal server error\"}}\n\n",
    .body = append_body,
    .refusal = append_refusal};

}  // namespace driftless::mock
