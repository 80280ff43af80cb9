/// Any bytes as a log: the calls are the same however the bytes are cut, and what they say is
/// within its limits. Every importer has a target that calls this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftless {

/// Returns 0; never returns where a property fails. `size` bytes; `format` as LogReader names it.
int read_any_log(const std::uint8_t* data, std::size_t size, std::string_view format);

}  // namespace driftless
