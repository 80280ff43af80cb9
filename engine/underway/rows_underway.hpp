/// RowsUnderway: the one home of every row that is on its way. A row stands here from when its
/// bytes are wanted until its end is known to the schedule, at one address; it is found by its
/// number until its turn comes, and by whoever has it from then on.
///
/// Made by the armer, which brings the rows in; the pacer takes them out. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/underway/row_underway.hpp"

namespace driftless {

class RowsUnderway {
  public:
    /// `chains`: about as many rows as can be found by their numbers; a power of two.
    explicit RowsUnderway(std::uint32_t chains);
    RowsUnderway(const RowsUnderway&) = delete;
    RowsUnderway& operator=(const RowsUnderway&) = delete;

    /// Takes the memory for so many rows now. Where more are underway they take more, in blocks.
    void reserve(std::uint32_t rows);

    /// A row that is not there, `wanted`.
    RowUnderway& add(const Due& due);
    /// A row whose turn has not come; nullptr where it is not there.
    RowUnderway* find(std::uint32_t request);
    /// Its turn has come: it is not found any more. `due` has its rank.
    void take(RowUnderway& row, const Due& due);
    /// It has ended, its bytes are given back, and it is on no list: its place is free.
    void remove(RowUnderway& row);

    /// Rows that are there.
    std::uint32_t count() const { return count_; }
    /// Those of them whose turn has not come.
    std::uint32_t untaken() const { return untaken_; }

    /// Calls `what` for each row whose turn has not come, in no order.
    template <class What>
    void for_each_untaken(What what) {
        for (RowUnderway* row : chains_) {
            for (; row != nullptr; row = row->chain) {
                what(*row);
            }
        }
    }

  private:
    static constexpr std::uint32_t block_rows = 256;

    RowUnderway** link_to(std::uint32_t request);
    void add_block();

    std::vector<RowUnderway*> chains_;  ///< [chains] first row with that remainder
    std::vector<std::unique_ptr<RowUnderway[]>> blocks_;
    RowUnderway* free_ = nullptr;  ///< used last: its memory is in the caches
    std::uint32_t count_ = 0;
    std::uint32_t untaken_ = 0;
};

}  // namespace driftless
