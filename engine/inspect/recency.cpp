#include "engine/inspect/recency.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// Bits `from` to `to` - 1 of a word, to <= 64.
std::uint64_t bits_between(std::uint32_t from, std::uint32_t to) {
    const std::uint64_t below_to = to == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << to) - 1;
    return below_to & ~((std::uint64_t{1} << from) - 1);
}

/// The bits that are set. `std::popcount` is a call into a table where the build is for every
/// x86-64.
std::uint32_t ones(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FU;
    return static_cast<std::uint32_t>((word * 0x0101010101010101U) >> 56);
}

}  // namespace

void Recency::count(std::size_t word, std::int32_t change) {
    for (std::size_t i = word + 1; i <= tree_.size(); i += i & (~i + 1)) {
        tree_[i - 1] += static_cast<std::uint32_t>(change);
    }
}

std::uint32_t Recency::bits_before(std::size_t word) const {
    std::uint32_t sum = 0;
    for (std::size_t i = word; i > 0; i &= i - 1) {
        sum += tree_[i - 1];
    }
    return sum;
}

std::uint32_t Recency::rank_at(std::uint32_t place) const {
    const std::uint64_t up_to = bits_[place / 64] & bits_between(0, place % 64 + 1);
    return live_ - (bits_before(place / 64) + ones(up_to)) + 1;
}

void Recency::ranks(std::span<const std::uint32_t> things,
                    std::vector<std::uint32_t>& ranks) const {
    std::uint32_t before = never;  // the place of the thing before
    for (const std::uint32_t thing : things) {
        const std::uint32_t place = place_of(thing);
        if (place == never) {
            return;
        }
        // Neighbours in the line are neighbours in rank.
        const bool neighbour = before != never && place + 1 == before;
        ranks.push_back(neighbour ? ranks.back() + 1 : rank_at(place));
        before = place;
    }
}

/// Clears the bits of the things, a word at a time.
void Recency::leave(std::span<const std::uint32_t> things) {
    std::size_t word = 0;
    std::uint64_t gone = 0;
    const auto clear = [&] {
        if (gone != 0) {
            bits_[word] &= ~gone;
            count(word, -static_cast<std::int32_t>(ones(gone)));
            live_ -= ones(gone);
            gone = 0;
        }
    };
    for (const std::uint32_t thing : things) {
        const std::uint32_t place = place_of(thing);
        if (place == never) {
            continue;
        }
        if (place / 64 != word) {
            clear();
            word = place / 64;
        }
        gone |= std::uint64_t{1} << place % 64;
    }
    clear();
}

void Recency::use(std::span<const std::uint32_t> things) {
    if (things.empty()) {
        return;
    }
    const auto coming = static_cast<std::uint32_t>(things.size());
    const std::uint32_t largest = *std::max_element(things.begin(), things.end());
    if (largest >= places_.size()) {
        places_.resize(std::max<std::size_t>(largest + std::size_t{1}, 2 * places_.size()), never);
    }
    leave(things);
    // Nothing that was used before has its place in the line any more: push_together forgets it.
    for (const std::uint32_t thing : things) {
        places_[thing] = never;
    }
    if (bits_.size() * 64 - next_ < coming) {
        push_together(coming);
    }
    const std::uint32_t end = next_ + coming;
    for (std::uint32_t i = 0; i < coming; ++i) {
        CHECK(places_[things[i]] == never);  // a thing is used once at a time
        places_[things[i]] = end - 1 - i;
    }
    for (std::uint32_t from = next_; from < end;) {
        const std::uint32_t to = std::min(end, (from / 64 + 1) * 64);
        bits_[from / 64] |= bits_between(from % 64, (to - 1) % 64 + 1);
        count(from / 64, static_cast<std::int32_t>(to - from));
        from = to;
    }
    next_ = end;
    live_ += coming;
}

/// Gives every thing the place of its order from the least recent on, in a line with room for those
/// that come or are expected, and three times that for further uses.
void Recency::push_together(std::uint32_t coming) {
    std::uint32_t before = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word) {  // plain sums, for this once
        tree_[word] = before;
        before += ones(bits_[word]);
    }
    for (std::uint32_t& place : places_) {
        if (place != never) {
            place = tree_[place / 64] + ones(bits_[place / 64] & bits_between(0, place % 64));
        }
    }
    const std::uint64_t things =
        std::max<std::uint64_t>(std::uint64_t{live_} + coming, places_.size());
    const std::uint64_t places =
        std::min<std::uint64_t>(std::max<std::uint64_t>(places_min, 4 * things), never - 1);
    CHECK(places >= live_ + std::uint64_t{coming});
    bits_.assign((places + 63) / 64, 0);
    tree_.assign(bits_.size(), 0);
    for (std::size_t word = 0; word < bits_.size() && word * 64 < live_; ++word) {
        const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(64, live_ - word * 64));
        bits_[word] = bits_between(0, to);
        count(word, static_cast<std::int32_t>(to));
    }
    next_ = live_;
}

}  // namespace driftless
