/// The tokens of a model, and byte-pair encoding: from one piece of text to token ids.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

// Vocabulary: the tokens of a model, bytes to id and id to bytes.
//
// One arena of bytes, one array by id, one flat index of hashes: 150,000 tokens are read in a few
// ms and looked up without touching the heap. Ids may have gaps. Grows only while it is loaded;
// views of tokens live as long as it does and nothing is added.

using TokenId = std::uint32_t;

/// No vocabulary comes near; bounds the array by id.
inline constexpr TokenId token_id_max = (TokenId{1} << 24) - 1;

class Vocabulary {
  public:
    /// Room for about that much. Once, before the first token.
    void reserve(std::size_t tokens, std::size_t bytes);

    /// Adds a token, or gives its bytes another id. CHECKs the bound of the id.
    void set(TokenId id, std::string_view bytes);
    /// Adds a token that no text leads to: it has bytes, but is never found.
    void set_unreachable(TokenId id, std::string_view bytes);

    std::optional<TokenId> find(std::string_view bytes) const;
    /// Bytes of a token; nothing for an id that has none.
    std::optional<std::string_view> bytes(TokenId id) const;

    /// One more than the largest id.
    TokenId ids_end() const { return static_cast<TokenId>(tokens_.size()); }
    /// Ids that have a token.
    std::size_t size() const { return size_; }

  private:
    struct Token {
        std::uint32_t begin = 0;
        std::uint32_t length = absent;
    };
    struct Slot {
        std::uint32_t tag = 0;  ///< of the hash
        std::uint32_t id_plus_1 = 0;
    };
    static constexpr std::uint32_t absent = ~std::uint32_t{0};

    std::string_view view(TokenId id) const {
        return {arena_.data() + tokens_[id].begin, tokens_[id].length};
    }
    std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;
    void rebuild(std::size_t slots);

    std::string arena_;
    std::vector<Token> tokens_;  ///< by id
    std::vector<Slot> slots_;    ///< a power of two of them, linear probing
    std::size_t size_ = 0;
    std::size_t indexed_ = 0;
};

/// PieceCache: the tokens of pieces that come again and again, so that they are merged once.
///
/// One place per hash, overwritten by whatever comes: bounded, never searched. Texts repeat few
/// pieces: in English and in code nine of ten are found. Owned by a Bpe; one thread.
class PieceCache {
  public:
    static constexpr std::size_t piece_bytes_max = 22;
    static constexpr std::size_t ids_max = 6;

    /// Appends the ids of a piece that is here; false where it is not, or too long to be.
    bool find(std::string_view piece, std::vector<TokenId>& ids) const;
    /// Keeps them, where they are few enough.
    void keep(std::string_view piece, std::span<const TokenId> ids);

  private:
    /// 2^14 places of 48 bytes stay in a second-level cache.
    static constexpr std::size_t places = std::size_t{1} << 14;
    struct Place {
        std::array<char, piece_bytes_max> piece;
        std::uint8_t length;  ///< 0: empty
        std::uint8_t count;
        std::array<TokenId, ids_max> ids;
    };
    static std::size_t place_of(std::string_view piece);

    std::unique_ptr<Place[]> place_;  ///< taken when the first piece is kept
};

// Bpe: byte-pair encoding of one piece: from characters or bytes to token ids by ranked merges.
//
// Holds the vocabulary and the merges of a tokenizer, and scratch for one piece: one thread. It
// knows nothing of regular expressions, of added tokens, of normalization.

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
        auto operator<=>(const Candidate&) const = default;
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
