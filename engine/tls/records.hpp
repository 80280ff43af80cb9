/// Sizes of TLS records, for those who make room for them. Constants of RFC 8446, 5.2, and RFC
/// 5246, 6.2.3; no state.
#pragma once

#include <cstddef>

namespace driftless {

/// Plain bytes of one record at most.
inline constexpr std::size_t record_bytes_max = 16 * 1024;
/// What a record adds to them at most: 22 bytes in TLS 1.3; in TLS 1.2 with CBC a header of 5, an
/// IV and padding of 16 each, and a MAC of 48.
inline constexpr std::size_t record_overhead_max = 96;
/// The answer to a KeyUpdate, which goes in front of the next record that is made.
inline constexpr std::size_t key_update_bytes_max = 64;
/// The first record of a request holds its head and goes out at once: it is smaller than what a
/// fresh connection may send in one go (12 KiB, Exchanges::first_bytes_max).
inline constexpr std::size_t first_record_bytes =
    12 * 1024 - record_overhead_max - key_update_bytes_max;

/// Room in front of `bytes` plain bytes from which on their records may be written over them, one
/// record after the other: a record never reaches plain bytes that are not inside a record yet.
constexpr std::size_t seal_room(std::size_t bytes) {
    return (bytes / record_bytes_max + 2) * record_overhead_max + key_update_bytes_max;
}

}  // namespace driftless
