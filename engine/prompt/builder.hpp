/// PromptBuilder: a row's prompt bytes from its block ids: what a block says, the blocks that recur
/// soon, and the prompt, at memory speed, in bounded slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt/word_table.hpp"
#include "proto/api/dialect.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"
#include "proto/core/lists.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Content: what a block of prompt tokens says, as an endless sequence of words from one number.
//
// Nothing is stored: every word is computed from (key, position), so that a block can be cut
// anywhere and costs no memory (token-exact.md, section 6). Pure functions of their arguments; the
// same on every machine.
//
// - Head: word 0 and the next few spell out the key in digits, so two keys never agree in all of
//   them: 8 words of the built-in table, 6 of a table of 4,096. Word 0 takes only those that may
//   open a prompt: a block's bytes are the same wherever it stands.
// - Body: picks of the table's index bits from one 64-bit mix per 64 / bits words.

/// Names one sequence. Within a namespace, different block ids have different keys.
struct ContentKey {
    std::uint64_t value = 0;
    constexpr bool operator==(const ContentKey&) const = default;
};

/// The seed of a run's content: its `--seed` where there is no `--cache-salt`, else a number of its
/// own for every salt. Blocks of two salts are disjoint but for 64-bit accidents.
std::uint64_t salted_seed(std::uint64_t seed, std::string_view salt);

/// Derives keys from the run's (salted) seed.
class ContentKeys {
  public:
    explicit constexpr ContentKeys(std::uint64_t seed)
        : blocks_(mix64(seed + golden_gamma)), rows_(mix64(seed + 2 * golden_gamma)) {}

    /// Of a block id in its namespace: a bijection of the id.
    constexpr ContentKey of_block(std::uint64_t name_space, std::uint64_t id) const {
        return {mix64(id ^ mix64(blocks_ + golden_gamma * name_space))};
    }
    /// Of the tokens of a row that no block id covers; `row`: its place in file order, and
    /// its pass (plan.hpp).
    constexpr ContentKey of_row(std::uint64_t row) const { return {mix64(row ^ rows_)}; }

  private:
    std::uint64_t blocks_;
    std::uint64_t rows_;
};

/// Words of the head: enough digits for 64 bits, the first of `first_bits`.
inline std::uint32_t head_words(const WordTable& table) {
    return 1 + (64 - table.first_bits() + table.index_bits() - 1) / table.index_bits();
}

/// The table index of word `position` of a sequence: the definition, one word at a time.
std::uint32_t word_index(const WordTable& table, ContentKey key, std::uint32_t position);

/// What a wide store may touch beyond the last word.
inline constexpr std::size_t write_slack = 8;

/// Writes words [from, from + count), each with its separator in front, and returns their end. May
/// write up to `write_slack` bytes beyond it. The same words as `word_index`, at memory speed.
char* write_words(const WordTable& table, ContentKey key, std::uint32_t from, std::uint32_t count,
                  char* out);

/// BlockCache: the bytes of full blocks, so that a block that recurs soon is copied, not computed.
///
/// All memory is taken at the start and never grows. Keys are content keys, and equal keys mean
/// equal bytes whatever the namespace: what it holds changes speed, never bytes. Eight ways to a
/// set, the victim by second chance. Owned by a PromptBuilder; one thread.
class BlockCache {
  public:
    /// `bytes_max` bounds everything it holds, keys too; 0, or too little for one set: no cache.
    BlockCache(std::size_t bytes_max, std::size_t block_bytes_max);

    /// The block's bytes, valid until the next `store`; empty where it is not held.
    std::string_view find(ContentKey key);

    /// Keeps a copy of a block that `find` did not have. CHECKs its size.
    void store(ContentKey key, std::string_view bytes);

    std::size_t bytes() const;
    std::uint64_t hits() const { return hits_; }
    std::uint64_t misses() const { return misses_; }

  private:
    static constexpr std::size_t ways = 8;
    struct Way {
        ContentKey key;
        std::uint32_t bytes = 0;  ///< 0: empty
        bool used = false;        ///< since the hand last passed
    };
    struct Set {
        Way way[ways];
        std::uint32_t hand = 0;
    };

    Set& set_of(ContentKey key);
    char* place(const Set& set, std::size_t way);

    std::size_t slot_bytes_;
    std::vector<Set> sets_;
    std::vector<char> pool_;  ///< [sets][ways][slot_bytes]
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
};

// PromptBuilder.
//
// The rule (design, section 3; token-exact.md 5-7): the prompt is `input_length` tokens, of which
// the first `h_pre` and the last `h_post` are the server's own (template, BOS); block k of a row
// lies at server tokens [k B, (k+1) B). What a block says depends on (seed, namespace, id) only,
// never on position or neighbours; a partial block is the head of the full one. Tokens beyond the
// ids come from (seed, row index) and are shared with nobody. A pass through the corpus, where it
// is gone through again, has namespaces and own tokens of its own, but for blocks that all passes
// are to share. A salt is beside the seed
// and sets every block of a run apart from those of all other runs. A row that has a recorded body
// (`Trace::body_of`) is no prompt but that body, as it stands.
//
// With a dataset, what has one key (a row's own tokens) is words that spell out the key, as many
// pieces of the dataset's text as fit, from a seeded one on, and words again, at least one. Its
// tokens are exact since pieces and words may be in any order.
//
// The builder refers to a trace, a word table and a corpus that outlive it; it owns the block
// cache, whose size changes speed and never bytes. One thread. It never touches a file, a clock or
// a socket.

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
    static std::uint64_t digest_of(const PromptCursor& cursor) {
        CHECK(cursor.done);
        return cursor.digest;
    }

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
