#include "cmd/mock/voice.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/core/hash.hpp"

namespace driftless::mock {

static constexpr std::uint32_t word_kinds = 1000;
namespace {

struct Word {
    char bytes[5];  ///< " w0" to " w999"
    std::uint8_t size;
};

}  // namespace

static constexpr std::array<Word, word_kinds> make_words() {
    std::array<Word, word_kinds> words{};
    for (std::uint32_t i = 0; i < word_kinds; ++i) {
        Word& word = words[i];
        const unsigned digits = i < 10 ? 1 : i < 100 ? 2 : 3;
        word.bytes[0] = ' ';
        word.bytes[1] = 'w';
        for (std::uint32_t d = 0, rest = i; d < digits; ++d, rest /= 10) {
            word.bytes[1 + digits - d] = static_cast<char>('0' + rest % 10);
        }
        word.size = static_cast<std::uint8_t>(2 + digits);
    }
    return words;
}
static constexpr std::array<Word, word_kinds> words_table = make_words();

static constexpr std::string_view chat_after =
    R"("},"logprobs":null,"finish_reason":null,"token_ids":null}])";
static constexpr std::string_view chat_after_last =
    R"("},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}])";
static constexpr std::string_view text_after =
    R"(","logprobs":null,"finish_reason":null,"stop_reason":null}])";
static constexpr std::string_view text_after_last =
    R"(","logprobs":null,"finish_reason":"length","stop_reason":null}])";
static constexpr std::string_view event_end = "}\n\n";
static constexpr std::string_view last_chunk = "0\r\n\r\n";
static constexpr std::string_view done_and_end = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

/// The chunk-size line (RFC 9112, 7.1).
void append_chunk_size(std::string& out, std::size_t bytes) {
    char digits[20];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, bytes, 16).ptr);
    out += "\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
    append_chunk_size(out, bytes.size());
    out += bytes;
    out += "\r\n";
}

void AnswerText::begin(const Voice& voice, const AnswerFacts& facts) {
    voice_ = &voice;
    facts_ = facts;
    id_ = facts.request_id;
    model_ = facts.model;
    facts_.request_id = id_;
    facts_.model = model_;
    so_far_.clear();
    const bool reasons = voice.is_chat;
    facts_.reasoning_tokens = reasons ? std::min(facts.reasoning_tokens, facts.output_tokens) : 0;
    if (voice.tokens == nullptr) {
        begin_vllm();
    }
}

void AnswerText::begin_vllm() {
    const bool chat = voice_->is_chat;
    opening_.clear();
    append(opening_, facts_.stream ? R"(data: {"id":")" : R"({"id":")",
           chat ? "chatcmpl-" : "cmpl-", Escaped{id_}, R"(","object":")",
           !chat           ? "text_completion"
           : facts_.stream ? "chat.completion.chunk"
                           : "chat.completion",
           R"(","created":)", facts_.created_s, R"(,"model":")", Escaped{model_}, R"(",)");
    before_words_ = opening_;
    before_words_ += chat ? R"("choices":[{"index":0,"delta":{"content":")"
                          : R"("choices":[{"index":0,"text":")";
    before_reasoning_ = opening_;
    before_reasoning_ += R"("choices":[{"index":0,"delta":{"reasoning":")";
}

void AnswerText::append_words(std::string& out, std::uint32_t first, std::uint32_t count) const {
    for (std::uint32_t i = first; i < first + count; ++i) {
        const Word& word = words_table[mix64(facts_.seed + golden_gamma * i) % word_kinds];
        out.append(word.bytes, word.size);
    }
}

void AnswerText::append_usage(std::string& out, std::uint32_t completion_tokens) const {
    append(out, R"("usage":{"prompt_tokens":)", facts_.prompt_tokens, R"(,"total_tokens":)",
           std::int64_t{facts_.prompt_tokens} + completion_tokens, R"(,"completion_tokens":)",
           completion_tokens);
}

void AnswerText::append_full_usage(std::string& out) const {
    append_usage(out, facts_.output_tokens);
    if (facts_.cached_known) {
        append(out, R"(,"prompt_tokens_details":{"cached_tokens":)", facts_.cached_tokens, "}");
    } else {
        append(out, R"(,"prompt_tokens_details":null)");
    }
    if (facts_.reasoning_tokens > 0) {
        append(out, R"(,"completion_tokens_details":{"reasoning_tokens":)", facts_.reasoning_tokens,
               "}");
    }
    out += '}';
}

