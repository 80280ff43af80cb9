#include "engine/prompt/bpe.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>

#include "engine/prompt/tokenizer.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

static constexpr std::size_t slots_min = 1024;

static std::uint64_t load(const char* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
}

static std::uint64_t hash_of(std::string_view bytes) {
    std::uint64_t hash = bytes.size() * golden_gamma;
    while (bytes.size() >= 8) {
        hash = mix64(hash ^ load(bytes.data(), 8)) + golden_gamma;
        bytes.remove_prefix(8);
    }
    return mix64(hash ^ load(bytes.data(), bytes.size()));
}

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

// Up to here a scan over all pairs for the lowest rank beats a heap; most pieces are far shorter.
static constexpr std::size_t few_symbols = 48;

static std::uint64_t pair_of(TokenId left, TokenId right) {
    return std::uint64_t{left} << 32 | right;
}

/// Bytes of the marks for blanks in front.
static std::size_t marks_at_start(std::string_view text) {
    std::size_t bytes = 0;
    while (text.substr(bytes).starts_with(blank_mark)) {
        bytes += blank_mark.size();
    }
    return bytes;
}

static std::array<char, 6> fallback_name(unsigned byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

void Merges::reserve(std::size_t merges) {
    CHECK(size_ == 0);
    slots_.assign(std::bit_ceil(2 * merges + 16), Slot{});
}

std::size_t Merges::slot_of(std::uint64_t pair) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = mix64(pair) & mask;
    while (slots_[at].pair != pair && slots_[at].pair != no_pair) {
        at = (at + 1) & mask;
    }
    return at;
}

void Merges::set(TokenId left, TokenId right, Merge merge) {
    Slot& slot = slots_[slot_of(pair_of(left, right))];
    size_ += slot.pair == no_pair ? 1 : 0;
    CHECK(2 * size_ <= slots_.size());
    slot = {pair_of(left, right), merge};
}

Merges::Merge Merges::find(TokenId left, TokenId right) const {
    return slots_[slot_of(pair_of(left, right))].merge;
}

void Bpe::prepare() {
    for (unsigned i = 0; i < 256; ++i) {
        const char byte = static_cast<char>(i);
        byte_id_[i] = vocabulary.find({&byte, 1}).value_or(none);
        const std::array<char, 6> name = fallback_name(i);
        fallback_id_[i] = vocabulary.find({name.data(), name.size()}).value_or(none);
    }
    by_word_ = keeps_to_words();
}

// Whether nothing that merges holds a mark for a blank behind another character. Then a text can be
// taken apart in front of each run of marks: merges on one side know nothing of the other.
bool Bpe::keeps_to_words() const {
    if (rules.bytes || rules.ignore_merges || !vocabulary.find(blank_mark)) {
        return false;
    }
    return !merges.any_result([&](TokenId id) {
        const std::string_view token = *vocabulary.bytes(id);
        return token.find(blank_mark, marks_at_start(token)) != token.npos;
    });
}

void Bpe::append(std::string_view piece, std::vector<TokenId>& ids) {
    if (rules.ignore_merges) {
        if (const auto whole = vocabulary.find(piece)) {
            ids.push_back(*whole);
            return;
        }
    }
    find_symbols(piece);
    if (symbols_.size() > few_symbols) {
        merge_many();
    } else if (symbols_.size() > 1) {
        merge_few();
    }
    for (const Symbol& symbol : symbols_) {
        ids.push_back(symbol.id);
    }
}

void Bpe::append_cached(std::string_view piece, std::vector<TokenId>& ids) {
    while (by_word_ && !piece.empty()) {
        const std::string_view word =
            piece.substr(0, piece.find(blank_mark, marks_at_start(piece)));
        append_word(word, ids);
        piece.remove_prefix(word.size());
    }
    if (!piece.empty()) {
        append_word(piece, ids);
    }
}

void Bpe::append_word(std::string_view word, std::vector<TokenId>& ids) {
    if (cache_.find(word, ids)) {
        return;
    }
    const std::size_t before = ids.size();
    append(word, ids);
    cache_.keep(word, std::span(ids).subspan(before));
}

