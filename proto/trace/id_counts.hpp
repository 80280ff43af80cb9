/// IdCounts: which block sizes the rows' numbers of ids fit, so that a refusal can name one.
///
/// Sizes are the powers of two that caches use, 16 to 1024, by the rule that the partial last block
/// has an id (TailRule::ceil). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace driftless {

class IdCounts {
  public:
    static constexpr std::uint64_t size_min = 16;
    static constexpr std::uint64_t size_max = 1024;

    /// A row of that many tokens has that many ids.
    void add(std::uint64_t tokens, std::uint64_t ids) {
        ++rows_;
        std::uint64_t size = size_min;
        for (std::uint64_t& fitting : fitting_) {
            fitting += (tokens + size - 1) / size == ids ? 1 : 0;
            size *= 2;
        }
    }
    void add_wrong(bool wrong) { wrong_ += wrong ? 1 : 0; }

    std::uint64_t rows() const { return rows_; }
    std::uint64_t wrong() const { return wrong_; }  ///< rows that do not fit the size in force
    /// "16 or 32": the sizes that every row fits; empty: none.
    std::string sizes_of_all() const {
        std::string sizes;
        std::uint64_t size = size_min;
        for (const std::uint64_t fitting : fitting_) {
            if (rows_ > 0 && fitting == rows_) {
                sizes += (sizes.empty() ? "" : " or ") + std::to_string(size);
            }
            size *= 2;
        }
        return sizes;
    }

  private:
    std::uint64_t rows_ = 0;
    std::uint64_t wrong_ = 0;
    std::array<std::uint64_t, 7> fitting_ = {};  ///< rows that fit each size
};

}  // namespace driftless
