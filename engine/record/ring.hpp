/// EventRing: the lock-free, single-producer single-consumer way from the engine to the writer.
///
/// Cells of 64 bytes; an event takes one cell and its payload the cells behind it, contiguous (a
/// `skip` entry fills the end of the memory where a payload would wrap). Producer and consumer own
/// one cache line each and cache the other's position. Nothing blocks and nothing allocates.
///
/// Full is a handled outcome, in steps. R is `rows_open_max`; what must stay free behind an event:
///
///     payload of part, chunk              6 R cells and an eighth of the ring (payload_reserve)
///     part, chunk without payload         6 R cells: one for each other entry of an open row
///     wire, sent, head, sample            3 R cells: `armed`, `fired` and `end` of each open row
///     armed                                 R cells, and one for the event that it goes with
///     fired; end of a row that never left   R cells: one `end` for each open row
///     end of an open row                  none
///
/// So an open row never loses its `end`. `fired` can only be refused when the consumer has stalled
/// for as long as R rows take: ask `has_room_for_row` before a fire, and hold the row back if not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/record/event.hpp"

namespace driftless {

class EventRing {
  public:
    /// `bytes` is rounded up to a power of two, and up to what the reserves and one payload need.
    /// Memory is taken and touched here; where there was none, nothing else may be called.
    EventRing(std::size_t bytes, std::size_t rows_open_max);
    ~EventRing();
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;
    bool has_memory() const { return cells_ != nullptr; }

    enum class Push : std::uint8_t { whole, payload_dropped, entry_dropped };

    // Producer side.
    /// Copies the event and its payload (at most `payload_bytes_max`). Sets length, and the flag
    /// of a dropped payload. A sample is dropped whole or not at all.
    Push push(const Event& event, std::string_view payload = {});
    /// Room for `armed`, `fired` and `end` of one further row beside the ends of all open rows.
    bool has_room_for_row();
    /// High-water mark in bytes since the start; the producer's view, which is up to 128 KiB
    /// behind the consumer.
    std::size_t high_bytes() const;
    std::size_t capacity_bytes() const { return (mask_ + 1) * sizeof(Cell); }

    // Consumer side.
    /// The oldest event, or nullptr. Payload follows in memory. Valid until `pop`.
    const Event* front();
    static std::string_view payload_of(const Event& event);
    /// Releases the front. Space is given back to the producer lazily, at the latest every 64 KiB
    /// (or every eighth of a smaller ring) and when the ring runs empty.
    void pop();

    /// How often the ring could hold what waits in it: 1 where it is full, the largest number where
    /// it is empty.
    std::uint64_t spare_times() const;

    static constexpr std::size_t payload_bytes_max = 64 * 1024;
    /// Largest ring: 4 GiB, so that a count of cells fits the length of a `skip`.
    static constexpr std::size_t bytes_max = std::size_t{1} << 32;

  private:
    struct Cell {
        alignas(64) std::byte bytes[64];
    };
    static_assert(sizeof(Cell) == sizeof(Event));

    std::uint64_t must_stay_free(const Event& event) const;
    bool fits(std::uint64_t cells, std::uint64_t reserve);
    std::uint64_t with_skip(std::uint64_t cells) const;
    void place(const Event& event, std::string_view payload, std::uint64_t cells);
    void look_at_consumer();

    Cell* cells_ = nullptr;
    std::uint64_t mask_ = 0;             ///< cells - 1
    std::uint64_t release_cells_ = 0;    ///< given back at the latest after so many
    std::uint64_t rows_open_max_ = 0;    ///< R
    std::uint64_t payload_reserve_ = 0;  ///< cells

    struct alignas(64) Producer {
        std::uint64_t tail = 0;
        std::uint64_t head_seen = 0;
        std::uint64_t looked_at = 0;  ///< tail when `head_seen` was read
        std::uint64_t high = 0;       ///< cells
    } producer_;
    struct alignas(64) Consumer {
        std::uint64_t head = 0;
        std::uint64_t tail_seen = 0;
        std::uint64_t released = 0;
    } consumer_;
    alignas(64) std::atomic<std::uint64_t> shared_tail_{0};
    alignas(64) std::atomic<std::uint64_t> shared_head_{0};
};

}  // namespace driftless
