/// A list of whole numbers, read in one tight loop: eight digits at a time, no node a number.
///
/// Lists of block ids are nine tenths of a trace. Pure; it trusts no text, but reads up to 8 bytes
/// behind a number, so the text must be padded. Whether the list ends inside the text is the
/// caller's to check: it knows where the closing bracket is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace driftless {

struct IntegerList {
    std::size_t count = 0;      ///< 0: it is no such list
    const char* end = nullptr;  ///< the closing bracket
};

/// Reads "1, 2, 3]" from behind the opening bracket into `out`, which has room for `room` numbers.
/// Nothing where the list is empty, longer, or holds anything but integers from 0 to 2^64 - 1 as
/// JSON writes them.
IntegerList read_integer_list(const char* text, std::uint64_t* out, std::size_t room);

}  // namespace driftless
