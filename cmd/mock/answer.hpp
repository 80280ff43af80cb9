/// AnswerText: the bytes of one answer, shaped as vLLM sends them.
///
/// What stays the same from chunk to chunk is made once, when the answer begins; a chunk is then
/// six copies and no formatting but two numbers. Stream pieces come as HTTP chunks, one per event.
/// Reused from answer to answer; it knows nothing of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/api/dialect.hpp"

namespace driftless::mock {

/// What an answer says about itself.
struct AnswerFacts {
    Api api = Api::openai_chat;
    bool stream = true;
    std::string_view request_id;  ///< its JSON id is "chatcmpl-" or "cmpl-" and this
    std::string_view model;
    std::int64_t created_s = 0;  ///< Unix time
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;
    bool cached_known = true;  ///< false: prompt_tokens_details is null
    std::uint32_t output_tokens = 1;
    std::uint32_t reasoning_tokens = 0;  ///< of these, the first; chat only
    bool include_usage = false;
    bool continuous_usage = false;
    std::uint64_t seed = 0;  ///< decides the words
};

class AnswerText {
  public:
    void begin(const AnswerFacts& facts);

    // A stream: role (chat), tokens in order, end.
    void append_role(std::string& out);
    /// The chunk that carries tokens [first, first + count); with the last one goes the finish.
    /// Never crosses from reasoning to content: see `tokens_until_turn`.
    void append_tokens(std::string& out, std::uint32_t first, std::uint32_t count);
    /// Usage where asked for, [DONE], and the chunk that ends the body.
    void append_end(std::string& out);

    /// Tokens from `first` on that may share a chunk.
    std::uint32_t tokens_until_turn(std::uint32_t first) const;

    // What goes wrong.
    void append_broken_event(std::string& out);
    /// An error object as an event, [DONE], and the end of the body.
    void append_error_end(std::string& out);

    /// The body of an answer that was not streamed, whole.
    void append_body(std::string& out);

  private:
    void append_words(std::string& out, std::uint32_t first, std::uint32_t count) const;
    void append_usage(std::string& out, std::uint32_t completion_tokens) const;
    void append_full_usage(std::string& out) const;

    AnswerFacts facts_;         ///< its views are not kept: id and model stand in `opening_`
    std::string opening_;       ///< data: {"id":..,"object":..,"created":..,"model":..,
    std::string before_words_;  ///< the same up to the opening quote of content or text
    std::string before_reasoning_;
    std::string event_;  ///< scratch
    std::string words_;  ///< scratch
};

}  // namespace driftless::mock
