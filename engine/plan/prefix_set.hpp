/// PrefixSet: which prefixes of block ids have been seen, as an infinite prefix cache would know.
///
/// A prefix is one 64-bit number, chained from its namespace and ids, so that it may be asked for
/// any trace, whether its ids are chained already or name contents only. A flat table that doubles
/// at three quarters full: memory follows the number of distinct prefixes, 11 to 22 bytes each, not
/// the length of the trace. Two prefixes share a number with a probability of 2^-64 a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {

class PrefixSet {
  public:
    /// The empty prefix of a namespace. Mixed twice, so that it never is what `extend` makes of an
    /// id: id a in namespace b would else be id b in namespace a.
    static constexpr std::uint64_t start(std::uint64_t name_space) {
        return mix64(mix64(golden_gamma + name_space) + golden_gamma);
    }
    /// The prefix one block longer.
    static constexpr std::uint64_t extend(std::uint64_t prefix, std::uint64_t id) {
        return mix64(prefix ^ mix64(id + golden_gamma));
    }

    bool contains(std::uint64_t prefix) const {
        prefix = prefix == empty ? ~empty : prefix;
        return slots_[find(prefix)] == prefix;
    }

    /// True where the prefix was new.
    bool insert(std::uint64_t prefix) {
        prefix = prefix == empty ? ~empty : prefix;
        std::size_t at = find(prefix);
        if (slots_[at] == prefix) {
            return false;
        }
        if (size_ >= slots_.size() / 4 * 3) {
            grow();
            at = find(prefix);
        }
        ++size_;
        slots_[at] = prefix;
        return true;
    }

  private:
    static constexpr std::uint64_t empty = 0;
    static constexpr std::size_t slots_min = 1024;

    /// Where the prefix is, or would go.
    std::size_t find(std::uint64_t prefix) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        while (slots_[at] != empty && slots_[at] != prefix) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        const std::vector<std::uint64_t> old = std::move(slots_);
        slots_.assign(old.size() * 2, empty);
        for (const std::uint64_t prefix : old) {
            if (prefix != empty) {
                slots_[find(prefix)] = prefix;
            }
        }
    }

    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(slots_min, empty);
    std::size_t size_ = 0;
};

}  // namespace driftless
