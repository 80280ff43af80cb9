/// Numbering: 64-bit keys get numbers from 0 on, in the order of their first use.
///
/// For keys that are mixed already (proto/core/hash.hpp): the table takes their low bits as they
/// are. It grows by doubling; a key costs 12 bytes at a load of at most 3/4. Keys are compared
/// whole, but a key that stands for more than 64 bits shares its number with another one with a
/// probability of 2^-64 a pair.
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
        key = key == empty ? ~empty : key;
        std::size_t at = find(key);
        if (keys_[at] == key) {
            return {numbers_[at], false};
        }
        if (size_ >= keys_.size() / 4 * 3) {
            grow();
            at = find(key);
        }
        CHECK(size_ < 0xFFFFFFFFU);
        keys_[at] = key;
        numbers_[at] = size_;
        return {size_++, true};
    }

    std::uint32_t size() const { return size_; }

  private:
    static constexpr std::uint64_t empty = 0;
    static constexpr std::size_t slots_min = 1024;

    /// Where the key is, or would go.
    std::size_t find(std::uint64_t key) const {
        const std::size_t mask = keys_.size() - 1;
        std::size_t at = static_cast<std::size_t>(key) & mask;
        while (keys_[at] != empty && keys_[at] != key) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        const std::vector<std::uint64_t> keys = std::move(keys_);
        const std::vector<std::uint32_t> numbers = std::move(numbers_);
        keys_.assign(keys.size() * 2, empty);
        numbers_.assign(keys.size() * 2, 0);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] != empty) {
                const std::size_t at = find(keys[i]);
                keys_[at] = keys[i];
                numbers_[at] = numbers[i];
            }
        }
    }

    std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(slots_min, empty);
    std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(slots_min, 0);
    std::uint32_t size_ = 0;
};

}  // namespace driftless
