/// IdCounts: which block sizes the rows' numbers of ids fit, so that a refusal can name one.
///
/// Sizes are the powers of two that caches use, 16 to 1024, by the rule that the partial last block
/// has an id (TailRule::ceil). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
        ids_ += ids;
        std::uint64_t size = size_min;
        for (Fit& fit : fits_) {
            const std::uint64_t needed = (tokens + size - 1) / size;
            fit.rows += needed == ids ? 1 : 0;
            fit.off += needed > ids ? needed - ids : ids - needed;
            size *= 2;
        }
    }
    void add_wrong(bool wrong) { wrong_ += wrong ? 1 : 0; }

    std::uint64_t rows() const { return rows_; }
    std::uint64_t ids() const { return ids_; }      ///< in all rows, as recorded
    std::uint64_t wrong() const { return wrong_; }  ///< rows that do not fit the size in force
    /// "16 or 32": the sizes that every row fits; empty: none.
    std::string sizes_of_all() const {
        std::string sizes;
        for (std::size_t i = 0; i < fits_.size(); ++i) {
            if (rows_ > 0 && fits_[i].rows == rows_) {
                sizes += (sizes.empty() ? "" : " or ") + std::to_string(size_min << i);
            }
        }
        return sizes;
    }

    struct Best {
        std::uint64_t size = 0;
        std::uint64_t rows = 0;  ///< that fit it
    };
    /// The size at which the fewest ids are too many or missing.
    Best best() const {
        const auto least = std::min_element(
            fits_.begin(), fits_.end(), [](const Fit& a, const Fit& b) { return a.off < b.off; });
        return {size_min << (least - fits_.begin()), least->rows};
    }

  private:
    struct Fit {
        std::uint64_t rows = 0;  ///< that fit the size
        std::uint64_t off = 0;   ///< ids too many or missing, of all rows
    };
    std::uint64_t rows_ = 0;
    std::uint64_t ids_ = 0;
    std::uint64_t wrong_ = 0;
    std::array<Fit, 7> fits_ = {};  ///< [log2 of size / size_min]
};

}  // namespace driftless
