/// What a block of prompt tokens says, and the bytes of blocks that recur soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/prompt/word_table.hpp"
#include "proto/core/hash.hpp"

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
    /// its pass (due.hpp).
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

}  // namespace driftless
