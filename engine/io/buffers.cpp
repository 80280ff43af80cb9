#include "engine/io/buffers.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "engine/host/memory.hpp"
#include "proto/core/check.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

BufferRing::~BufferRing() {
    // The ring that the entries were registered with is gone by now (whoever owns both ends it
    // first).
    if (entries_ != nullptr) {
        ::munmap(entries_, count_ * sizeof(io_uring_buf));
    }
    if (memory_ != nullptr) {
        ::munmap(memory_, bytes());
    }
}

Result<void> BufferRing::open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                              std::uint32_t buffer_bytes) {
    CHECK(entries_ == nullptr && memory_ == nullptr);
    CHECK(count > 0 && (count & (count - 1)) == 0 && count <= 32768);
    CHECK(buffer_bytes > 0);
    count_ = count;
    buffer_bytes_ = buffer_bytes;
    entries_ = static_cast<io_uring_buf_ring*>(map_touched(count * sizeof(io_uring_buf)));
    memory_ = static_cast<char*>(map_touched(bytes()));
    if (entries_ == nullptr || memory_ == nullptr) {
        return Error{ErrorCode::exhausted, errno, "take memory for receive buffers"};
    }
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(entries_);
    registration.ring_entries = count;
    registration.bgid = group;
    const int status = io_uring_register_buf_ring(&ring, &registration, 0);
    if (status < 0) {
        return error_from_errno(-status, "register receive buffers with io_uring");
    }
    io_uring_buf_ring_init(entries_);
    const int mask = io_uring_buf_ring_mask(count);
    for (std::uint32_t id = 0; id < count; ++id) {
        io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes, buffer_bytes,
                              static_cast<std::uint16_t>(id), mask, static_cast<int>(id));
    }
    io_uring_buf_ring_advance(entries_, static_cast<int>(count));
    return {};
}

void BufferRing::give_back(std::uint16_t id) {
    CHECK(id < count_);
    io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes_, buffer_bytes_, id,
                          io_uring_buf_ring_mask(count_), 0);
    io_uring_buf_ring_advance(entries_, 1);
}

}  // namespace driftless
