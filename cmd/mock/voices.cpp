/// The voices of all APIs, one section each: Anthropic, Responses, llama.cpp, Ollama, SGLang, TGI,
/// Triton, OpenAI's chat and completions.

#include <algorithm>
#include <array>

#include "cmd/mock/voice.hpp"

namespace driftless::mock {
/// {"error": ".."}, Ollama's and Triton's.
static void append_plain_refusal(std::string& out, const Refusal& refusal) {
    append(out, R"({"error":")", Escaped{refusal.message}, "\"}");
}

// Anthropic's Messages: events of many types, and input tokens without those of the cache.

static void append_input(std::string& out, const AnswerFacts& facts) {
    const std::uint32_t cached = facts.cached_known ? facts.cached_tokens : 0;
    append(out, R"("usage":{"input_tokens":)", std::int64_t{facts.prompt_tokens} - cached);
    if (facts.cached_known) {
        append(out, R"(,"cache_read_input_tokens":)", cached);
    }
    append(out, R"(,"output_tokens":)");
}

static void append_message(std::string& out, const AnswerFacts& facts) {
    append(out, R"("id":"msg_)", Escaped{facts.request_id},
           R"(","type":"message","role":"assistant","model":")", Escaped{facts.model},
           R"(","stop_sequence":null,)");
}

static void append_anthropic_open(std::string& out, const AnswerFacts& facts) {
    append(out, "event: message_start\n", R"(data: {"type":"message_start","message":{)");
    append_message(out, facts);
    append(out, R"("content":[],"stop_reason":null,)");
    append_input(out, facts);
    append(out, "0}}}\n\nevent: content_block_start\n",
           R"(data: {"type":"content_block_start","index":0,)",
           R"("content_block":{"type":"text","text":""}})",
           "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n");
}

static void append_anthropic_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    append(out, "event: content_block_delta\ndata: ", R"({"type":"content_block_delta","index":0,)",
           R"("delta":{"type":"text_delta","text":")", piece.words, "\"}}\n\n");
}

static void append_anthropic_end(std::string& out, const AnswerFacts& facts) {
    append(out, "event: content_block_stop\n", R"(data: {"type":"content_block_stop","index":0})",
           "\n\nevent: message_delta\n",
           R"(data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},)",
           R"("usage":{"output_tokens":)", facts.output_tokens,
           "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

static void append_anthropic_body(std::string& out, const AnswerFacts& facts,
                                  std::string_view words) {
    append(out, "{");
    append_message(out, facts);
    append(out, R"("content":[{"type":"text","text":")", words,
           R"("}],"stop_reason":"max_tokens",)");
    append_input(out, facts);
    append(out, facts.output_tokens, "}}");
}

static void append_anthropic_refusal(std::string& out, const Refusal& refusal) {
    append(out, R"({"type":"error","error":{"type":"invalid_request_error","message":")",
           Escaped{refusal.message}, "\"}}");
}

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

/// An event up to the members behind its type.
static void begin_event(std::string& out, std::string_view type) {
    append(out, "event: ", type, "\ndata: {\"type\":\"", type, "\",");
}

static void append_response(std::string& out, const AnswerFacts& facts, std::string_view status) {
    append(out, R"("id":"resp_)", Escaped{facts.request_id}, R"(","object":"response","model":")",
           Escaped{facts.model}, R"(","error":null,"status":")", status, "\"");
}

/// Why it ended and what it counted.
static void append_ending(std::string& out, const AnswerFacts& facts) {
    append(out, R"(,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":)",
           facts.prompt_tokens);
    if (facts.cached_known) {
        append(out, R"(,"input_tokens_details":{"cached_tokens":)", facts.cached_tokens, "}");
    }
    append(out, R"(,"output_tokens":)", facts.output_tokens, R"(,"total_tokens":)",
           std::int64_t{facts.prompt_tokens} + facts.output_tokens, "}");
}

static void append_responses_open(std::string& out, const AnswerFacts& facts) {
    for (const std::string_view type : {"response.created", "response.in_progress"}) {
        begin_event(out, type);
        append(out, R"("response":{)");
        append_response(out, facts, "in_progress");
        append(out, "}}\n\n");
    }
    begin_event(out, "response.output_item.added");
    append(out, R"("output_index":0,"item":{"type":"message","content":[]}})", "\n\n");
}

