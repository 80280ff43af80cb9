#include "cmd/mock/voice.hpp"

#include <array>
#include <charconv>

namespace driftless::mock {

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
    for (const Voice* voice : voices) {
        if (voice->path == path) {
            return voice;
        }
    }
    return nullptr;
}

void append_number(std::string& out, std::int64_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace driftless::mock
