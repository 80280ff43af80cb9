/// What a request asks for, read from the frame of its body and checked as vLLM checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/mock/prompt_count.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

/// The values of a completion request that change its answer; all others are accepted and ignored.
struct Asked {
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    std::uint32_t output_tokens = 16;  ///< vLLM's default for completions
};

/// Where an API's requests say what they ask for.
struct AskedShape {
    std::string_view text = {};  ///< the member that holds the prompt as text; empty: none does
    std::string_view ids = {};   ///< the one that holds it as token ids
    bool messages = false;       ///< the prompt is the text of `messages`
    std::string_view nest = {};  ///< the member whose object holds the length; empty: the top
    std::string_view length = {};
    std::string_view length_too = {};  ///< its older name
    bool has_options = false;          ///< `stream_options`; elsewhere usage comes unasked
    enum class Streams : std::uint8_t { asked, unless_refused, always, never };
    Streams streams = Streams::asked;  ///< by `stream`, which may be true where absent; by path
};

/// A refusal, as it goes into an error body.
struct Refusal {
    int status = 400;
    const char* type = "BadRequestError";
    std::string message;
};

/// The limits of the pretended model.
struct ModelLimits {
    std::string name = "mock-model";
    std::uint32_t context_tokens = 1u << 20;  ///< --max-model-len: prompt and answer together
    std::string owned_by = "driftless-mock";  ///< in /v1/models: "vllm", "sglang"
    bool takes_ignore_eos = true;             ///< false: a 400, as OpenAI's own servers give
    bool knows_new_length = true;  ///< false: `max_completion_tokens` is ignored, as AIBrix's mock
};

/// Reads a completion request. `count` holds what the BodyReader saw of the prompt; what it left in
/// the frame is added here, and the prompt is finished. Nothing means that `asked` is filled.
std::optional<Refusal> read_asked(JsonDocument& document, std::string_view frame,
                                  const AskedShape& shape, const ModelLimits& model,
                                  PromptCount& count, Asked& asked);

/// Whose /tokenize is played: what it takes differs from server to server.
enum class TokenizeForm : std::uint8_t {
    vllm,       ///< `messages` or `prompt`
    sglang,     ///< `prompt`, as it stands; at /v1/tokenize, too
    llama_cpp,  ///< `content`, as it stands; /apply-template makes text of `messages`
    tgi,        ///< `inputs`; the model's limits are at /info
    none,       ///< no such page
};

/// The same for /tokenize, which asks for nothing else.
std::optional<Refusal> read_tokenize(JsonDocument& document, std::string_view frame,
                                     const ModelLimits& model, TokenizeForm form,
                                     PromptCount& count);

/// llama.cpp's /apply-template: the text of the messages, with one word for each token of the
/// template. JSON text without its quotes.
std::optional<Refusal> read_template(JsonDocument& document, std::string_view frame,
                                     const ModelLimits& model, TemplateTokens around,
                                     std::string& escaped);

}  // namespace driftless::mock
