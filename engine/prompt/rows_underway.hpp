/// One request on its way, from when its bytes are wanted until it has got its end; the one home of
/// all of them; and the memory that their bytes are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/time.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/core/lists.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// RowUnderway: one request on its way, from when its bytes are wanted until it has got its end.
// Plain data in one place; whoever has the row at the moment (Armer, Pacer, the lanes) changes
// it, and hands on no copy.
//
//     wanted --> arming --> armed --> bound --> in flight --> ended
//                  ^          +--> waiting --^     |
//                  |          |     (for a lane)   |
//                  +------- again <----------------+
//
// `bound` is TLS alone: a connection holds its records. A row can end wherever it is, and one that
// nobody will send any more is `wanted` again without its bytes.

enum class RowStage : std::uint8_t {
    wanted,     ///< its bytes are to be built
    arming,     ///< they are being built
    armed,      ///< every byte is ready
    bound,      ///< TLS: its bytes belong to a connection, which makes records of them
    waiting,    ///< it is due, and there was no lane for it
    in_flight,  ///< it has left
    again,      ///< its bytes are gone with a connection: they are to be built once more
    ended,
};

/// Whether a row can go from one stage to the other, as drawn above.
constexpr bool may_follow(RowStage from, RowStage to) {
    switch (to) {
        case RowStage::wanted:  // what was built is given up
            return from == RowStage::arming || from == RowStage::armed || from == RowStage::bound ||
                   from == RowStage::again;
        case RowStage::arming:
            return from == RowStage::wanted || from == RowStage::again;
        case RowStage::armed:
            return from == RowStage::arming;
        case RowStage::bound:
            return from == RowStage::armed || from == RowStage::waiting;
        case RowStage::waiting:
            return from == RowStage::armed || from == RowStage::again || from == RowStage::wanted;
        case RowStage::in_flight:
            return from == RowStage::armed || from == RowStage::bound || from == RowStage::waiting;
        case RowStage::again:
            return from == RowStage::bound || from == RowStage::in_flight ||
                   from == RowStage::arming || from == RowStage::armed;
        case RowStage::ended:
            return from != RowStage::ended;
    }
    return false;
}

/// What the kernel had to send again, over all tries of a row so far.
struct Resends {
    std::uint32_t segments = 0;  ///< of its request that were sent again
    bool known = false;
    bool lost = false;  ///< a part of the request, as far as is known
};

struct RowUnderway {
    Due due;  ///< its rank is known once it is `taken`
    /// Of the body pool, where it has its bytes; whoever has the row gives it back.
    char* storage = nullptr;
    std::string_view bytes;  ///< head and body, or their records
    Instant armed;
    std::uint32_t lane = no_lane;  ///< number of the connection that it is bound to
    RowStage stage = RowStage::wanted;
    LateCause cause = LateCause::none;  ///< of being late; what held it back before its turn
    LateCause then = LateCause::none;   ///< what it lacked when its turn had come
    bool taken = false;                 ///< its turn has come: the schedule has done with it
    bool answered = false;              ///< by a whole answer with status 200
    bool told = false;                  ///< the schedule knows of its end
    bool is_429 = false;                ///< its answer was one
    bool abandoned = false;             ///< its client gave it up, by plan
    std::uint16_t tries = 0;            ///< stale retries so far; such a row counts as in flight
    std::uint16_t losses = 0;           ///< connections that ended young, bound to it
    std::int64_t held_ns = 0;           ///< as far as is known
    /// What a 429 has said of when it may come again; TurnEnd::unknown: nothing.
    std::int64_t retry_after_ns = TurnEnd::unknown;
    Instant turn;                 ///< when its turn came; it is late where it did not leave then
    Instant fired;                ///< of the first try
    Instant ended;                ///< of a whole answer: when its last byte was read
    Resends resends;              ///< of the tries so far
    RowUnderway* next = nullptr;  ///< on the list of whoever has it
    RowUnderway* before = nullptr;
    RowUnderway* chain = nullptr;  ///< the table's (rows_underway.hpp)

    static constexpr std::uint32_t no_lane = 0xFFFF'FFFFu;

    /// The only way into another stage.
    void enter(RowStage next_stage) {
        CHECK(may_follow(stage, next_stage));
        stage = next_stage;
    }
    /// Its bytes are there, in its own hands or in a connection's.
    bool is_ready() const { return stage == RowStage::armed || stage == RowStage::bound; }
};

static_assert(sizeof(RowUnderway) == 168);

using RowList = LinkedList<RowUnderway>;

/// RowsUnderway: the one home of every row that is on its way. A row is here from when its
/// bytes are wanted until its end is known to the schedule, at one address; it is found by its
/// number until its turn comes, and by whoever has it from then on.
///
/// Made by the armer, which brings the rows in; the pacer takes them out. One thread.
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
    RowUnderway* find(std::uint32_t request) { return *link_to(request); }
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

/// BodyPool: contiguous memory for request bytes, from one region taken before the first fire.
///
/// A buddy allocator: blocks of 4 KiB times a power of two, split and merged, so that bodies of
/// very different sizes come and go for hours without the region falling to pieces. Taking and
/// giving cost O(log n) and never touch the memory itself. One thread. Full is an answer.
class BodyPool {
  public:
    BodyPool() = default;
    ~BodyPool();
    BodyPool(const BodyPool&) = delete;
    BodyPool& operator=(const BodyPool&) = delete;

    /// Reserves a region of at least `bytes` (rounded up to a power of two), and a spare block of
    /// `spare_bytes` beside it. Pages are touched as they are first used (or by settle_memory
    /// before). Errors: exhausted.
    Result<void> open(std::size_t bytes, std::size_t spare_bytes = 0);

    /// Memory for `bytes`, or nullptr where no free block is large enough now.
    char* take(std::size_t bytes);
    /// The same where others must not starve the taker: the spare block where all else fails, and
    /// it is there.
    char* take_or_spare(std::size_t bytes);
    void give(char* block);

    std::size_t region_bytes() const { return region_bytes_; }
    std::size_t used_bytes() const { return used_bytes_; }  ///< in blocks, rounding included
    std::size_t used_bytes_max() const { return used_bytes_max_; }

    static constexpr std::size_t leaf_bytes = 4096;

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr unsigned orders_max = 32;
    static constexpr std::uint8_t not_a_head = 0xFF;

    void link(std::uint32_t leaf, unsigned order);
    void unlink(std::uint32_t leaf, unsigned order);

    char* region_ = nullptr;  ///< the spare block is behind it
    std::size_t region_bytes_ = 0;
    std::size_t spare_bytes_ = 0;
    bool spare_taken_ = false;
    std::size_t used_bytes_ = 0;
    std::size_t used_bytes_max_ = 0;
    unsigned top_order_ = 0;
    std::uint32_t free_[orders_max];     ///< first free block of each order, by its first leaf
    std::vector<std::uint32_t> next_;    ///< [leaves] links of free blocks
    std::vector<std::uint32_t> before_;  ///< [leaves]
    std::vector<std::uint8_t> order_;    ///< [leaves] order of the block that begins here
    std::vector<bool> is_free_;          ///< [leaves] the block that begins here is free
};

}  // namespace driftless
