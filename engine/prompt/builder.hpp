/// PromptBuilder: a row's prompt bytes from its block ids, at memory speed, in bounded slices.
///
/// The rule (design, section 3; token-exact.md 5-7): the prompt is `input_length` tokens, of which
/// the first `h_pre` and the last `h_post` are the server's own (template, BOS); block k of a row
/// lies at server tokens [k B, (k+1) B). What a block says depends on (seed, namespace, id) only,
/// never on position or neighbours; a partial block is the head of the full one. Tokens beyond the
/// ids come from (seed, row index) and are shared with nobody. A pass through the corpus, where it
/// is gone through again, has namespaces and own tokens of its own, but for blocks that all passes
/// are to share. A salt stands beside the seed
/// and sets every block of a run apart from those of all other runs. A row that has a recorded body
/// (`Trace::body_of`) is no prompt but that body, as it stands.
///
/// With a dataset, what has one key (a row's own tokens) is words that spell out the key, as many
/// pieces of the dataset's text as fit, from a seeded one on, and words again, at least one. Its
/// tokens are exact since pieces and words may stand in any order.
///
/// The builder refers to a trace, a word table and a corpus that outlive it; it owns the block
/// cache, whose size changes speed and never bytes. One thread. It never touches a file, a clock or
/// a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proto/api/dialect.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/spliced.hpp"
#include "proto/run/overhead.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class Corpus;
class WordTable;

struct PromptOptions {
    std::uint64_t seed = 0;
    std::string cache_salt;  ///< `--cache-salt`; empty: none
    PromptKind kind = PromptKind::text;
    Overhead overhead;  ///< (0, 0) for ids
    /// `--ids-from`: first of 4,096 token ids, at most `WordTable::ids_from_max`.
    std::uint32_t ids_from = 1000;
    /// `--block-cache`; 0: regenerate always. Over the Mooncake conversation hour no size was
    /// clearly faster than 0 (1.0 G tokens/s), and from 4 MiB on the copies cost 10 to 40 %.
    std::size_t block_cache_bytes = 0;
    /// `--dataset`, tokenised with the tokenizer of the words; nullptr: words only. Not for ids.
    const Corpus* corpus = nullptr;
    /// [row index] so many of its first blocks are the same in each pass (SystemBlocks); empty:
    /// none. Outlives the builder.
    std::span<const std::uint32_t> shared_blocks;
};

/// Where the building of one prompt stands. Plain value; belongs to whoever builds.
struct PromptCursor {
    const TraceRow* row = nullptr;
    std::uint32_t pass = 0;         ///< through the corpus
    std::uint32_t first_token = 0;  ///< positions in the virtual token stream
    std::uint32_t next_token = 0;
    std::uint32_t end_token = 0;
    bool done = false;
    Spliced recorded;          ///< the row's whole body, copied as it stands; empty: built
    std::size_t bytes = 0;     ///< written so far
    Xxh64Lanes lanes;          ///< over the whole 32-byte stripes written so far
    std::uint64_t digest = 0;  ///< valid when done
};

class PromptBuilder {
  public:
    PromptBuilder(const Trace& trace, const WordTable& words, const PromptOptions& options);
    ~PromptBuilder();
    PromptBuilder(const PromptBuilder&) = delete;
    PromptBuilder& operator=(const PromptBuilder&) = delete;

    /// Tokens that we write for this row: input_length - H, at least 1 (`clamped` then).
    std::uint32_t words_of(const TraceRow& row) const;
    bool clamped(const TraceRow& row) const;

    /// Room that `fill` needs for the whole prompt: an upper bound of its bytes plus the slack that
    /// wide stores may touch. Exact plus slack where all words have one length and no dataset is
    /// used.
    std::size_t room_of(const TraceRow& row) const;

    PromptCursor begin(const TraceRow& row, std::uint32_t pass = 0) const;
    /// Of a whole body, which is not looked into.
    static PromptCursor begin(const TraceRow& row, const Spliced& body);

    /// Writes up to `tokens_max` further tokens (at least one, or one piece of a dataset's text) at
    /// `out + cursor.bytes`; `out` is the start of the prompt each time, and what earlier calls
    /// wrote there must be unchanged. True when the prompt is complete. May write a few bytes
    /// beyond its end (inside `room_of`).
    bool fill(PromptCursor& cursor, char* out, std::uint32_t tokens_max);

    /// XXH64 of a complete prompt's bytes; does not depend on how it was cut into slices.
    static std::uint64_t digest_of(const PromptCursor& cursor);

    /// Bytes held by the cache, its hits and misses in blocks.
    struct CacheMarks {
        std::size_t bytes = 0;
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
    };
    CacheMarks cache_marks() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace driftless
