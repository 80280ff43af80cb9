/// Numbering: 64-bit keys get numbers from 0 on, in the order of their first use.
///
/// For keys that are mixed already (proto/core/hash.hpp): the table takes their low bits as they
/// are. A key costs 8 bytes, and 8 to 16 in the table, which is at most half full. It grows without
/// a copy. Keys are compared whole, but a key that stands for more than 64 bits shares its number
/// with another one with a probability of 2^-64 a pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

class Numbering {
  public:
    struct Given {
        std::uint32_t number = 0;
        bool is_new = false;
    };

    Given number_of(std::uint64_t key) {
        std::size_t at = find(key);
        if (slots_[at] != 0) {
            return {slots_[at] - 1, false};
        }
        if ((keys_.size() + 1) * 2 > slots_.size()) {
            grow();
            at = find(key);
        }
        CHECK(keys_.size() < 0xFFFFFFFEU);
        keys_.push_back(key);
        slots_[at] = size();
        return {size() - 1, true};
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }

  private:
    static constexpr std::size_t slots_min = 1024;

    std::size_t mask() const { return slots_.size() - 1; }
    /// Where the key is, or would go.
    std::size_t find(std::uint64_t key) const {
        std::size_t at = static_cast<std::size_t>(key) & mask();
        while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) {
            at = (at + 1) & mask();
        }
        return at;
    }

    void grow() {
        const std::size_t slots = slots_.size() * 2;
        slots_ = std::vector<std::uint32_t>();  // frees it first, which `= {}` does not
        slots_.resize(slots, 0);
        for (std::uint32_t number = 0; number < size(); ++number) {
            std::size_t at = static_cast<std::size_t>(keys_[number]) & mask();
            while (slots_[at] != 0) {
                at = (at + 1) & mask();
            }
            slots_[at] = number + 1;
        }
    }

    std::vector<std::uint64_t> keys_;                                              ///< [number]
    std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(slots_min, 0);  ///< number + 1
};

}  // namespace driftless