static void append_responses_tokens(std::string& out, const AnswerFacts&, const Piece& piece) {
    begin_event(out, "response.output_text.delta");
    append(out, R"("item_id":"msg_0","output_index":0,"content_index":0,"delta":")", piece.words,
           "\"}\n\n");
}

static void append_responses_end(std::string& out, const AnswerFacts& facts) {
    begin_event(out, "response.output_text.done");
    append(out, R"("item_id":"msg_0","text":"as above"})", "\n\n");
    begin_event(out, "response.incomplete");
    append(out, R"("response":{)");
    append_response(out, facts, "incomplete");
    append_ending(out, facts);
    append(out, "}}\n\n");
}

static void append_responses_body(std::string& out, const AnswerFacts& facts,
                                  std::string_view words) {
    append(out, "{");
    append_response(out, facts, "incomplete");
    append(out, R"(,"output":[{"type":"message","role":"assistant","content":[)",
           R"({"type":"output_text","text":")", words, R"("}]}])");
    append_ending(out, facts);
    append(out, "}");
}

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

static void append_counts(std::string& out, const AnswerFacts& facts, std::uint32_t made) {
    append(out, R"(,"id_slot":0,"tokens_predicted":)", made, R"(,"tokens_evaluated":)",
           facts.prompt_tokens);
}

static void append_llamacpp_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append(out, R"(data: {"index":0,"content":")", piece.words, R"(","tokens":[)",
           1000 + piece.made(), R"(],"stop":false)");
    append_counts(out, facts, piece.made());
    append(out, "}\n\n");
}

/// What both the last event and a whole answer say.
static void append_last(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append(out, R"({"index":0,"content":")", words, R"(","tokens":[],"stop":true,"model":")",
           Escaped{facts.model}, R"(","stop_type":"limit","stopping_word":"")");
    append_counts(out, facts, facts.output_tokens);
    append(out, R"(,"tokens_cached":)", std::int64_t{facts.prompt_tokens} + facts.output_tokens - 1,
           R"(,"timings":{)");
    if (facts.cached_known) {
        append(out, R"("cache_n":)", facts.cached_tokens, ",");
    }
    append(out, R"("prompt_n":)", std::int64_t{facts.prompt_tokens} - facts.cached_tokens,
           R"(,"predicted_n":)", facts.output_tokens, "}}");
}

static void append_llamacpp_end(std::string& out, const AnswerFacts& facts) {
    append(out, "data: ");
    append_last(out, facts, "");
    append(out, "\n\n");
}

static void append_llamacpp_refusal(std::string& out, const Refusal& refusal) {
    append(out, R"({"error":{"code":)", refusal.status, R"(,"message":")", Escaped{refusal.message},
           R"(","type":"invalid_request_error"}})");
}

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

static void append_ollama_event(std::string& out, const AnswerFacts& facts, std::string_view words,
                                bool last) {
    append(out, R"({"model":")", Escaped{facts.model},
           R"(","created_at":"2026-01-01T00:00:00Z","response":")", words, R"(","done":)");
    if (last) {
        append(out, R"(true,"done_reason":"length","prompt_eval_count":)", facts.prompt_tokens,
               R"(,"eval_count":)", facts.output_tokens, "}");
    } else {
        append(out, "false}");
    }
}

static void append_ollama_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append_ollama_event(out, facts, piece.words, false);
    out += '\n';
}

static void append_ollama_end(std::string& out, const AnswerFacts& facts) {
    append_ollama_event(out, facts, "", true);
    out += '\n';
}

static void append_ollama_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_ollama_event(out, facts, words, true);
}

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
                         .refusal = append_plain_refusal};

// SGLang's /generate: every event repeats text and ids so far, unless it is incremental.

static void append_sglang_event(std::string& out, const AnswerFacts& facts, std::string_view text,
                                std::uint32_t first, std::uint32_t end, bool last) {
    append(out, R"({"text":")", text, R"(","output_ids":[)");
    for (std::uint32_t token = first; token < end; ++token) {
        append(out, 1000 + token, token + 1 < end ? "," : "");
    }
    append(out, R"(],"meta_info":{"id":")", Escaped{facts.request_id}, R"(","finish_reason":)");
    if (last) {
        append(out, R"({"type":"length","length":)", facts.output_tokens, "}");
    } else {
        append(out, "null");
    }
    append(out, R"(,"prompt_tokens":)", facts.prompt_tokens, R"(,"completion_tokens":)", end);
    if (facts.cached_known) {
        append(out, R"(,"cached_tokens":)", facts.cached_tokens);
    }
    append(out, "}}");
}

