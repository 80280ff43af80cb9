// Ollama's /api/generate: a line of JSON each, streamed unless that is refused. It reports no
// cache.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_event(std::string& out, const AnswerFacts& facts, std::string_view words, bool last) {
    out += R"({"model":")";
    append_json_escaped(out, facts.model);
    out += R"(","created_at":"2026-01-01T00:00:00Z","response":")";
    out += words;
    out +=
        last ? R"(","done":true,"done_reason":"length","prompt_eval_count":)" : R"(","done":false)";
    if (last) {
        append_number(out, facts.prompt_tokens);
        out += R"(,"eval_count":)";
        append_number(out, facts.output_tokens);
    }
    out += '}';
}

void append_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append_event(out, facts, piece.words, false);
    out += '\n';
}

void append_end(std::string& out, const AnswerFacts& facts) {
    append_event(out, facts, "", true);
    out += '\n';
}

void append_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_event(out, facts, words, true);
}

void append_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").string(refusal.message).end_object();
}

}  // namespace

const Voice ollama_voice{.api = Api::ollama,
                         .path = "/api/generate",
                         .asked = {.text = "prompt",
                                   .nest = "options",
                                   .length = "num_predict",
                                   .streams = AskedShape::Streams::unless_refused},
                         .content_type = "application/x-ndjson",
                         .tokens = append_tokens,
                         .end = append_end,
                         .broken = "{\"response\":\n",
                         .error = "{\"error\":\"Internal server error\"}\n",
                         .body = append_body,
                         .refusal = append_refusal};

}  // namespace driftless::mock
