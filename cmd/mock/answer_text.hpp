/// AnswerText: the bytes of one answer, shaped as vLLM sends them, or as another Voice does.
///
/// Of vLLM's, what stays the same from chunk to chunk is made once, when the answer begins; a chunk
/// is then six copies and no formatting but two numbers. Stream pieces come as HTTP chunks, one per
/// event.
/// Reused from answer to answer; it knows nothing of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/mock/voice.hpp"

namespace driftless::mock {

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
