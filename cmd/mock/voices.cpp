/// The voices of all APIs but OpenAI's chat and completions, one section each: Anthropic,
/// Responses, llama.cpp, Ollama, SGLang, TGI, Triton.

#include "cmd/mock/voice.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

// Anthropic's Messages: events of many types, and input tokens without those of the cache.

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

void append_anthropic_open(std::string& out, const AnswerFacts& facts) {
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

void append_anthropic_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    out += "event: content_block_delta\n";
    out += R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")";
    out += piece.words;
    out += "\"}}\n\n";
}

void append_anthropic_end(std::string& out, const AnswerFacts& facts) {
    out += "event: content_block_stop\n";
    out += R"(data: {"type":"content_block_stop","index":0})";
    out += "\n\nevent: message_delta\n";
    out += R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},)";
    out += R"("usage":{"output_tokens":)";
    append_number(out, facts.output_tokens);
    out += "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
}

void append_anthropic_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += '{';
    append_message(out, facts);
    out += R"("content":[{"type":"text","text":")";
    out += words;
    out += R"("}],"stop_reason":"max_tokens",)";
    append_input(out, facts);
    append_number(out, facts.output_tokens);
    out += "}}";
}

void append_anthropic_refusal(std::string& out, const Refusal& refusal) {
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
    .open = append_anthropic_open,
    .tokens = append_anthropic_tokens,
    .end = append_anthropic_end,
    .broken = "event: content_block_delta\ndata: {\"type\":\n\n",
    .error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","
        "\"message\":\"Internal server error\"}}\n\n",
    .body = append_anthropic_body,
    .refusal = append_anthropic_refusal};

// OpenAI's Responses: events before the first token, deltas, and the whole response at the end.

namespace {

/// An event up to the members behind its type.
void begin_event(std::string& out, std::string_view type) {
    out += "event: ";
    out += type;
    out += "\ndata: {\"type\":\"";
    out += type;
    out += "\",";
}

void append_response(std::string& out, const AnswerFacts& facts, std::string_view status) {
    out += R"("id":"resp_)";
    append_json_escaped(out, facts.request_id);
    out += R"(","object":"response","model":")";
    append_json_escaped(out, facts.model);
    out += R"(","error":null,"status":")";
    out += status;
    out += '"';
}

/// Why it ended and what it counted.
void append_ending(std::string& out, const AnswerFacts& facts) {
    out += R"(,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":)";
    append_number(out, facts.prompt_tokens);
    if (facts.cached_known) {
        out += R"(,"input_tokens_details":{"cached_tokens":)";
        append_number(out, facts.cached_tokens);
        out += '}';
    }
    out += R"(,"output_tokens":)";
    append_number(out, facts.output_tokens);
    out += R"(,"total_tokens":)";
    append_number(out, std::int64_t{facts.prompt_tokens} + facts.output_tokens);
    out += '}';
}

void append_responses_open(std::string& out, const AnswerFacts& facts) {
    for (const std::string_view type : {"response.created", "response.in_progress"}) {
        begin_event(out, type);
        out += R"("response":{)";
        append_response(out, facts, "in_progress");
        out += "}}\n\n";
    }
    begin_event(out, "response.output_item.added");
    out += R"("output_index":0,"item":{"type":"message","content":[]}})";
    out += "\n\n";
}

void append_responses_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    begin_event(out, "response.output_text.delta");
    out += R"("item_id":"msg_0","output_index":0,"content_index":0,"delta":")";
    out += piece.words;
    out += "\"}\n\n";
}

void append_responses_end(std::string& out, const AnswerFacts& facts) {
    begin_event(out, "response.output_text.done");
    out += R"("item_id":"msg_0","text":"as above"})";
    out += "\n\n";
    begin_event(out, "response.incomplete");
    out += R"("response":{)";
    append_response(out, facts, "incomplete");
    append_ending(out, facts);
    out += "}}\n\n";
}

void append_responses_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += '{';
    append_response(out, facts, "incomplete");
    out += R"(,"output":[{"type":"message","role":"assistant","content":[)";
    out += R"({"type":"output_text","text":")";
    out += words;
    out += R"("}]}])";
    append_ending(out, facts);
    out += '}';
}

}  // namespace

const Voice responses_voice{.api = Api::openai_responses,
                            .path = "/v1/responses",
                            .asked = {.text = "input", .length = "max_output_tokens"},
                            .open = append_responses_open,
                            .tokens = append_responses_tokens,
                            .end = append_responses_end,
                            .broken = "event: response.output_text.delta\ndata: {\"type\":\n\n",
                            .error =
                                "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\","
                                "\"message\":\"Internal server error\"}\n\n",
                            .body = append_responses_body};

// llama.cpp's /completion. Field order as its server has it; the last event is far shorter than the
// real one, which repeats prompt and settings.

