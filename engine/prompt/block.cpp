#include "engine/prompt/block.hpp"

#include <algorithm>
#include <cstring>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

std::uint64_t body_bits(ContentKey key, std::uint32_t group) {
    return mix64(key.value + golden_gamma * (std::uint64_t{group} + 1));
}

// Slots of one length known at compile time: the end of word n needs no table and no chain.
template <std::uint32_t length>
struct PutUniform {
    const std::uint64_t* slots;

    char* operator()(std::uint32_t index, char* out) const {
        if constexpr (length == 4) {
            const auto slot = static_cast<std::uint32_t>(slots[index]);
            std::memcpy(out, &slot, sizeof slot);
        } else {
            std::memcpy(out, &slots[index], sizeof slots[index]);
        }
        return out + length;
    }
};

struct PutVariable {
    const std::uint64_t* slots;
    const std::uint8_t* lengths;

    char* operator()(std::uint32_t index, char* out) const {
        std::memcpy(out, &slots[index], sizeof slots[index]);
        return out + lengths[index];
    }
};

// Whole groups: one mix, 64 / bits words, unrolled since `bits` is a constant.
template <unsigned bits, typename Put>
char* write_groups(ContentKey key, std::uint32_t group, std::uint32_t groups, Put put, char* out) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::uint64_t counter = key.value + golden_gamma * (std::uint64_t{group} + 1);
    for (; groups > 0; --groups, counter += golden_gamma) {
        std::uint64_t picks = mix64(counter);
        for (unsigned i = 0; i < 64 / bits; ++i, picks >>= bits) {
            out = put(static_cast<std::uint32_t>(picks & mask), out);
        }
    }
    return out;
}

template <unsigned bits, typename Put>
char* write_range(const WordTable& table, ContentKey key, std::uint32_t from, std::uint32_t end,
                  Put put, char* out) {
    constexpr std::uint32_t per_group = 64 / bits;
    const std::uint32_t head = head_words(table);
    const auto one_by_one = [&](std::uint32_t stop) {
        for (; from < stop; ++from) {
            out = put(word_index(table, key, from), out);
        }
    };
    one_by_one(std::min(head, end));
    if (from < end) {
        const std::uint32_t ragged = (per_group - (from - head) % per_group) % per_group;
        one_by_one(from + std::min(ragged, end - from));
        const std::uint32_t groups = (end - from) / per_group;
        out = write_groups<bits>(key, (from - head) / per_group, groups, put, out);
        from += groups * per_group;
        one_by_one(end);
    }
    return out;
}

template <unsigned bits>
char* write_with(const WordTable& table, ContentKey key, std::uint32_t from, std::uint32_t end,
                 char* out) {
    switch (table.uniform_length()) {
        case 4:
            return write_range<bits>(table, key, from, end, PutUniform<4>{table.slots()}, out);
        case 5:
            return write_range<bits>(table, key, from, end, PutUniform<5>{table.slots()}, out);
        default:
            return write_range<bits>(table, key, from, end,
                                     PutVariable{table.slots(), table.lengths()}, out);
    }
}

}  // namespace

std::uint64_t salted_seed(std::uint64_t seed, std::string_view salt) {
    if (salt.empty()) {
        return seed;
    }
    Digest digest;
    digest.add(salt);
    return mix64(seed ^ digest.value()) + golden_gamma;
}

std::uint32_t word_index(const WordTable& table, ContentKey key, std::uint32_t position) {
    const std::uint64_t mask = table.size() - 1;
    const std::uint32_t head = head_words(table);
    if (position == 0) {
        return static_cast<std::uint32_t>(key.value & ((1U << table.first_bits()) - 1));
    }
    if (position < head) {
        const unsigned shift = table.first_bits() + table.index_bits() * (position - 1);
        return static_cast<std::uint32_t>((key.value >> shift) & mask);
    }
    const std::uint32_t per_group = 64 / table.index_bits();
    const std::uint32_t place = position - head;
    const unsigned shift = table.index_bits() * (place % per_group);
    return static_cast<std::uint32_t>((body_bits(key, place / per_group) >> shift) & mask);
}

char* write_words(const WordTable& table, ContentKey key, std::uint32_t from, std::uint32_t count,
                  char* out) {
    const std::uint32_t end = from + count;
    CHECK(end >= from);
    switch (table.index_bits()) {
        case 8:
            return write_with<8>(table, key, from, end, out);
        case 9:
            return write_with<9>(table, key, from, end, out);
        case 10:
            return write_with<10>(table, key, from, end, out);
        case 11:
            return write_with<11>(table, key, from, end, out);
        default:
            static_assert(WordTable::words_min == 1U << 8 && WordTable::words_max == 1U << 12);
            return write_with<12>(table, key, from, end, out);
    }
}

BlockCache::BlockCache(std::size_t bytes_max, std::size_t block_bytes_max)
    : slot_bytes_(block_bytes_max) {
    if (slot_bytes_ == 0) {
        return;
    }
    sets_.resize(bytes_max / (ways * slot_bytes_ + sizeof(Set)));
    pool_.resize(sets_.size() * ways * slot_bytes_);
    CHECK(bytes() <= bytes_max);
}

// Keys are uniform (a bijection mixed them), so their high bits choose a set without bias.
BlockCache::Set& BlockCache::set_of(ContentKey key) {
    const auto wide = static_cast<unsigned __int128>(key.value) * sets_.size();
    return sets_[static_cast<std::size_t>(wide >> 64)];
}

char* BlockCache::place(const Set& set, std::size_t way) {
    const auto index = static_cast<std::size_t>(&set - sets_.data());
    CHECK(index < sets_.size() && way < ways);
    return pool_.data() + (index * ways + way) * slot_bytes_;
}

std::string_view BlockCache::find(ContentKey key) {
    if (!sets_.empty()) {
        Set& set = set_of(key);
        for (std::size_t i = 0; i < ways; ++i) {
            if (set.way[i].key == key && set.way[i].bytes > 0) {
                set.way[i].used = true;
                ++hits_;
                return {place(set, i), set.way[i].bytes};
            }
        }
    }
    ++misses_;
    return {};
}

void BlockCache::store(ContentKey key, std::string_view bytes) {
    CHECK(!bytes.empty() && bytes.size() <= slot_bytes_);
    if (sets_.empty()) {
        return;
    }
    Set& set = set_of(key);
    // One round of the hand clears every mark, so the second finds a victim.
    while (set.way[set.hand].used) {
        set.way[set.hand].used = false;
        set.hand = (set.hand + 1) % ways;
    }
    Way& victim = set.way[set.hand];
    victim = {key, static_cast<std::uint32_t>(bytes.size()), false};
    std::memcpy(place(set, set.hand), bytes.data(), bytes.size());
    set.hand = (set.hand + 1) % ways;
}

std::size_t BlockCache::bytes() const {
    return pool_.size() + sets_.size() * sizeof(Set);
}

}  // namespace driftless
