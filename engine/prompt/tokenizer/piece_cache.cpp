#include "engine/prompt/tokenizer/piece_cache.hpp"

#include <algorithm>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

std::size_t PieceCache::place_of(std::string_view piece) {
    std::array<std::uint64_t, 3> words{};
    CHECK(piece.size() <= sizeof words);
    std::memcpy(words.data(), piece.data(), piece.size());
    const std::uint64_t hash = mix64(words[0] ^ (words[1] + piece.size()) * golden_gamma);
    return (hash ^ words[2] * golden_gamma >> 17) & (places - 1);
}

bool PieceCache::find(std::string_view piece, std::vector<TokenId>& ids) const {
    if (piece.size() > piece_bytes_max || place_ == nullptr) {
        return false;
    }
    const Place& place = place_[place_of(piece)];
    if (place.length != piece.size() || piece.empty() ||
        std::memcmp(place.piece.data(), piece.data(), piece.size()) != 0) {
        return false;
    }
    ids.insert(ids.end(), place.ids.begin(), place.ids.begin() + place.count);
    return true;
}

void PieceCache::keep(std::string_view piece, std::span<const TokenId> ids) {
    if (piece.size() > piece_bytes_max || piece.empty() || ids.size() > ids_max) {
        return;
    }
    if (place_ == nullptr) {
        place_ = std::make_unique<Place[]>(places);
    }
    Place& place = place_[place_of(piece)];
    place.length = static_cast<std::uint8_t>(piece.size());
    place.count = static_cast<std::uint8_t>(ids.size());
    std::copy(piece.begin(), piece.end(), place.piece.begin());
    std::copy(ids.begin(), ids.end(), place.ids.begin());
}

}  // namespace driftless
