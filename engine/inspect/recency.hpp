/// Recency: in which order numbered things were last used, and the rank of each in that order.
///
/// The thing used last has rank 1. A cache of C equal places that evicts the least recently used
/// thing holds exactly the things of the ranks up to C, for every C at once: the rank is the LRU
/// stack distance (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970).
///
/// Every use takes the next place of a line; a bit says whether the place is still its thing's last
/// one, and a Fenwick tree counts bits by words of 64. Things used together lie together, so that a
/// path of n blocks costs about n / 64 updates of the tree. A full line is pushed together: memory
/// follows the number of things, not of uses: 4.75 bytes each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace driftless {

class Recency {
  public:
    /// `things`: so many are expected, numbered from 0; more may come.
    explicit Recency(std::uint32_t things = 0) : places_(things, never) {}

    /// The ranks of the first of `things` that were ever used, up to one that was not. Appends to
    /// `ranks`.
    void ranks(std::span<const std::uint32_t> things, std::vector<std::uint32_t>& ranks) const;

    /// Uses them from the last to the first: the first has rank 1 then.
    void use(std::span<const std::uint32_t> things);

    /// Things that were ever used.
    std::uint32_t size() const { return live_; }

  private:
    static constexpr std::uint32_t never = 0xFFFFFFFFu;
    static constexpr std::uint32_t places_min = 4096;

    std::uint32_t place_of(std::uint32_t thing) const {
        return thing < places_.size() ? places_[thing] : never;
    }
    std::uint32_t rank_at(std::uint32_t place) const;
    void count(std::size_t word, std::int32_t change);
    std::uint32_t bits_before(std::size_t word) const;
    void leave(std::span<const std::uint32_t> things);
    void push_together(std::uint32_t coming);

    std::vector<std::uint32_t> places_;  ///< [thing], or `never`
    std::vector<std::uint64_t> bits_;    ///< [place / 64]
    std::vector<std::uint32_t> tree_;    ///< Fenwick tree over the bits of words
    std::uint32_t next_ = 0;             ///< first place that was never taken
    std::uint32_t live_ = 0;
};

}  // namespace driftless
