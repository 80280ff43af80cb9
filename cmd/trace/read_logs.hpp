/// read_logs: logs of an LLM service in, one Trace out that holds none of their text.
///
/// Files, folders and standard input are read one after the other, in constant memory beyond the
/// rows and their block ids. It prints nothing itself, and no error quotes what a log says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/keyed_hash.hpp"
#include "engine/plan/trace_file.hpp"
#include "engine/prompt/bpe.hpp"
#include "engine/prompt/tokenizer.hpp"
#include "proto/trace/logs.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// As read_trace; the format is one of logs, and blocks have 16 tokens if nothing else is asked.
/// Lenient: calls without text or lengths are kept, and counted. `hash` makes the block ids: it
/// holds the secret.
bool read_logs(const TraceFiles& files, Tokenizer& tokenizer, KeyedHash& hash, Trace& out,
               InputErrors& errors, std::vector<std::string>& notes);

// Block ids of real prompts: a chain of keyed hashes over blocks of tokens.
//
// An id is the first 64 bits of HMAC(secret, value of the block before, tokens of this one), so
// equal ids mean equal prefixes under one secret, and ids under different secrets have nothing to
// do with each other. The chain goes on with all 256 bits: ids that collide (one chance in 10^7
// among a million blocks) do not make what follows collide. The last, partial block has an id,
// too. Owns nothing but scratch; the hash outlives it.

class PromptBlocks {
  public:
    /// `block_size` is at least 1.
    PromptBlocks(KeyedHash& hash, std::uint32_t block_size);

    /// Appends the ids of a prompt of `length` tokens, of which `tokens` are known. Where there are
    /// more, those beyond `length` are left out. Where there are fewer, the rest is unknown: it is
    /// the same only behind the same tokens in a prompt of the same length.
    void append(std::span<const TokenId> tokens, std::uint32_t length,
                std::vector<std::uint64_t>& ids);

  private:
    void add_u32(std::uint32_t value);

    KeyedHash& hash_;
    std::uint32_t block_size_;
    KeyedHash::Value first_;  ///< where every chain begins
    std::vector<unsigned char> bytes_;
};

// Rendering: the messages of a call as the token ids of one prompt.
//
// The template is plain, the same for every model: for each message its role, a newline, its text,
// a newline; then "assistant" and a newline, where the answer begins. A prompt that is one text is
// that text. It stands in for the server's chat template, which has other marks and a few more
// tokens a message: prefixes are shared where the server shares them, but for the few tokens
// around a border, and lengths come from the log's usage where it has some. Roles and texts are
// tokenized each by itself, so that a conversation that goes on begins with the same tokens.

/// Replaces `tokens` by those of the prompt; none where it has no text.
void render(std::span<const LogMessage> prompt, Tokenizer& tokenizer, std::vector<TokenId>& tokens);

// LogRows: calls of a log in, rows of a trace out.
//
// It counts tokens, makes block ids, leaves out what is no request of its own (failed calls,
// duplicates), and at the end sorts, numbers sessions and says who waits for whom. Of a call it
// keeps numbers only, and what `--keep` names: no text, name or id. Owned by read_logs.

/// How the log's usage compares with the tokens that we count in its text.
struct UsageComparison {
    std::uint64_t calls_compared = 0;  ///< calls with text and usage
    std::uint64_t calls_equal = 0;
    std::uint64_t calls_far = 0;  ///< more than a tenth and 16 tokens apart
    std::uint64_t usage_tokens = 0;
    std::uint64_t own_tokens = 0;
    std::uint64_t inputs_counted = 0;   ///< prompts without usage
    std::uint64_t outputs_counted = 0;  ///< answers without usage
};

class LogRows {
  public:
    LogRows(Tokenizer& tokenizer, KeyedHash& hash, std::uint32_t block_size, bool lenient)
        : tokenizer_(tokenizer), blocks_(hash, block_size), lenient_(lenient) {}

    /// Calls that follow come from this file.
    void begin_file(std::string_view name);
    /// Takes a call, or lists why it cannot be a row.
    void add(LogCall call, InputErrors& errors);
    /// After the last call: gives rows, ids, sessions, dependencies and counts to `trace`.
    void finish(Trace& trace);

    /// For people, a line each.
    std::vector<std::string> notes() const;

  private:
    struct Row {
        TraceRow row;  ///< `at_ns` since 1970, `index` as added, ids in `ids_`
        std::int64_t end_ns;
        std::uint64_t prompt;  ///< digest of session and prompt
    };

    bool is_duplicate(const LogCall& call);
    bool read_input(const LogCall& call, TraceRow& row, InputErrors& errors);
    bool read_output(const LogCall& call, TraceRow& row, InputErrors& errors);
    void compare(std::uint32_t usage, std::uint64_t own);
    void refuse(const LogCall& call, const char* field, const char* problem, const char* remedy,
                InputErrors& errors) const;
    void number_sessions(Trace& trace, const std::vector<Row>& rows) const;
    void count_retries();

    Tokenizer& tokenizer_;
    PromptBlocks blocks_;
    bool lenient_;
    std::string file_;
    std::int64_t previous_ns_ = 0;

    std::vector<Row> rows_;
    std::vector<std::uint64_t> ids_;
    std::vector<std::string> kept_;
    std::vector<TokenId> tokens_;
    std::unordered_map<std::string, std::uint32_t> sessions_;
    std::unordered_map<std::string, std::uint32_t> models_;
    std::unordered_set<std::uint64_t> seen_;                     ///< ids and times of calls
    std::unordered_map<std::uint64_t, std::int64_t> failed_ns_;  ///< [prompt] first failure
    UsageComparison usage_;
    std::uint64_t calls_failed_ = 0;
    std::uint64_t calls_empty_ = 0;  ///< without text and length
    std::uint64_t calls_retried_ = 0;
    std::uint64_t calls_duplicate_ = 0;
    std::uint64_t calls_whole_ = 0;  ///< not streamed
    std::uint64_t rows_unsorted_ = 0;
    std::uint64_t rows_uncovered_ = 0;
    std::uint64_t zero_outputs_ = 0;
    std::uint64_t ends_unknown_ = 0;
};

}  // namespace driftless
