/// TokenizeForm: the ways in which servers take a text and say its tokens (wire-formats.md,
/// "tokenise"). A dialect lists those that its servers may have; engine/preflight asks.
#pragma once

#include <cstdint>

namespace driftless {

enum class TokenizeForm : std::uint8_t {
    messages,   ///< vLLM: /tokenize {messages}, through the chat template
    templated,  ///< llama.cpp: /apply-template {messages}, and its text to /tokenize {content}
    prompt,     ///< vLLM, SGLang: /tokenize {prompt}
    prompt_v1,  ///< SGLang: /v1/tokenize {prompt}
    content,    ///< llama.cpp: /tokenize {content}
    inputs,     ///< TGI: /tokenize {inputs}
};

/// Of APIs that several servers speak: with a chat template around the prompt, and without.
inline constexpr TokenizeForm chat_tokenize_forms[] = {
    TokenizeForm::messages, TokenizeForm::templated, TokenizeForm::prompt, TokenizeForm::prompt_v1,
    TokenizeForm::content};
inline constexpr TokenizeForm completion_tokenize_forms[] = {
    TokenizeForm::prompt, TokenizeForm::prompt_v1, TokenizeForm::content};

}  // namespace driftless
