/// read_logs: logs of an LLM service in, one Trace out that holds none of their text.
///
/// Files, folders and standard input are read one after the other, in constant memory beyond the
/// rows and their block ids. It prints nothing itself, and no error quotes what a log says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

}  // namespace driftless