static void append_sglang_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append(out, "data: ");
    append_sglang_event(out, facts, facts.incremental ? piece.words : piece.so_far,
                        facts.incremental ? piece.first : 0, piece.made(), piece.last);
    append(out, "\n\n");
}

static void append_sglang_end(std::string& out, const AnswerFacts&) {
    append(out, "data: [DONE]\n\n");
}

static void append_sglang_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append_sglang_event(out, facts, words, 0, facts.output_tokens, true);
}

static void append_sglang_refusal(std::string& out, const Refusal& refusal) {
    append(out, R"({"error":{"message":")", Escaped{refusal.message}, "\"}}");
}

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

static void append_tgi_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append(out, R"(data:{"index":)", piece.made(), R"(,"token":{"id":)", 1000 + piece.made(),
           R"(,"text":")", piece.words, R"(","logprob":-0.1,"special":false},"generated_text":)");
    if (piece.last) {
        append(out, R"("as above","details":{"finish_reason":"length","generated_tokens":)",
               facts.output_tokens, R"(,"seed":null,"input_length":)", facts.prompt_tokens,
               "}}\n\n");
    } else {
        append(out, R"(null,"details":null})", "\n\n");
    }
}

static void append_tgi_body(std::string& out, const AnswerFacts& facts, std::string_view words) {
    append(out, R"({"generated_text":")", words,
           R"(","details":{"finish_reason":"length","generated_tokens":)", facts.output_tokens,
           R"(,"seed":null,"prefill":[],"tokens":[]}})");
}

static void append_tgi_refusal(std::string& out, const Refusal& refusal) {
    append(out, R"({"error":")", Escaped{refusal.message}, R"(","error_type":")",
           refusal.status == 429 ? "overloaded" : "validation", "\"}");
}

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

static void append_triton_body(std::string& out, const AnswerFacts&, std::string_view words) {
    append(out, R"({"model_name":"ensemble","model_version":"1","text_output":")", words, "\"}");
}

static void append_triton_tokens(std::string& out, const AnswerFacts& facts, const Piece& piece) {
    append(out, "data: ");
    append_triton_body(out, facts, piece.words);
    append(out, "\n\n");
}

const Voice triton_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate_stream",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::always},
    .content_type = "text/event-stream",
    .tokens = append_triton_tokens,
    .broken = "data: {\"text_output\":\n\n",
    .error = "data: {\"error\":\"Internal server error\"}\n\n",
    .body = append_triton_body,
    .refusal = append_plain_refusal};

const Voice triton_whole_voice{
    .api = Api::triton,
    .path = "/v2/models/ensemble/generate",
    .asked = {.text = "text_input", .length = "max_tokens", .streams = AskedShape::Streams::never},
    .tokens = append_triton_tokens,
    .body = append_triton_body,
    .refusal = append_plain_refusal};

// vLLM's events are the mock's first language: AnswerText writes them itself.
const Voice chat_voice{.api = Api::openai_chat,
                       .is_chat = true,
                       .path = "/v1/chat/completions",
                       .asked = {.messages = true,
                                 .length = "max_completion_tokens",
                                 .length_too = "max_tokens",
                                 .has_options = true}};
const Voice completions_voice{
    .api = Api::openai_completions,
    .path = "/v1/completions",
    .asked = {.text = "prompt", .ids = "prompt", .length = "max_tokens", .has_options = true}};

const Voice* find_voice(std::string_view path, bool is_tgi) {
    static constexpr std::array voices{&chat_voice,      &completions_voice, &responses_voice,
                                       &anthropic_voice, &llamacpp_voice,    &tgi_voice,
                                       &ollama_voice,    &triton_voice,      &triton_whole_voice};
    if (path == sglang_voice.path) {
        return is_tgi ? &tgi_whole_voice : &sglang_voice;
    }
    const auto found = std::ranges::find(voices, path, &Voice::path);
    return found == voices.end() ? nullptr : *found;
}

}  // namespace driftless::mock
