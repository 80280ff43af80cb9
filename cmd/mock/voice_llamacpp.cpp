// llama.cpp's /completion. Field order as its server has it; the last event is far shorter than the
// real one, which repeats prompt and settings.
#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

namespace {

void append_counts(std::string& out, const AnswerFacts& facts, std::uint32_t made) {
    out += R"(,"id_slot":0,"tokens_predicted":)";
    append_number(out, made);
    out += R"(,"tokens_evaluated":)";
    append_number(out, facts.prompt_tokens);
}

void append_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += R"(data: {"index":0,"content":")";
    out += piece.words;
    out += R"(","tokens":[)";
    append_number(out, 1000 + piece.made());
    out += R"(],"stop":false)";
    append_counts(out, facts, piece.made());
    out += "}\n\n";
}

/// What both the last event and a whole answer say.
void append_last(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += R"({"index":0,"content":")";
    out += words;
    out += R"(","tokens":[],"stop":true,"model":")";
    append_json_escaped(out, facts.model);
    out += R"(","stop_type":"limit","stopping_word":"")";
    append_counts(out, facts, facts.output_tokens);
    out += R"(,"tokens_cached":)";
    append_number(out, std::int64_t{facts.prompt_tokens} + facts.output_tokens - 1);
    out += R"(,"timings":{)";
    if (facts.cached_known) {
        out += R"("cache_n":)";
        append_number(out, facts.cached_tokens);
        out += ',';
    }
    out += R"("prompt_n":)";
    append_number(out, std::int64_t{facts.prompt_tokens} - facts.cached_tokens);
    out += R"(,"predicted_n":)";
    append_number(out, facts.output_tokens);
    out += "}}";
}

void append_end(std::string& out, const AnswerFacts& facts) {
    out += "data: ";
    append_last(out, facts, "");
    out += "\n\n";
}

void append_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").begin_object();
    json.key("code").integer(refusal.status).key("message").string(refusal.message);
    json.key("type").string("invalid_request_error").end_object().end_object();
}

}  // namespace

const Voice llamacpp_voice{
    .api = Api::llamacpp,
    .path = "/completion",
    .asked = {.text = "prompt", .ids = "prompt", .length = "n_predict"},
    .content_type = "text/event-stream",
    .tokens = append_tokens,
    .end = append_end,
    .broken = "data: {\"index\":0,\"content\":\n\n",
    .error =
        "data: {\"error\":{\"code\":500,\"message\":\"Internal server error\","
        "\"type\":\"server_error\"}}\n\n",
    .body = append_last,
    .refusal = append_refusal};

}  // namespace driftless::mock
