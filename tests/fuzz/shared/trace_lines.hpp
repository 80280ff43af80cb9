/// Any bytes as a trace file: lines are split the same however they are cut, and what is usable is
/// sorted, rebased, consistent, plans without a fault, and is equal after it was written and read
/// back. Every reader has a target that calls this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/trace/reader.hpp"

namespace driftless {

/// Returns 0; never returns where a property fails. `size` bytes.
int read_any(const std::uint8_t* data, std::size_t size, ReadOptions options);

}  // namespace driftless