// The smallest parts of a piece. Unknown ones wait until a known one comes, as the reference has
// it: where some bytes have a fallback token and others none, these go in front.
void Bpe::find_symbols(std::string_view piece) {
    symbols_.clear();
    bool pending = false;
    while (!piece.empty()) {
        const auto lead = static_cast<unsigned char>(piece.front());
        const std::size_t length = rules.bytes ? 1 : first_code_point(piece).bytes;
        const std::string_view character = piece.substr(0, length);
        const std::uint32_t id =
            length == 1 ? byte_id_[lead] : vocabulary.find(character).value_or(none);
        piece.remove_prefix(length);
        if (id == none) {
            add_unknown(character, pending);
            continue;
        }
        if (pending) {
            symbols_.push_back({*rules.unknown, {}});
            pending = false;
        }
        symbols_.push_back({id, {}});
    }
    if (pending) {
        symbols_.push_back({*rules.unknown, {}});
    }
}

void Bpe::add_unknown(std::string_view character, bool& pending) {
    if (rules.byte_fallback) {
        const auto fallback = [&](char byte) {
            return fallback_id_[static_cast<unsigned char>(byte)];
        };
        if (std::all_of(character.begin(), character.end(),
                        [&](char byte) { return fallback(byte) != none; })) {
            for (const char byte : character) {
                symbols_.push_back({fallback(byte), {}});
            }
            return;
        }
    }
    if (!rules.unknown) {
        return;
    }
    if (pending && !rules.fuse_unknown) {
        symbols_.push_back({*rules.unknown, {}});
    }
    pending = true;
}

// Lowest rank first, leftmost among equals; each merge changes the two pairs beside it.
void Bpe::merge_few() {
    std::size_t count = symbols_.size();
    Symbol* const symbol = symbols_.data();
    const auto rank_at = [&](std::size_t i) {
        symbol[i].with_next =
            i + 1 < count ? merges.find(symbol[i].id, symbol[i + 1].id) : Merges::Merge{};
    };
    for (std::size_t i = 0; i < count; ++i) {
        rank_at(i);
    }
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i) {
            if (symbol[i].with_next.rank < symbol[best].with_next.rank) {
                best = i;
            }
        }
        if (symbol[best].with_next.rank == Merges::no_rank) {
            break;
        }
        symbol[best].id = symbol[best].with_next.result;
        std::copy(symbol + best + 2, symbol + count, symbol + best + 1);
        --count;
        rank_at(best);
        if (best > 0) {
            rank_at(best - 1);
        }
    }
    symbols_.resize(count);
}

void Bpe::push_candidate(std::int32_t left, std::int32_t right) {
    const auto at = [&](std::int32_t i) -> Symbol& {
        return symbols_[static_cast<std::size_t>(i)];
    };
    if (left < 0 || right < 0) {
        return;
    }
    const Merges::Merge merge = merges.find(at(left).id, at(right).id);
    if (merge.rank == Merges::no_rank) {
        return;
    }
    heap_.push_back(
        {merge.rank, static_cast<std::uint32_t>(left), at(left).id, at(right).id, merge.result});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

// The same for long pieces (a model without a pre-tokenizer merges whole texts): a heap of pairs,
// in which those that have changed since are skipped.
void Bpe::merge_many() {
    const auto count = static_cast<std::int32_t>(symbols_.size());
    links_.resize(symbols_.size());
    heap_.clear();
    for (std::int32_t i = 0; i < count; ++i) {
        links_[static_cast<std::size_t>(i)] = {i - 1, i + 1 < count ? i + 1 : -1};
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) {
        push_candidate(i, i + 1);
    }
    while (!heap_.empty()) {
        const Candidate best = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
        Symbol& left = symbols_[best.at];
        Link& link = links_[best.at];
        if (left.id != best.left || link.next < 0 ||
            symbols_[static_cast<std::size_t>(link.next)].id != best.right) {
            continue;
        }
        const auto right = static_cast<std::size_t>(link.next);
        left.id = best.result;
        symbols_[right].id = none;
        link.next = links_[right].next;
        if (link.next >= 0) {
            links_[static_cast<std::size_t>(link.next)].previous =
                static_cast<std::int32_t>(best.at);
        }
        push_candidate(link.previous, static_cast<std::int32_t>(best.at));
        push_candidate(static_cast<std::int32_t>(best.at), link.next);
    }
    std::erase_if(symbols_, [](const Symbol& symbol) { return symbol.id == none; });
}

}  // namespace driftless
