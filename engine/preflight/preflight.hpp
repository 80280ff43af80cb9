/// Preflight: what is asked of the server before time 0, and what it answered.
///
/// In this order: `GET /v1/models`; two words to the tokenize endpoint, in each way that servers
/// have it, until one is understood; one request of one word; all words, twice, in different
/// orders; where that is not known of the table, words one by one at the beginning of a prompt; one
/// answer of some tokens; prompts that share their first words, where nothing else tells the
/// overhead's split or the size of the server's cache blocks. It learns the model, the overhead H
/// of template and BOS and its split, and which words (or token ids) count as one token: what does
/// not is searched for and dropped. Its requests are named `<run>-preflight-N` and never recorded
/// as rows. One to `/v1/models` or to the rows' API that is answered 429 or 5xx, or breaks off, is
/// sent again a little later.
///
/// The server's usage is the truth that rows are held against; the tokenize endpoint is believed as
/// far as it agrees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/preflight/asker.hpp"
#include "engine/preflight/chat_template.hpp"
#include "engine/preflight/first_words.hpp"
#include "engine/preflight/probe.hpp"
#include "engine/preflight/split_search.hpp"
#include "engine/preflight/word_search.hpp"
#include "engine/prompt/builder.hpp"
#include "engine/prompt/vocab.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

struct PreflightPlan {
    AskedServer server;
    std::string api_path;  ///< request target of the rows
    const Dialect* dialect = nullptr;
    /// `model` may be empty: the first of /v1/models. `length_member` may be: where the dialect's
    /// own is not obeyed, the other one is tried.
    BodySpec body;
    const WordTable* words = nullptr;
    /// [words] the ids that the tokenizer of the table has for them behind a blank; empty: unknown.
    std::span<const std::uint32_t> word_ids;
    /// What the chat template beside the tokenizer may add; empty: not known.
    std::span<const TemplateSplit> template_splits;
    std::optional<Overhead> overhead;    ///< `--overhead`: goes before what is measured
    bool server_block_known = false;     ///< `--server-block`: it is not searched for
    std::optional<Duration> wait_ready;  ///< keep asking for the models this long
};

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
    bool has_cached_tokens = false;   ///< some answer reported them, if only of a prompt sent again
    bool has_token_ids = false;       ///< answers hold the ids of their tokens
    bool ignore_eos = true;           ///< false: the server refused it, rows go without
    bool stream_options = true;       ///< the same of these
    std::string unread_member;        ///< of a chat's delta: it has text, and nobody reads it
    std::string length_member;        ///< what bounds the answers; empty: the dialect's own
    std::uint32_t least_answer = 1;   ///< tokens of the shortest answer that may be asked for
    std::int64_t length_asked = -1;   ///< tokens of an answer of some tokens
    std::int64_t length_made = -1;    ///< that it had, by usage; else by chunks, if too many
    std::int64_t stream_chunks = -1;  ///< of an answer of some tokens
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

class Preflight {
  public:
    /// Its requests are numbered from `first`.
    Preflight(Loop& loop, const PreflightPlan& plan, std::uint32_t first = 1);

    /// Turns the loop until all is asked. False: `failure` says why; `cancelled` where the user
    /// stopped it.
    bool run();

    /// As rows name it; `findings().model` is the same, masked.
    const std::string& model() const { return plan_.body.model; }
    const PreflightFindings& findings() const { return findings_; }
    const PreflightFailure& failure() const { return failure_; }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return asker_.frames(); }
    ReadyList& ready() { return asker_.ready(); }

  private:
    // preflight.cpp: the order of questions, one word, an answer of some tokens.
    Task<void> all();
    Task<void> find_tokenize();
    Task<bool> try_tokenize(TokenizeForm form);
    Task<Probe> probe(const std::string& prompt, std::uint32_t tokens = 0);
    Task<bool> probe_one_word();
    Task<void> ask_again();
    Task<void> ask_for_stream();
    bool fail(const std::string& what);
    bool fail_content();
    std::string location() const;
    bool fail_answer(const std::string& what, const Probe& probe);

    // preflight_models.cpp: the models, and the pages that tell their limits.
    Task<bool> fetch(const std::string& method, const std::string& path, const std::string& body);
    Task<void> pause(Duration length);
    Duration busy_pause(int times);
    bool broke(bool answered) const;
    void note_broken(bool answered);
    Instant now() const { return asker_.loop().driver().now(); }
    bool patient() const;
    Task<bool> ask_models();
    Task<void> ask_info();
    Task<void> ask_metrics();
    void read_models();
    bool fail_models();

    // preflight_body.cpp: what servers refuse of a body.
    Task<void> leave_out_refused(const std::string& word, Probe& one);

    // preflight_length.cpp: what servers take of a body, and whether they obey its length.
    Task<Probe> probe_as_taken(const std::string& word);
    Task<void> try_other_length(const std::string& word, Probe& one);
    void note_length();
    void note_chunks();

    // preflight_split.cpp: the split of the overhead and the server's blocks, by cached tokens.
    Task<void> find_split();
    Task<void> find_block();
    Task<bool> search_cache(std::uint32_t words, SplitSearch& search);
    Task<bool> ask_cache(std::uint32_t words, SplitSearch& search, bool repeats_first);
    std::uint32_t words_to_share() const;
    void assume_bos();
    std::string shared_prompt(std::uint32_t shared, std::uint32_t words);

    // preflight_words.cpp: the overhead, and all words.
    Task<bool> settle_overhead(std::int64_t counted);
    Task<bool> agree_on_overhead(std::int64_t counted);
    Task<bool> probe_words();
    Task<bool> count_words(std::span<const std::uint32_t> words, bool whole, std::int64_t& tokens);
    Task<bool> go_without_tokenize(bool counted, const std::string& prompt, std::int64_t& tokens);
    Task<bool> count_by_usage(const std::string& prompt, std::int64_t& tokens);
    void take_overhead(std::int64_t around);
    bool split_by_template(std::uint32_t tokens);
    std::uint32_t words_at_once() const;
    std::string prompt_of(std::span<const std::uint32_t> words) const;
    void note_words();

    // preflight_first_words.cpp: the first word of a prompt.
    Task<bool> probe_first_words();
    Task<bool> count_first(std::uint32_t word, std::int64_t& tokens);
    bool first_words_proven() const;
    void note_ids(std::span<const std::uint32_t> words, std::span<const std::int64_t> ids);

    PreflightPlan plan_;
    Asker asker_;
    PreflightFindings findings_;
    PreflightFailure failure_;
    std::optional<WordSearch> search_;
    std::uint32_t opener_ = 0;        ///< a word that costs one token in front of others
    std::string last_prompt_;         ///< of many words, as sent
    std::int64_t around_ = 0;         ///< tokens around a prompt, by usage
    Instant begun_;                   ///< `--wait-ready` counts from here
    std::uint32_t probe_tokens_ = 1;  ///< that a probe asks for, where its answer matters to nobody
    std::uint32_t probe_seed_ = 0;    ///< of the words that set a shared prompt apart
    std::string first_model_;         ///< of the list, unmasked
    bool busy_noted_ = false;
    bool broken_noted_ = false;
    bool tokenize_believed_ = false;  ///< it has agreed with usage so far
    bool ids_agree_ = false;          ///< /tokenize made the ids of the table's own tokenizer
    bool ids_differ_ = false;         ///< once, or they could not be compared
    bool done_ = false;
    bool ok_ = false;
};

}  // namespace driftless
