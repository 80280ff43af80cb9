/// ReplyRing: the second lock-free ring, from the writer back to the engine: words of answers that
/// go into later prompts. One producer, one consumer; nothing blocks, nothing allocates once it is
/// made. A full ring is a handled outcome: the writer keeps the reply and tries again.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/live/turn_reply.hpp"

namespace driftless {

class ReplyRing {
  public:
    /// Room for `replies`, at least 1, rounded up to a power of two.
    explicit ReplyRing(std::size_t replies) : cells_(std::bit_ceil(replies)) {}
    ReplyRing(const ReplyRing&) = delete;
    ReplyRing& operator=(const ReplyRing&) = delete;

    /// The writer's side. False where the ring is full.
    bool push(const TurnReply& reply) {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == cells_.size()) {
            return false;
        }
        cells_[tail & (cells_.size() - 1)] = reply;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    /// The engine's side. False where the ring is empty.
    bool pop(TurnReply& reply) {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) {
            return false;
        }
        reply = cells_[head & (cells_.size() - 1)];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

  private:
    std::vector<TurnReply> cells_;
    alignas(64) std::atomic<std::uint64_t> head_{0};
    alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace driftless
