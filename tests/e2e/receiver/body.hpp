/// What a request body asks for, by the receiver's own reading of JSON.
#pragma once

#include <cstdint>
#include <string_view>

namespace receiver {

struct Asked {
    bool understood = false;  ///< a JSON object with a prompt
    bool is_chat = false;     ///< `messages` instead of `prompt`
    bool is_ids = false;      ///< the prompt is an array of numbers
    bool stream = false;
    bool ignore_eos = false;
    std::int64_t words = 0;    ///< blank-separated words, or array items
    std::int64_t tokens = 16;  ///< max_tokens or max_completion_tokens
};

Asked read_body(std::string_view body);

}  // namespace receiver
