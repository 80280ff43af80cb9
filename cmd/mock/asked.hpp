/// What a request asks for, read from the frame of its body and checked as vLLM checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/mock/prompt_count.hpp"
#include "proto/api/dialect.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

/// The values of a completion request that change its answer; all others are accepted and ignored.
struct Asked {
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    std::uint32_t output_tokens = 16;  ///< vLLM's default for completions
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
};

/// Reads a completion request. `count` holds what the BodyReader saw of the prompt; what it left in
/// the frame is added here, and the prompt is finished. Nothing means that `asked` is filled.
std::optional<Refusal> read_asked(JsonDocument& document, std::string_view frame, Api api,
                                  const ModelLimits& model, PromptCount& count, Asked& asked);

/// Whose /tokenize is played: what it takes differs from server to server.
enum class TokenizeForm : std::uint8_t {
    vllm,       ///< `messages` or `prompt`
    sglang,     ///< `prompt`, as it stands; at /v1/tokenize, too
    llama_cpp,  ///< `content`, as it stands; /apply-template makes text of `messages`
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
