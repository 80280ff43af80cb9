/// Memory: pages that are there before the first fire, so that the engine's thread meets no fault
/// after it. Plain functions over system calls, called before time 0 only; nothing here knows what
/// the memory is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace driftless {

/// Private memory, every page of it there, in huge pages where the kernel grants them; nullptr
/// where there is not enough (errno says why). Given back by munmap.
void* map_touched(std::size_t bytes);

/// What the process was granted.
struct MemoryGrants {
    /// Every page of a mapping up to `settled_bytes_max`, but for large tables of libraries.
    bool present = false;
    bool locked = false;  ///< none of them leaves again
    std::string why_not;  ///< for what was not granted; empty: all was
    std::uint64_t huge_bytes = 0;
};

/// Makes every page of this process present and locks them where the limit allows. Once, when all
/// that a run is made of is there. Also leaves `heap_spare_bytes` of touched heap behind, for what
/// grows later.
MemoryGrants settle_memory();

/// A larger mapping is left alone: such are the bodies of `--arm-ahead all`, which are touched when
/// they are armed, and half of which may be rounding.
inline constexpr std::size_t settled_bytes_max = std::size_t{256} << 20;
/// Of a file's data that nobody may write: what is larger belongs to a library that a library needs
/// (the 30 MB of ICU, by libxml2, by libarchive), and no thread of a run reads it.
inline constexpr std::size_t settled_data_bytes_max = std::size_t{8} << 20;
/// Lanes and coroutine frames beyond those that stand at time 0: two thousand of them.
inline constexpr std::size_t heap_spare_bytes = std::size_t{4} << 20;

}  // namespace driftless
