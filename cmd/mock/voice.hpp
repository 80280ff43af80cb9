/// How the mock speaks one API, and the bytes of an answer in it.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/mock/pages.hpp"
#include "proto/api/dialect.hpp"
#include "proto/json/write.hpp"

namespace driftless::mock {

// Voice: how the mock speaks one API: where it listens, what it reads from a body, and the events
// that it writes. A table of plain functions (voices.cpp). The framing of
// HTTP and the pace are the same for all and not known here.

/// What an answer says about itself. Views live as long as the answer.
struct AnswerFacts {
    bool stream = true;
    std::string_view request_id;
    std::string_view model;
    std::int64_t created_s = 0;  ///< Unix time
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    bool cached_known = true;  ///< false: the server does not report them
    std::uint32_t output_tokens = 1;
    std::uint32_t reasoning_tokens = 0;  ///< of these, the first; chat only
    bool include_usage = false;
    bool continuous_usage = false;
    bool incremental = false;  ///< SGLang: events say only what is new
    std::uint64_t seed = 0;    ///< decides the words
};

/// The tokens of one event: [first, first + count) of the answer.
struct Piece {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::string_view words;   ///< of these tokens, each behind a blank
    std::string_view so_far;  ///< all words up to the last of them; only where `keeps_text`
    bool last = false;
    std::uint32_t made() const { return first + count; }
};

struct Voice {
    Api api = Api::openai_chat;
    bool is_chat = false;  ///< of the built-in events: those of a chat, which may reason
    std::string_view path = {};
    AskedShape asked = {};
    std::string_view content_type = "text/event-stream; charset=utf-8";
    bool keeps_text = false;            ///< events repeat what was said before
    std::string_view count_field = {};  ///< of a whole answer's head: tokens of the prompt

    // Each appends whole events, line ends included. nullptr: there is no such event, and for
    // `tokens` that AnswerText has them built in.
    void (*open)(std::string& out, const AnswerFacts& facts) = nullptr;
    void (*tokens)(std::string& out, const AnswerFacts& facts, const Piece& piece) = nullptr;
    void (*end)(std::string& out, const AnswerFacts& facts) = nullptr;
    /// An event that is broken JSON, and one that is an error.
    std::string_view broken = {};
    std::string_view error = {};
    /// The body of an answer that is not streamed.
    void (*body)(std::string& out, const AnswerFacts& facts, std::string_view words) = nullptr;
    /// The body of an error answer; nullptr: vLLM's.
    void (*refusal)(std::string& out, const Refusal& refusal) = nullptr;
};

/// Who answers POSTs of this path; nullptr: nobody. TGI and SGLang both have a /generate: `is_tgi`
/// says whose it is.
const Voice* find_voice(std::string_view path, bool is_tgi);

/// Text inside a JSON string.
struct Escaped {
    std::string_view text;
};

inline void append_part(std::string& out, std::string_view text) {
    out += text;
}
inline void append_part(std::string& out, const Escaped& part) {
    append_json_escaped(out, part.text);
}
template <std::integral Number>
void append_part(std::string& out, Number value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
/// Texts as they are, numbers as text, Escaped ones.
template <typename... Parts>
void append(std::string& out, const Parts&... parts) {
    (append_part(out, parts), ...);
}

/// AnswerText: the bytes of one answer, shaped as vLLM sends them, or as another Voice does.
///
/// Of vLLM's, what stays the same from chunk to chunk is made once, when the answer begins; a chunk
/// is then six copies and no formatting but two numbers. Stream pieces come as HTTP chunks, one per
/// event.
/// Reused from answer to answer; it knows nothing of time.
class AnswerText {
  public:
    void begin(const Voice& voice, const AnswerFacts& facts);

    // A stream: what opens it (a role in a chat), tokens in order, end.
    void append_opening(std::string& out);
    /// The chunk that carries tokens [first, first + count); with the last one goes the finish.
    /// Never crosses from reasoning to content: see `tokens_until_turn`.
    void append_tokens(std::string& out, std::uint32_t first, std::uint32_t count);
    /// Usage where asked for, the end marker, and the chunk that ends the body.
    void append_end(std::string& out);

    /// The first `made` tokens, as a client adds them to its history: without reasoning. Good until
    /// the next call of anything.
    std::string_view content(std::uint32_t made);

    /// Tokens from `first` on that may share a chunk.
    std::uint32_t tokens_until_turn(std::uint32_t first) const;

    // What goes wrong.
    void append_broken_event(std::string& out);
    /// An error object as an event, the end marker, and the end of the body.
    void append_error_end(std::string& out);

    /// The body of an answer that was not streamed, whole.
    void append_body(std::string& out);

  private:
    void begin_vllm();
    void append_voice_tokens(std::string& out, std::uint32_t first, std::uint32_t count);
    void append_words(std::string& out, std::uint32_t first, std::uint32_t count) const;
    void append_usage(std::string& out, std::uint32_t completion_tokens) const;
    void append_full_usage(std::string& out) const;

    const Voice* voice_ = nullptr;
    AnswerFacts facts_;  ///< its views are into the two below
    std::string id_;
    std::string model_;
    std::string so_far_;        ///< of a voice that repeats it
    std::string opening_;       ///< data: {"id":..,"object":..,"created":..,"model":..,
    std::string before_words_;  ///< the same up to the opening quote of content or text
    std::string before_reasoning_;
    std::string event_;  ///< scratch
    std::string words_;  ///< scratch
};

}  // namespace driftless::mock
