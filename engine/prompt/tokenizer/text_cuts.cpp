#include "engine/prompt/tokenizer/text_cuts.hpp"

#include "engine/prompt/tokenizer/text.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void TextCutter::next_chunk(std::string_view text) {
    chunk_left_ = text.size();
    if (cuts_.every == 0 || text.size() <= cuts_.every) {
        return;  // not more code points than bytes
    }
    std::size_t at = 0;
    for (std::size_t count = 0; count < cuts_.every && at < text.size(); ++count) {
        at += first_code_point(text.substr(at)).bytes;
    }
    chunk_left_ = at;
}

std::size_t TextCutter::next(std::string_view text) {
    if (chunk_left_ == 0) {
        next_chunk(text);
    }
    std::size_t end = chunk_left_;
    if (cuts_.run_of != 0 && chunk_left_ > cuts_.run_of) {
        std::size_t run = 0;
        bool was_blank = false;
        for (std::size_t at = 0; at < chunk_left_;) {
            const CodePoint point = first_code_point(text.substr(at));
            const bool blank = is_white_space(point.value);
            run = blank == was_blank ? run + 1 : 1;
            was_blank = blank;
            if (run > cuts_.run_of) {
                end = at;
                break;
            }
            at += point.bytes;
        }
    }
    CHECK(end <= chunk_left_ && (end > 0 || text.empty()));
    chunk_left_ -= end;
    return end;
}

}  // namespace driftless
