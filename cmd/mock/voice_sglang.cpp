// SGLang's /generate: every event repeats text and ids so far, unless it is incremental.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_ids(std::string& out, std::uint32_t first, std::uint32_t end) {
    out += R"("output_ids":[)";
    for (std::uint32_t token = first; token < end; ++token) {
        append_number(out, 1000 + token);
        out += token + 1 < end ? "," : "";
    }
    out += ']';
}

void append_event(std::string& out, const AnswerFacts& facts, std::string_view text,
                  std::uint32_t first, std::uint32_t end, bool last) {
    out += R"({"text":")";
    out += text;
    out += "\",";
    append_ids(out, first, end);
    out += R"(,"meta_info":{"id":")";
    append_json_escaped(out, facts.request_id);
    out += R"(","finish_reason":)";
    if (last) {
        out += R"({"type":"length","length":)";
        append_number(out, facts.output_tokens);
        out += '}';
    } else {
        out += "null";
    }
    out += R"(,"prompt_tokens":)";
    append_number(out, facts.prompt_tokens);
    out += R"(,"completion_tokens":)";
    append_number(out, end);
    if (facts.cached_known) {
        out += R"(,"cached_tokens":)";
        append_number(out, facts.cached_tokens);
    }
    out += "}}";
}

void append_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += "data: ";
    if (facts.incremental) {
        append_event(out, facts, piece.words, piece.first, piece.made(), piece.last);
    } else {
        append_event(out, facts, piece.so_far, 0, piece.made(), piece.last);
    }
    out += "\n\n";
}

void append_end(std::string& out, const AnswerFacts&) {
    out += "data: [DONE]\n\n";
}

void append_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_event(out, facts, words, 0, facts.output_tokens, true);
}

void append_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").begin_object();
    json.key("message").string(refusal.message).end_object().end_object();
}

}  // namespace

const Voice sglang_voice{
    .api = Api::sglang,
    .path = "/generate",
    .asked = {.text = "text",
              .ids = "input_ids",
              .nest = "sampling_params",
              .length = "max_new_tokens"},
    .keeps_text = true,
    .tokens = append_tokens,
    .end = append_end,
    .broken = "data: {\"text\":\n\n",
    .error = "data: {\"error\":{\"message\":\"Internal server error\"}}\n\ndata: [DONE]\n\n",
    .body = append_body,
    .refusal = append_refusal};

}  // namespace driftless::mock
