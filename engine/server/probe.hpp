/// ProbePrompts: prompts of a preflight, made of the words of one table. Each begins with the
/// opener, a word that is believed to be one token at the beginning of a prompt. Pure: asks
/// nothing. Owned by the preflight; the table outlives it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/inquiry.hpp"
#include "engine/prompt/word_table.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

class ProbePrompts {
  public:
    explicit ProbePrompts(const WordTable& words) : words_(words) {}

    /// Index of the word that opens prompts; the first of the table until another is set.
    std::uint32_t opener() const { return opener_; }
    void open_with(std::uint32_t word) { opener_ = word; }

    /// The opener, then these words, by their indices.
    std::string prompt_of(std::span<const std::uint32_t> words) const;
    /// The opener alone.
    std::string one_word() const { return std::string(words_.word(opener_)); }
    /// Indices of the table's words without these, which are in ascending order.
    std::vector<std::uint32_t> words_without(std::span<const std::uint32_t> dropped) const;

  private:
    const WordTable& words_;
    std::uint32_t opener_ = 0;
};

// Probe: what the answer to one request for one token says, read whole. Pure.

/// Why a whole answer of status 200 cannot be read as the rows' will be.
enum class Unreadable : std::uint8_t {
    no,
    encoded,       ///< compressed
    not_a_stream,  ///< a whole answer of this API, and a stream was asked for
    not_whole,     ///< a stream, and a whole answer was asked for
    foreign,       ///< of another type than was asked for, or not of this API: a web page
};

/// Numbers are -1 where the server does not say them.
struct Probe {
    bool ok = false;
    int status = 0;       ///< 0: no answer
    std::string message;  ///< what went wrong, in the server's words where it has any, unmasked
    std::int64_t prompt_tokens = -1;
    std::int64_t completion_tokens = -1;
    std::int64_t cached_tokens = -1;
    Unreadable unreadable = Unreadable::no;
    bool has_usage = false;      ///< some event had one, with counts in it or without
    bool has_token_ids = false;  ///< of the tokens that it made
    std::string unread_member;   ///< that has text and that nobody here knows
    bool has_end_mark = false;   ///< a stream that said that it was over
    bool counts_chunks = false;  ///< each chunk said how many tokens there were so far
    std::uint32_t chunks = 0;    ///< events that bear tokens
    std::uint32_t asked = 0;     ///< tokens that it was asked for; 0: no number was named
    bool is_cut = false;         ///< by a LengthWatch: more came than was asked for
    /// Tokens of the answer: as counted, else at least one a chunk.
    std::int64_t made() const {
        return completion_tokens >= 0 ? completion_tokens : std::int64_t{chunks};
    }
    /// It has more tokens than were asked for.
    bool is_too_long() const { return asked > 0 && (is_cut || (ok && made() > asked)); }
};

/// Refusals of what stands in a body. FastAPI's own are 422; vLLM makes them 400.
inline bool refuses_body(const Probe& probe) {
    return probe.status == 400 || probe.status == 422;
}

/// The server's words, else its status.
std::string reason_of(const Probe& refused);

/// "1 token", "16 tokens".
std::string tokens_text(std::int64_t tokens);

/// A stream of events, or one JSON text (`stream` false, and errors).
Probe read_probe(const Dialect& dialect, bool stream, const Reply& reply);

/// LengthWatch: reads a stream as it comes, until it has clearly more tokens than were asked for: a
/// server that does not know the name of the length may answer until its context is full.
class LengthWatch {
  public:
    /// From here on, answers of this API that should have so many tokens; 0: any number.
    BodyWatch begin(const Dialect& dialect, std::uint32_t asked);

    /// Chunks past what was asked that are still read: of some servers a token has several.
    static constexpr std::uint32_t chunks_past = 16;

  private:
    static bool is_enough(void* owner, std::string_view body, std::size_t shown);
    bool take(std::string_view body, std::size_t shown);

    const Dialect* dialect_ = nullptr;
    std::uint32_t asked_ = 0;
    std::uint32_t chunks_ = 0;
    std::size_t read_ = 0;  ///< bytes of the body
    JsonDocument document_;
    std::string joined_;
};

/// A context in tokens; -1 where it is absent, negative, or more than any prompt can be.
std::int64_t context_of(const JsonValue& value);

/// The context that an info page tells, in tokens: TGI's /info (`max_total_tokens`), llama.cpp's
/// /props (`default_generation_settings.n_ctx`, that of one slot). -1 where it does not.
std::int64_t read_context(std::string_view body);

/// The tokens of a cache block, as a page of metrics tells them (vLLM and what speaks like it,
/// SGLang, Dynamo's frontend); -1 where it does not.
std::int64_t read_cache_block(std::string_view page);

/// Whether a body is a list of models without a model in it.
bool lists_no_model(JsonDocument& document, std::string_view body);

}  // namespace driftless
