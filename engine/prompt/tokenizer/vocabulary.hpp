/// Vocabulary: the tokens of a model, bytes to id and id to bytes.
///
/// One arena of bytes, one array by id, one flat index of hashes: 150,000 tokens are read in a few
/// ms and looked up without touching the heap. Ids may have gaps. Grows only while it is loaded;
/// views of tokens live as long as it does and nothing is added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

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

}  // namespace driftless
