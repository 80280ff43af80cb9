/// BufferRing: the buffers that the kernel fills (a provided-buffer ring, Linux 5.19).
///
/// The ring owns the memory and registers it with one io_uring; the kernel picks a buffer per
/// receive, the driver reads it in place and gives it back at once. Nobody else holds one.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/core/check.hpp"
#include "proto/core/result.hpp"

namespace driftless {

class BufferRing {
  public:
    BufferRing() = default;
    ~BufferRing();
    BufferRing(const BufferRing&) = delete;
    BufferRing& operator=(const BufferRing&) = delete;

    /// `count` is a power of two, at most 32,768. Takes and touches the memory.
    Result<void> open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                      std::uint32_t buffer_bytes);

    std::string_view filled(std::uint16_t id, std::size_t size) const {
        CHECK(id < count_ && size <= buffer_bytes_);
        return {memory_ + std::size_t{id} * buffer_bytes_, size};
    }
    void give_back(std::uint16_t id);

    std::size_t bytes() const { return std::size_t{count_} * buffer_bytes_; }

  private:
    io_uring_buf_ring* entries_ = nullptr;
    char* memory_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t buffer_bytes_ = 0;
};

}  // namespace driftless
