/// Findings: what a preflight found out about a server, or why it failed. Values, written by the
/// parts of the preflight and read by the run, its hints and run.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/server/probe.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/result.hpp"
#include "proto/http/fields.hpp"
#include "proto/run/overhead.hpp"

namespace driftless {

/// What came of the words.
enum class WordVerdict : std::uint8_t {
    not_asked,
    exact,  ///< these are results of the search: word_search.hpp
    reduced,
    too_few,
    joins,
    varies,
    no_first,  ///< no two words are one token each at the beginning of a prompt
};
/// "not_asked", "exact", "reduced", ...
const char* name_of(WordVerdict verdict);

/// What was found. Unknown numbers are -1; words of the server are masked.
struct PreflightFindings {
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
    std::string unread_member;          ///< of a chat's delta: it has text, and nobody reads it
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
