#include "engine/prompt/tokenizer/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

constexpr std::size_t slots_min = 1024;

std::uint64_t load(const char* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
}

std::uint64_t hash_of(std::string_view bytes) {
    std::uint64_t hash = bytes.size() * golden_gamma;
    while (bytes.size() >= 8) {
        hash = mix64(hash ^ load(bytes.data(), 8)) + golden_gamma;
        bytes.remove_prefix(8);
    }
    return mix64(hash ^ load(bytes.data(), bytes.size()));
}

}  // namespace

void Vocabulary::reserve(std::size_t tokens, std::size_t bytes) {
    CHECK(indexed_ == 0);
    arena_.reserve(bytes);
    tokens_.reserve(tokens);
    rebuild(std::bit_ceil(2 * tokens + slots_min));
}

// Where the token with these bytes is, or the free slot where it would be.
std::size_t Vocabulary::slot_of(std::string_view bytes, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::size_t at = hash & mask;
    while (slots_[at].id_plus_1 != 0 &&
           (slots_[at].tag != tag || view(slots_[at].id_plus_1 - 1) != bytes)) {
        at = (at + 1) & mask;
    }
    return at;
}

void Vocabulary::rebuild(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.id_plus_1 != 0) {
            const std::string_view bytes = view(slot.id_plus_1 - 1);
            slots_[slot_of(bytes, hash_of(bytes))] = slot;
        }
    }
}

void Vocabulary::set_unreachable(TokenId id, std::string_view bytes) {
    CHECK(id <= token_id_max && arena_.size() + bytes.size() < absent);
    if (id >= tokens_.size()) {
        tokens_.resize(id + std::size_t{1});
    }
    size_ += tokens_[id].length == absent ? 1 : 0;
    tokens_[id] = {static_cast<std::uint32_t>(arena_.size()),
                   static_cast<std::uint32_t>(bytes.size())};
    arena_ += bytes;
}

void Vocabulary::set(TokenId id, std::string_view bytes) {
    CHECK(!bytes.empty());
    if (2 * (indexed_ + 1) > slots_.size()) {
        rebuild(std::max(slots_min, 2 * slots_.size()));
    }
    const std::uint64_t hash = hash_of(bytes);
    Slot& slot = slots_[slot_of(bytes, hash)];
    indexed_ += slot.id_plus_1 == 0 ? 1 : 0;
    set_unreachable(id, bytes);
    slot = {static_cast<std::uint32_t>(hash >> 32), id + 1};
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
    if (slots_.empty()) {
        return std::nullopt;
    }
    const Slot& slot = slots_[slot_of(bytes, hash_of(bytes))];
    return slot.id_plus_1 == 0 ? std::nullopt : std::optional(slot.id_plus_1 - 1);
}

std::optional<std::string_view> Vocabulary::bytes(TokenId id) const {
    return id < tokens_.size() && tokens_[id].length != absent ? std::optional(view(id))
                                                               : std::nullopt;
}

}  // namespace driftless
