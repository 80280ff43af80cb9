// Triton's generate extension. It counts nothing.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_body(std::string& out, const AnswerFacts&, std::string_view words) {
    out += R"({"model_name":"ensemble","model_version":"1","text_output":")";
    out += words;
    out += "\"}";
}

void append_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += "data: ";
    append_body(out, facts, piece.words);
    out += "\n\n";
}

void append_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").string(refusal.message).end_object();
}

}  // namespace

const Voice triton_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate_stream",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::always},
    .content_type = "text/event-stream",
    .tokens = append_tokens,
    .broken = "data: {\"text_output\":\n\n",
    .error = "data: {\"error\":\"Internal server error\"}\n\n",
    .body = append_body,
    .refusal = append_refusal};

const Voice triton_whole_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::never},
    .tokens = append_tokens,
    .body = append_body,
    .refusal = append_refusal};

}  // namespace driftless::mock
