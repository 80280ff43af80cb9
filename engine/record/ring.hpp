/// EventRing: the lock-free, single-producer single-consumer way from the engine to the writer.
///
/// Cells of 64 bytes; an event takes one cell and its payload the cells behind it, contiguous (a
/// `skip` entry fills the end of the memory where a payload would wrap). Producer and consumer own
/// one cache line each and cache the other's position. Nothing blocks and nothing allocates.
///
/// Full is a handled outcome, in two steps (design, section 2): with less room than
/// `payload_reserve` left, payloads are dropped and their entries keep their stamps; with less than
/// `entry_reserve` left, `part` and `chunk` entries are dropped too. `fired` and `end` of every row
/// in flight always find room, because the reserve holds two cells for each of `rows_open_max`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/record/event.hpp"

namespace driftless {

class EventRing {
  public:
    /// `bytes` is rounded up to a power of two. CHECKs that the reserves leave room for work.
    /// Memory is taken and touched here.
    EventRing(std::size_t bytes, std::size_t rows_open_max);
    ~EventRing();
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;

    enum class Push : std::uint8_t { whole, payload_dropped, entry_dropped };

    // Producer side.
    /// Copies the event and its payload (at most `payload_bytes_max`). Sets length and flags.
    Push push(Event event, std::string_view payload = {});
    /// High-water mark in bytes since the start; producer's view.
    std::size_t high_bytes() const;

    // Consumer side.
    /// The oldest event, or nullptr. Payload follows in memory. Valid until `pop`.
    const Event* front();
    static std::string_view payload_of(const Event& event);
    /// Releases the front. Space is given back to the producer lazily, at the latest every 64 KiB
    /// and when the ring runs empty.
    void pop();

    static constexpr std::size_t payload_bytes_max = 64 * 1024;

  private:
    struct Cell {
        alignas(64) std::byte bytes[64];
    };
    Cell* cells_ = nullptr;
    std::size_t bytes_mapped_ = 0;
    std::uint64_t mask_ = 0;             ///< cells - 1
    std::uint64_t payload_reserve_ = 0;  ///< cells
    std::uint64_t entry_reserve_ = 0;    ///< cells

    struct alignas(64) Producer {
        std::uint64_t tail = 0;
        std::uint64_t head_seen = 0;
        std::uint64_t high = 0;
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
