/// Bpe: byte-pair encoding of one piece: from characters or bytes to token ids by ranked merges.
///
/// Holds the vocabulary and the merges of a tokenizer, and scratch for one piece: one thread. It
/// knows nothing of regular expressions, of added tokens, of normalization.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/piece_cache.hpp"
#include "engine/prompt/tokenizer/vocabulary.hpp"

namespace driftless {

/// Which two tokens become which, and in what order: a flat hash of (left, right).
class Merges {
  public:
    static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
    struct Merge {
        std::uint32_t rank = no_rank;  ///< the lowest goes first
        TokenId result = 0;
    };

    void reserve(std::size_t merges);
    void set(TokenId left, TokenId right, Merge merge);
    /// `no_rank` where the two do not merge.
    Merge find(TokenId left, TokenId right) const;
    /// Whether `test` holds for what any two tokens become.
    template <typename Test>
    bool any_result(Test test) const {
        return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
            return slot.pair != no_pair && test(slot.merge.result);
        });
    }

  private:
    struct Slot {
        std::uint64_t pair = no_pair;
        Merge merge;
    };
    static constexpr std::uint64_t no_pair = ~std::uint64_t{0};
    std::size_t slot_of(std::uint64_t pair) const;

    std::vector<Slot> slots_;  ///< a power of two of them, linear probing
    std::size_t size_ = 0;
};

struct BpeRules {
    bool bytes = false;              ///< the smallest parts are bytes, else characters
    bool ignore_merges = false;      ///< a piece that is a token is that token
    bool byte_fallback = false;      ///< an unknown character becomes tokens like <0x0A>
    bool fuse_unknown = false;       ///< unknown characters in a row become one token
    std::optional<TokenId> unknown;  ///< without one, what is unknown vanishes
};

class Bpe {
  public:
    Vocabulary vocabulary;
    Merges merges;
    BpeRules rules;

    /// Looks up what `append` needs of the vocabulary. Once, when all three are complete.
    void prepare();

    /// Appends the tokens of one piece.
    void append(std::string_view piece, std::vector<TokenId>& ids);
    /// The same, word by word where no merge reaches beyond one, and remembers those of words.
    void append_cached(std::string_view piece, std::vector<TokenId>& ids);

  private:
    struct Symbol {
        TokenId id = 0;
        Merges::Merge with_next;
    };
    struct Link {
        std::int32_t previous = 0;
        std::int32_t next = 0;
    };
    struct Candidate {
        std::uint32_t rank = 0;
        std::uint32_t at = 0;
        TokenId left = 0;
        TokenId right = 0;
        TokenId result = 0;
    };
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    bool keeps_to_words() const;
    void append_word(std::string_view word, std::vector<TokenId>& ids);
    void find_symbols(std::string_view piece);
    void add_unknown(std::string_view character, bool& pending);
    void merge_few();
    void merge_many();
    void push_candidate(std::int32_t left, std::int32_t right);

    std::array<std::uint32_t, 256> byte_id_{};      ///< of a token of that byte alone, or `none`
    std::array<std::uint32_t, 256> fallback_id_{};  ///< of <0xNN>, or `none`
    PieceCache cache_;
    bool by_word_ = false;
    // Of one piece.
    std::vector<Symbol> symbols_;
    std::vector<Link> links_;
    std::vector<Candidate> heap_;
};

}  // namespace driftless
