/// PrefixSet: which prefixes of block ids have been seen, as an infinite prefix cache would know.
///
/// A prefix is one 64-bit number, chained from its namespace and ids, so that it may be asked for
/// any trace, whether its ids are chained already or name contents only. A flat table of a size
/// that the owner announces; it does not grow. Two prefixes share a number with a probability of
/// 2^-64 a pair.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/core/check.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

class PrefixSet {
  public:
    explicit PrefixSet(std::size_t prefixes_max)
        : slots_(std::bit_ceil(2 * prefixes_max + 2)), room_(prefixes_max) {}

    /// The empty prefix of a namespace.
    static constexpr std::uint64_t start(std::uint32_t name_space) {
        return mix64(golden_gamma + name_space);
    }
    /// The prefix one block longer.
    static constexpr std::uint64_t extend(std::uint64_t prefix, std::uint64_t id) {
        return mix64(prefix ^ mix64(id + golden_gamma));
    }

    /// True where the prefix was new.
    bool insert(std::uint64_t prefix) {
        prefix = prefix == empty ? ~empty : prefix;
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        for (; slots_[at] != empty; at = (at + 1) & mask) {
            if (slots_[at] == prefix) {
                return false;
            }
        }
        CHECK(room_ > 0);
        --room_;
        slots_[at] = prefix;
        return true;
    }

  private:
    static constexpr std::uint64_t empty = 0;
    std::vector<std::uint64_t> slots_;
    std::size_t room_;
};

}  // namespace driftless
