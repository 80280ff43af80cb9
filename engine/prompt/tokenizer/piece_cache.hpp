/// PieceCache: the tokens of pieces that come again and again, so that they are merged once.
///
/// One place per hash, overwritten by whatever comes: bounded, never searched. Texts repeat few
/// pieces: in English and in code nine of ten are found. Owned by a Bpe; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/prompt/tokenizer/vocabulary.hpp"

namespace driftless {

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

}  // namespace driftless
