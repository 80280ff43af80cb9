/// FramePool: where coroutine frames live. Size classes of 64 bytes, free lists, slabs that are
/// never given back before the pool ends.
///
/// One per thread of coroutines; owned by the Loop. A frame remembers its pool in the 16 bytes
/// before it, so that destroying it needs no global. Under AddressSanitizer every frame is a malloc
/// of its own, because pooled reuse would hide a use after destruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace driftless {

class FramePool {
  public:
    FramePool() = default;
    ~FramePool();
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;

    /// A frame of at least `bytes`; aborts where the host has no memory. Frames above
    /// `frame_bytes_max` are a CHECK: large objects live in lanes (style, rule 15).
    void* take(std::size_t bytes);
    /// Gives a frame back to the pool that made it.
    static void give(void* frame);

    struct Marks {
        std::uint64_t live = 0;
        std::uint64_t live_max = 0;
        std::uint64_t slab_bytes = 0;
        std::size_t largest_frame = 0;
    };
    const Marks& marks() const { return marks_; }

    /// Our largest frame is well below 1 KiB (g++ 12, release); sanitizers double it.
    static constexpr std::size_t frame_bytes_max = 4096;

  private:
    static constexpr std::size_t class_bytes = 64;
    static constexpr std::size_t classes = frame_bytes_max / class_bytes + 1;
    static constexpr std::size_t slab_bytes = 64 * 1024;

    struct Free {
        Free* next;
    };
    void refill(std::size_t size_class);

    std::array<Free*, classes> free_{};
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    Marks marks_;
};

}  // namespace driftless
