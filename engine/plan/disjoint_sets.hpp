/// DisjointSets: numbers 0, 1, .. in sets that grow together (union-find, with path halving). Plain
/// values; 4 bytes a number, taken when it is made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace driftless {

class DisjointSets {
  public:
    /// Each number is a set of its own.
    explicit DisjointSets(std::size_t count) : before_(count) {
        std::iota(before_.begin(), before_.end(), 0U);
    }

    /// The smallest number of the set that this one is in. Ends: no number points to a larger one.
    std::uint32_t smallest_of(std::uint32_t number) {
        while (before_[number] != number) {
            before_[number] = before_[before_[number]];
            number = before_[number];
        }
        return number;
    }

    /// The sets of these two become one.
    void join(std::uint32_t one, std::uint32_t other) {
        one = smallest_of(one);
        other = smallest_of(other);
        before_[std::max(one, other)] = std::min(one, other);
    }

  private:
    std::vector<std::uint32_t> before_;  ///< a number of the same set; itself: the smallest
};

}  // namespace driftless
