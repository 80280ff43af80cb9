/// Probes and findings: what a preflight asks in one prompt, what one answer says, what all of them
/// say together, and what people can do about it. Values and bytes only: nothing here asks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/inquiry.hpp"
#include "engine/prompt/word_table.hpp"
#include "engine/server/word_search.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/http/fields.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// ProbePrompts: prompts of a preflight, made of the words of one table. Each begins with the
/// opener, a word that is believed to be one token at the beginning of a prompt. Pure: asks
/// nothing. Owned by the preflight; the table outlives it.
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

// Probe: what the answer to one request for a few tokens says. Pure.

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
    std::string unread_member;   ///< that has text and that is unknown here
    bool has_end_mark = false;   ///< a stream that said that it was over
    bool counts_chunks = false;  ///< each chunk said how many tokens there were so far
    std::uint32_t chunks = 0;    ///< events that bear tokens
    std::uint32_t asked = 0;     ///< tokens that it was asked for; 0: no number was named
    bool is_cut = false;         ///< by a LengthWatch: more came than was asked for
    bool hung = false;  ///< it was sent, and a limit of time ended it before an answer was whole
    bool repeated = false;  ///< sent again, after a try that may have left the prompt in the cache
    bool headers_first = false;  ///< the head came in an earlier read than the body
    std::uint32_t receives = 0;  ///< that the body came in
    Duration took;               ///< from sent to answered
    /// Tokens of the answer: as counted, else at least one a chunk.
    std::int64_t made() const {
        return completion_tokens >= 0 ? completion_tokens : std::int64_t{chunks};
    }
    /// It has more tokens than were asked for.
    bool is_too_long() const { return asked > 0 && (is_cut || (ok && made() > asked)); }
};

/// Refusals of what is in a body. FastAPI's own are 422; vLLM makes them 400.
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

// Findings: what a preflight found out about a server, or why it failed. Values, written by the
// stages of the preflight and read by the run, its hints and run.json.

/// What was found. Unknown numbers are -1; words of the server are masked.
struct PreflightFindings {
    /// Enough words of the table count as one token each.
    bool has_words() const { return words == WordVerdict::exact || words == WordVerdict::reduced; }
    /// The longest prompt that fits, in tokens as the server counts: it leaves room for the
    /// shortest answer. INT64_MAX: not known.
    std::int64_t prompt_tokens_max() const;

    std::string model;
    std::vector<std::string> models;
    std::int64_t max_model_len = -1;     ///< prompt and answer together
    std::int64_t max_input_tokens = -1;  ///< the prompt alone
    Overhead overhead;
    std::string overhead_source;  ///< "tokenize", "usage", "flag", "none"
    bool split_known = false;     ///< of the overhead; else it is all in front
    std::string split_source;     ///< "tokenize", "chat_template", "model", "cached_tokens",
    ///< "bos", ..
    std::int64_t server_block = -1;        ///< tokens of the server's cache blocks
    std::string server_block_source;       ///< "metrics", "cached_tokens"; empty: not known
    std::optional<TokenizeForm> tokenize;  ///< how the server's endpoint understood us
    Overhead tokenize_overhead;            ///< the tokens around a text, as that endpoint counts
    bool has_usage = false;                ///< prompts are counted
    bool sent_usage = false;               ///< some answer had one, with counts in it or without
    bool has_completion_tokens = false;    ///< answers are
    bool has_cached_tokens = false;  ///< some answer reported them, if only of a prompt sent again
    bool has_token_ids = false;      ///< answers hold the ids of their tokens
    /// Some stream said that it was over; nothing where none was read.
    std::optional<bool> has_end_mark;
    bool ignore_eos = true;             ///< false: the server refused it, rows go without
    bool stream_options = true;         ///< the same of these
    std::string unread_member;          ///< of a chat's delta: it has text, and it is not read
    std::string length_member;          ///< what bounds the answers; empty: the dialect's own
    bool tried_both_lengths = false;    ///< the server was asked with either name of it
    std::uint32_t least_answer = 1;     ///< tokens of the shortest answer that may be asked for
    std::int64_t length_asked = -1;     ///< tokens of an answer of some tokens
    std::int64_t length_made = -1;      ///< that it had, by usage; else by chunks, if too many
    bool length_cut = false;            ///< .. at least: it was not read to its end
    std::int64_t stream_chunks = -1;    ///< of an answer of some tokens
    std::int64_t stream_receives = -1;  ///< that it came in
    bool counts_chunks = false;         ///< each chunk said how many tokens there were so far
    bool headers_before_token = false;  ///< the head came in an earlier read than the first event
    WordVerdict words = WordVerdict::not_asked;
    std::int64_t words_asked = -1;    ///< all words, in the first order
    std::int64_t words_counted = -1;  ///< prompt_tokens - H
    std::uint32_t word_questions = 0;
    std::vector<std::uint32_t> dropped;      ///< indices into the table
    std::vector<std::string> dropped_words;  ///< the same, spelled
    /// Indices of the words that were found to be one token at the beginning of a prompt; empty
    /// where the table's openers hold.
    std::vector<std::uint32_t> first_words;
    std::uint32_t first_words_asked = 0;
    std::uint32_t joins = 0;         ///< neighbours that were seen to become one token
    std::int64_t probe_ns = -1;      ///< request of one word: sent to answer complete
    std::uint32_t requests = 0;      ///< sent
    std::string server;              ///< Server header
    std::string owned_by;            ///< of the model: "vllm", "sglang", "llamacpp"
    KeepAliveLimits keep_alive;      ///< Keep-Alive header
    std::vector<std::string> notes;  ///< one line each, for people
};

/// Why a preflight failed, in one line for people: what was asked, what came back, the remedy.
struct PreflightFailure {
    Error error;     ///< of the transport; `doing` empty where the server answered
    int status = 0;  ///< of the answer; 0: none
    std::string text;
};

// Hints: what people can do about what a server says or lacks: the flag that it was started
// without, and the likely remedy of a refusal.
//
// Words only: it asks nothing and decides nothing. Flags are those of the servers' own help
// (wire-formats.md, section 1).

/// The first `shown` names and how many there are beside them: "a, b, and 3 more".
std::string list_first(const std::vector<std::string>& names, std::size_t shown);

/// One line for each thing that records will lack because of how the server was started; its kind
/// is what it says of itself (`owned_by` of its model, else its Server header).
/// Where the API, or the template of one, has no place for a number, that is said instead.
/// `sets_lengths`: prompts are made to lengths; recorded text is sent as it is.
std::vector<std::string> hints_for(const PreflightFindings& found, const Dialect& dialect,
                                   bool sets_lengths = true);

/// What the server says of itself, lower case: the owner of its model and its Server header; the
/// header alone where the owner cannot be true.
std::string kind_of(const PreflightFindings& found);

/// What was asked and refused, in the server's words.
struct Refusal {
    int status = 0;
    std::string_view message;
    std::string_view location;         ///< where a redirect leads
    std::string_view path;             ///< that was asked, behind the one of `--url`: "/v1/models"
    std::string_view kind = {};        ///< what the server says of itself: owner and Server header
    std::string_view model = {};       ///< that was asked for
    const Dialect* dialect = nullptr;  ///< that was spoken; null: none
    bool ids = false;                  ///< the prompt was an array of token ids
    Unreadable unreadable = Unreadable::no;  ///< the answer was whole, and cannot be read
};

/// What may fix a refusal, as a clause; empty where its status and words tell nothing. `models`:
/// those that the server lists.
std::string remedy_for(const Refusal& refusal, const std::vector<std::string>& models);

}  // namespace driftless
