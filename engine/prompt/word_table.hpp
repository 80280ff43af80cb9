/// The closed vocabulary that prompts are written in, and how it is chosen from a tokenizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"

namespace driftless {

/// WordTable: the closed vocabulary that prompts are written in, one slot of 8 bytes per word.
///
/// A slot holds the separator and the word, ready to be stored as it is: " the", or ",1000" for
/// token ids. Words of the text tables are lower-case ASCII and exactly one token each wherever
/// they stand (token-exact.md, sections 1 and 14). Immutable; owned by whoever made it. It does not
/// choose words: builder.hpp does.
class WordTable {
  public:
    static constexpr std::uint32_t words_max = 4096;
    /// Below this, heads of blocks that tell all ids apart grow beyond a server's page of 16.
    static constexpr std::uint32_t words_min = 256;
    /// A slot holds the separator and up to seven further bytes.
    static constexpr std::uint32_t word_bytes_max = 7;
    /// Last first-id of `token_ids`: seven digits fit a slot, and no vocabulary comes near.
    static constexpr std::uint32_t ids_from_max = 10'000'000 - words_max;

    /// The 512 four-byte words that hold in every vocabulary they were chosen from (Gemma's, for
    /// one, splits some); the first 475 are one token without a blank in front, too, and the first
    /// 256 are at the head of prompts.
    static const WordTable& built_in();

    /// 4,096 token ids from `from`, decimal, comma-separated. CHECKs from <= ids_from_max.
    static WordTable token_ids(std::uint32_t from);

    /// The same of these token ids, a power of two of them, each at most seven digits.
    static WordTable token_ids(std::span<const std::uint32_t> ids);

    /// A table of `words` (a power of two of them), of which the first `openers` (at least 2) may
    /// open a prompt: the largest power of two of them does. CHECKs the bounds above and that no
    /// word is empty.
    WordTable(std::span<const std::string_view> words, std::uint32_t openers, char separator);

    /// The largest power of two of the words that are not `dropped`, in their order; none where
    /// fewer than `words_min`, or fewer than two openers, are left. Where `first` names words that
    /// are kept, these are in front and they alone may open a prompt.
    std::optional<WordTable> without(std::span<const std::uint32_t> dropped,
                                     std::span<const std::uint32_t> first = {}) const;

    std::uint32_t size() const { return size_; }
    /// Bits of one word's index.
    unsigned index_bits() const { return index_bits_; }
    /// Bits of the index of a word that may open a prompt.
    unsigned first_bits() const { return first_bits_; }
    /// Words at the front that may open a prompt; more than are drawn from.
    std::uint32_t openers() const { return openers_; }
    char separator() const { return separator_; }

    /// Separator and word as the bytes of a little-endian number; zero above them.
    std::uint64_t slot(std::uint32_t index) const { return slots_[index]; }
    /// Bytes of the slot: separator and word.
    std::uint32_t length(std::uint32_t index) const { return lengths_[index]; }
    /// The slot's bytes without its separator.
    std::string_view word(std::uint32_t index) const;
    /// 64 bits that name the table: its words in order, openers and separator.
    std::uint64_t digest() const;

    /// Length of every slot, or 0 where they differ.
    std::uint32_t uniform_length() const { return uniform_length_; }
    std::uint32_t length_max() const { return length_max_; }

    const std::uint64_t* slots() const { return slots_.data(); }
    const std::uint8_t* lengths() const { return lengths_.data(); }

  private:
    std::uint32_t size_ = 0;
    std::uint32_t openers_ = 0;
    unsigned index_bits_ = 0;
    unsigned first_bits_ = 0;
    std::uint32_t uniform_length_ = 0;
    std::uint32_t length_max_ = 0;
    char separator_ = ' ';
    std::array<std::uint64_t, words_max> slots_{};
    std::array<std::uint8_t, words_max> lengths_{};
};

// Word selection: from a tokenizer to the words that prompts for its models are written in.
//
// The strict rule of token-exact.md, section 1: a word is chosen when it is exactly one token both
// with a blank in front and bare, no added token hides in it, and nothing in the vocabulary joins
// two words. Then any sequence of chosen words has as many tokens as words. The proof rests on how
// the tokenizer cuts text, so the result is verified by encoding before it is handed out.

class Tokenizer;

/// How a table came to be; for people and for run.json.
struct WordFigures {
    std::string kind;            ///< "byte-level BPE", "BPE over characters with byte fallback"
    std::size_t vocabulary = 0;  ///< tokens, added ones not counted
    std::size_t candidates = 0;  ///< tokens that are a blank and lower-case ASCII letters
    std::size_t strict = 0;      ///< of those, words that keep the rule
    std::size_t words = 0;       ///< in the table
};

struct SelectedWords {
    WordTable table;
    WordFigures figures;
    /// Token id of each word behind a blank, [words]: ids that are safe to send (no special token,
    /// no placeholder). Empty where one has more than seven digits.
    std::vector<std::uint32_t> ids;
};

/// The largest power of two of the shortest words, at most `WordTable::words_max`; equally long
/// ones in alphabetical order. Error: unsupported, where fewer than `WordTable::words_min` keep the
/// rule, words can join, or encoding does not bear the words out; `why` is a line for people that
/// names the file at `path`.
Result<SelectedWords> select_words(Tokenizer& tokenizer, const std::string& path, std::string& why);

/// The same from a file (compressed or not). Errors: those of reading it, too; `why` is a line for
/// people that names the file and the remedy.
Result<SelectedWords> load_words(const std::string& path, std::string& why);

}  // namespace driftless