void AnswerText::append_opening(std::string& out) {
    if (voice_->tokens != nullptr) {
        event_.clear();
        if (voice_->open != nullptr) {
            voice_->open(event_, facts_);
            append_chunk(out, event_);
        }
        return;
    }
    if (!voice_->is_chat) {
        return;
    }
    event_ = opening_;
    event_ += R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
              R"("logprobs":null,"finish_reason":null}],"prompt_token_ids":null)";
    if (facts_.continuous_usage) {
        event_ += ',';
        append_usage(event_, 0);
        event_ += '}';
    }
    event_ += event_end;
    append_chunk(out, event_);
}

void AnswerText::append_voice_tokens(std::string& out, std::uint32_t first, std::uint32_t count) {
    words_.clear();
    append_words(words_, first, count);
    if (voice_->keeps_text) {
        so_far_ += words_;
    }
    event_.clear();
    voice_->tokens(event_, facts_,
                   {first, count, words_, so_far_, first + count >= facts_.output_tokens});
    append_chunk(out, event_);
}

void AnswerText::append_tokens(std::string& out, std::uint32_t first, std::uint32_t count) {
    if (voice_->tokens != nullptr) {
        append_voice_tokens(out, first, count);
        return;
    }
    const bool chat = voice_->is_chat;
    const bool last = first + count >= facts_.output_tokens;
    const std::string& before = first < facts_.reasoning_tokens ? before_reasoning_ : before_words_;
    const std::string_view after =
        chat ? (last ? chat_after_last : chat_after) : (last ? text_after_last : text_after);
    words_.clear();
    append_words(words_, first, count);
    event_.clear();
    if (facts_.continuous_usage) {
        event_ += ',';
        append_usage(event_, first + count);
        event_ += '}';
    }
    append_chunk_size(
        out, before.size() + words_.size() + after.size() + event_.size() + event_end.size());
    append(out, before, words_, after, event_, event_end, "\r\n");
}

void AnswerText::append_end(std::string& out) {
    if (voice_->tokens != nullptr) {
        event_.clear();
        if (voice_->end != nullptr) {
            voice_->end(event_, facts_);
            append_chunk(out, event_);
        }
        out += last_chunk;
        return;
    }
    if (facts_.include_usage) {
        event_ = opening_;
        event_ += R"("choices":[],)";
        append_full_usage(event_);
        event_ += event_end;
        append_chunk(out, event_);
    }
    out += done_and_end;
}

std::string_view AnswerText::content(std::uint32_t made) {
    const std::uint32_t first = std::min(facts_.reasoning_tokens, made);
    words_.clear();
    append_words(words_, first, made - first);
    return words_;
}

std::uint32_t AnswerText::tokens_until_turn(std::uint32_t first) const {
    const std::uint32_t turn =
        first < facts_.reasoning_tokens ? facts_.reasoning_tokens : facts_.output_tokens;
    return turn - first;
}

void AnswerText::append_broken_event(std::string& out) {
    if (voice_->tokens != nullptr) {
        append_chunk(out, voice_->broken);
        return;
    }
    append_chunk(out, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\n\n");
}

void AnswerText::append_error_end(std::string& out) {
    if (voice_->tokens != nullptr) {
        append_chunk(out, voice_->error);
        out += last_chunk;
        return;
    }
    append_chunk(out,
                 "data: {\"error\":{\"message\":\"Internal server error\",\"type\":"
                 "\"InternalServerError\",\"param\":null,\"code\":500}}\n\n");
    out += done_and_end;
}

void AnswerText::append_body(std::string& out) {
    if (voice_->tokens != nullptr) {
        words_.clear();
        append_words(words_, 0, facts_.output_tokens);
        voice_->body(out, facts_, words_);
        return;
    }
    const bool chat = voice_->is_chat;
    event_ = opening_;
    if (chat) {
        event_ += R"("choices":[{"index":0,"message":{"role":"assistant","reasoning":)";
        if (facts_.reasoning_tokens > 0) {
            event_ += '"';
            append_words(event_, 0, facts_.reasoning_tokens);
            event_ += '"';
        } else {
            event_ += "null";
        }
        event_ += R"(,"content":")";
    } else {
        event_ += R"("choices":[{"index":0,"text":")";
    }
    append_words(event_, facts_.reasoning_tokens, facts_.output_tokens - facts_.reasoning_tokens);
    event_ += chat ? R"(","tool_calls":[]},)" : R"(",)";
    event_ += R"("logprobs":null,"finish_reason":"length","stop_reason":null}],)";
    append_full_usage(event_);
    event_ += "}";
    out += event_;
}

}  // namespace driftless::mock