namespace {

void append_counts(std::string& out, const AnswerFacts& facts, std::uint32_t made) {
    out += R"(,"id_slot":0,"tokens_predicted":)";
    append_number(out, made);
    out += R"(,"tokens_evaluated":)";
    append_number(out, facts.prompt_tokens);
}

void append_llamacpp_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
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

void append_llamacpp_end(std::string& out, const AnswerFacts& facts) {
    out += "data: ";
    append_last(out, facts, "");
    out += "\n\n";
}

void append_llamacpp_refusal(std::string& out, const Refusal& refusal) {
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
    .tokens = append_llamacpp_tokens,
    .end = append_llamacpp_end,
    .broken = "data: {\"index\":0,\"content\":\n\n",
    .error =
        "data: {\"error\":{\"code\":500,\"message\":\"Internal server error\","
        "\"type\":\"server_error\"}}\n\n",
    .body = append_last,
    .refusal = append_llamacpp_refusal};

// Ollama's /api/generate: a line of JSON each, streamed unless that is refused. It reports no
// cache.

namespace {

void append_ollama_event(std::string& out, const AnswerFacts& facts, std::string_view words,
                         bool last) {
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

void append_ollama_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append_ollama_event(out, facts, piece.words, false);
    out += '\n';
}

void append_ollama_end(std::string& out, const AnswerFacts& facts) {
    append_ollama_event(out, facts, "", true);
    out += '\n';
}

void append_ollama_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_ollama_event(out, facts, words, true);
}

void append_ollama_refusal(std::string& out, const Refusal& refusal) {
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
                         .tokens = append_ollama_tokens,
                         .end = append_ollama_end,
                         .broken = "{\"response\":\n",
                         .error = "{\"error\":\"Internal server error\"}\n",
                         .body = append_ollama_body,
                         .refusal = append_ollama_refusal};

// SGLang's /generate: every event repeats text and ids so far, unless it is incremental.

namespace {

void append_ids(std::string& out, std::uint32_t first, std::uint32_t end) {
    out += R"("output_ids":[)";
    for (std::uint32_t token = first; token < end; ++token) {
        append_number(out, 1000 + token);
        out += token + 1 < end ? "," : "";
    }
    out += ']';
}

void append_sglang_event(std::string& out, const AnswerFacts& facts, std::string_view text,
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

void append_sglang_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += "data: ";
    if (facts.incremental) {
        append_sglang_event(out, facts, piece.words, piece.first, piece.made(), piece.last);
    } else {
        append_sglang_event(out, facts, piece.so_far, 0, piece.made(), piece.last);
    }
    out += "\n\n";
}

void append_sglang_end(std::string& out, const AnswerFacts&) {
    out += "data: [DONE]\n\n";
}

void append_sglang_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_sglang_event(out, facts, words, 0, facts.output_tokens, true);
}

void append_sglang_refusal(std::string& out, const Refusal& refusal) {
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
    .tokens = append_sglang_tokens,
    .end = append_sglang_end,
    .broken = "data: {\"text\":\n\n",
    .error = "data: {\"error\":{\"message\":\"Internal server error\"}}\n\ndata: [DONE]\n\n",
    .body = append_sglang_body,
    .refusal = append_sglang_refusal};

// TGI's /generate_stream, without a blank behind "data:", and its /generate.

namespace {

void append_tgi_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
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

void append_tgi_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    out += R"({"generated_text":")";
    out += words;
    out += R"(","details":{"finish_reason":"length","generated_tokens":)";
    append_number(out, facts.output_tokens);
    out += R"(,"seed":null,"prefill":[],"tokens":[]}})";
}

void append_tgi_refusal(std::string& out, const Refusal& refusal) {
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
    .tokens = append_tgi_tokens,
    .broken = "data:{\"index\":\n\n",
    .error = "data:{\"error\":\"Internal server error\",\"error_type\":\"generation\"}\n\n",
    .body = append_tgi_body,
    .refusal = append_tgi_refusal};

const Voice tgi_whole_voice{.api = Api::tgi,
                            .path = "/generate",
                            .asked = {.text = "inputs",
                                      .nest = "parameters",
                                      .length = "max_new_tokens",
                                      .streams = AskedShape::Streams::never},
                            .count_field = "x-prompt-tokens",
                            .tokens = append_tgi_tokens,
                            .body = append_tgi_body,
                            .refusal = append_tgi_refusal};

// Triton's generate extension. It counts nothing.

namespace {

void append_triton_body(std::string& out, const AnswerFacts&, std::string_view words) {
    out += R"({"model_name":"ensemble","model_version":"1","text_output":")";
    out += words;
    out += "\"}";
}

void append_triton_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    out += "data: ";
    append_triton_body(out, facts, piece.words);
    out += "\n\n";
}

void append_triton_refusal(std::string& out, const Refusal& refusal) {
    JsonWriter json(out);
    json.begin_object().key("error").string(refusal.message).end_object();
}

}  // namespace

const Voice triton_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate_stream",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::always},
    .content_type = "text/event-stream",
    .tokens = append_triton_tokens,
    .broken = "data: {\"text_output\":\n\n",
    .error = "data: {\"error\":\"Internal server error\"}\n\n",
    .body = append_triton_body,
    .refusal = append_triton_refusal};

const Voice triton_whole_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::never},
    .tokens = append_triton_tokens,
    .body = append_triton_body,
    .refusal = append_triton_refusal};

}  // namespace driftless::mock
