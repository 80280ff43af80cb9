// TGI's /generate_stream, without a blank behind "data:", and its /generate.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += R"(data:{"index":)";
    append_number(out, piece.made());
    out += R"(,"token":{"id":)";
    append_number(out, 1000 + piece.made());
    out += R"(,"text":")";
    out += piece.words;
    out += R"(","logprob":-0.1,"special":false},"generated_text":)";
    if (piece.last) {
        out += R"("as above","details":{"finish_reason":"length","generated_tokens":)";
        append_number(out, facts.output_tokens);
        out += R"(,"seed":null,"input_length":)";
        append_number(out, facts.prompt_tokens);
        out += "}}\n\n";
    } else {
        out += R"(null,"details":null})";
        out += "\n\n";
    }
}

void append_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += R"({"generated_text":")";
    out += words;
    out += R"(","details":{"finish_reason":"length","generated_tokens":)";
    append_number(out, facts.output_tokens);
    out += R"(,"seed":null,"prefill":[],"tokens":[]}})";
}

void append_refusal(std::string& out, const Refusal& refusal) {
    const bool busy = refusal.status == 429;
    JsonWriter json(out);
    json.begin_object().key("error").string(refusal.message);
    json.key("error_type").string(busy ? "overloaded" : "validation").end_object();
}

}  // namespace

const Voice tgi_voice{
    .api = Api::tgi,
    .path = "/generate_stream",
    .asked = {.text = "inputs",
              .nest = "parameters",
              .length = "max_new_tokens",
              .streams = AskedShape::Streams::always},
    .content_type = "text/event-stream",
    .tokens = append_tokens,
    .broken = "data:{\"index\":\n\n",
    .error = "data:{\"error\":\"Internal server error\",\"error_type\":\"generation\"}\n\n",
    .body = append_body,
    .refusal = append_refusal};

const Voice tgi_whole_voice{.api = Api::tgi,
                            .path = "/generate",
                            .asked = {.text = "inputs",
                                      .nest = "parameters",
                                      .length = "max_new_tokens",
                                      .streams = AskedShape::Streams::never},
                            .count_field = "x-prompt-tokens",
                            .tokens = append_tokens,
                            .body = append_body,
                            .refusal = append_refusal};

}  // namespace driftless::mock
