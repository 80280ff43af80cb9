#include "engine/prompt/cache.hpp"

#include <cstring>

#include "proto/core/check.hpp"

namespace driftless {

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
