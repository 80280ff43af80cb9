/// The request side of a connection of the mock, from bytes to what is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/mock/engine_model.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/voice.hpp"
#include "proto/http/parsers.hpp"

namespace driftless::mock {

// BodyReader: parts a request body, as it arrives, into its prompt and its frame.
//
// The prompt (`prompt`, or `content` and `text` inside `messages`) goes to a PromptCount and is
// forgotten: bodies of many megabytes pass through without being held, and no long parse ever
// delays the tokens of other streams. The frame is everything else, a small JSON text with empty
// strings and arrays where the prompt stood; JsonDocument reads it when the body is complete.
//
// It follows strings, escapes and nesting, and leaves judging to the frame's parser: what it does
// not recognise (an escaped key, nested arrays) stays in the frame, where it can be read slowly.

/// Most bytes of a frame: generous for tools and schemas, small enough to be held 10,000 times.
inline constexpr std::size_t frame_bytes_max = std::size_t{256} * 1024;
/// Deepest nesting of a body: one bit each, and four times what requests use.
inline constexpr unsigned body_depth_max = 64;

/// Which members of the body hold the prompt.
struct PromptKeys {
    std::string_view text = {};  ///< a string at the top; empty: none
    std::string_view ids = {};   ///< an array of numbers at the top; empty: none
    bool messages = false;       ///< the strings inside `messages`
};

class BodyReader {
  public:
    /// `count` is filled while the body is read, and so is `history` from `messages`, where it is
    /// wanted. Both outlive the reading.
    void reset(PromptCount& count, PromptKeys keys, HistoryReader* history = nullptr);

    /// Takes the next bytes. False where the frame is too large or too deep; it stays false.
    bool feed(std::string_view bytes);

    const std::string& frame() const { return frame_; }

  private:
    enum class At : std::uint8_t {
        outside,     ///< between values
        key,         ///< inside a member's name
        string,      ///< inside a string that stays in the frame
        text,        ///< inside a string that is prompt
        array_head,  ///< after the bracket of an array that may be ids
        ids,         ///< inside an array of numbers that is prompt
        refused,
    };

    std::size_t step(std::string_view bytes);
    std::size_t outside(std::string_view bytes);
    std::size_t string(std::string_view bytes);
    std::size_t prompt_value(std::string_view bytes);
    void structural(char byte);
    void open(bool object);
    void close();
    void open_string();
    bool in_object() const { return (objects_ & 1) != 0; }
    bool is_prompt_text() const;
    bool is_prompt_array() const;
    void note_role();
    /// Inside `messages`, beside its messages.
    bool between_messages() const { return history_ != nullptr && in_messages_ && depth_ == 2; }

    PromptCount* count_ = nullptr;
    HistoryReader* history_ = nullptr;
    PromptKeys keys_;
    At at_ = At::outside;
    bool escaped_ = false;      ///< the next byte of a key or string follows a backslash
    bool after_colon_ = false;  ///< a member's value comes
    bool in_messages_ = false;
    unsigned depth_ = 0;
    std::uint64_t objects_ = 0;  ///< container kinds, innermost in bit 0: 1 is an object
    std::string frame_;
    std::string key_;  ///< the last member name read, as written
};

// RequestReader: the request side of a MockConnection, from bytes to what is asked.
//
// It parses heads and says where each goes; the body is parted into its prompt, which is counted,
// and its frame, which is read when it is complete. Answers nothing. One per connection, reused
// from request to request.

class MockCore;

/// Where a request goes.
enum class Route : std::uint8_t { generate, tokenize, apply_template, other };

class RequestReader {
  public:
    /// `core` outlives this.
    explicit RequestReader(MockCore& core) : core_(core) {}

    /// What `feed` found next.
    enum class Found : std::uint8_t {
        part,  ///< all bytes are taken, the request goes on
        head,  ///< the head is complete: its fields and the route are known
        done,  ///< the request is complete
        bad,   ///< not HTTP, or over a limit. Nothing can follow
    };
    /// Takes bytes off `bytes`, up to what was found.
    Found feed(std::string_view& bytes);
    /// Ready for the next request.
    void reset() { parser_.reset(); }

    const RequestParser& head() const { return parser_; }
    Route route() const { return route_; }
    /// Who answers; nullptr where the route is not `generate`.
    const Voice* voice() const { return voice_; }
    bool body_refused() const { return body_refused_; }

    /// Read a complete body as its route has it. Nothing: it is good, and what it asks for or its
    /// prompt is below; `escaped` is JSON text without its quotes.
    std::optional<Refusal> read_completion();
    std::optional<Refusal> read_tokenize();
    std::optional<Refusal> read_template(std::string& escaped);

    const Asked& asked() const { return asked_; }
    const PromptCount& prompt() const { return prompt_; }
    /// Names of the assistant's messages of a completion request, where histories are checked.
    std::span<const std::uint64_t> history() const { return history_.replies(); }

  private:
    void take_head();
    Route find_route(std::string_view path);
    TemplateTokens template_now();
    PromptKeys prompt_keys() const;

    MockCore& core_;
    RequestParser parser_;
    BodyReader body_;
    PromptCount prompt_;
    HistoryReader history_;
    Route route_ = Route::other;
    const Voice* voice_ = nullptr;
    bool body_refused_ = false;
    Asked asked_;
};

}  // namespace driftless::mock
