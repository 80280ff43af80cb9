#include "engine/base/task.hpp"

#include <cstdlib>
#include <new>

namespace driftless {

namespace {

// Stands right before every frame; 16 bytes keep the frame aligned as malloc would.
struct alignas(16) Prefix {
    FramePool* pool;
    std::uint32_t size_class;
};

}  // namespace

static_assert(sizeof(Prefix) == 16);

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DRIFTLESS_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(DRIFTLESS_ADDRESS_SANITIZER)
static constexpr bool pooled = false;
#else
static constexpr bool pooled = true;
#endif

}  // namespace

FramePool::~FramePool() {
    CHECK(marks_.live == 0);
}

void FramePool::refill(std::size_t size_class) {
    const std::size_t bytes = (size_class + 1) * class_bytes;
    const std::size_t count = slab_bytes / bytes;
    slabs_.push_back(std::make_unique<std::byte[]>(slab_bytes));
    marks_.slab_bytes += slab_bytes;
    std::byte* at = slabs_.back().get();
    for (std::size_t i = 0; i < count; ++i, at += bytes) {
        free_[size_class] = new (at) Free{free_[size_class]};
    }
}

void* FramePool::take(std::size_t bytes) {
    const std::size_t whole = bytes + sizeof(Prefix);
    CHECK(whole <= frame_bytes_max);
    const std::size_t size_class = (whole - 1) / class_bytes;
    void* memory = nullptr;
    if constexpr (pooled) {
        if (free_[size_class] == nullptr) {
            refill(size_class);
        }
        memory = free_[size_class];
        free_[size_class] = free_[size_class]->next;
    } else {
        memory = std::malloc(whole);
        CHECK(memory != nullptr);
    }
    marks_.live += 1;
    marks_.live_max = marks_.live > marks_.live_max ? marks_.live : marks_.live_max;
    marks_.largest_frame = bytes > marks_.largest_frame ? bytes : marks_.largest_frame;
    Prefix* prefix = new (memory) Prefix{this, static_cast<std::uint32_t>(size_class)};
    return prefix + 1;
}

void FramePool::give(void* frame) {
    Prefix* prefix = static_cast<Prefix*>(frame) - 1;
    FramePool& pool = *prefix->pool;
    const std::size_t size_class = prefix->size_class;
    CHECK(pool.marks_.live > 0);
    pool.marks_.live -= 1;
    if constexpr (pooled) {
        pool.free_[size_class] = new (prefix) Free{pool.free_[size_class]};
    } else {
        std::free(prefix);
    }
}

}  // namespace driftless
