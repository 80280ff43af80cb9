/// Fallen: requests that will not be sent, in the order in which that was found. Each is spread
/// once (what waits for it falls, too), and told once. Plain values; memory is taken by `reserve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/core/check.hpp"

namespace driftless {

class Fallen {
  public:
    struct One {
        std::uint32_t request = 0;
        std::uint32_t failed = none;  ///< the request that has failed it; `none`: nobody
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    void reserve(std::size_t most) { all_.reserve(most); }
    void add(const One& one) { all_.push_back(one); }
    /// The next one that was not spread.
    std::optional<One> take_unspread() {
        return spread_ < all_.size() ? std::optional(all_[spread_++]) : std::nullopt;
    }
    /// The next one that was not told.
    std::optional<One> first() const {
        return told_ < all_.size() ? std::optional(all_[told_]) : std::nullopt;
    }
    void take_first() {
        CHECK(told_ < all_.size());
        if (++told_ == all_.size() && spread_ == told_) {
            all_.clear();
            spread_ = told_ = 0;
        }
    }

  private:
    std::vector<One> all_;
    std::size_t spread_ = 0;
    std::size_t told_ = 0;
};

}  // namespace driftless
