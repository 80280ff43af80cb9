/// RequestReader: the request side of a MockConnection, from bytes to what is asked.
///
/// It parses heads and says where each goes; the body is parted into its prompt, which is counted,
/// and its frame, which is read when it is complete. Answers nothing. One per connection, reused
/// from request to request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/mock/asked.hpp"
#include "cmd/mock/body_reader.hpp"
#include "cmd/mock/core_options.hpp"
#include "cmd/mock/history.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "cmd/mock/voice.hpp"
#include "proto/http/request_parser.hpp"

namespace driftless::mock {

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
