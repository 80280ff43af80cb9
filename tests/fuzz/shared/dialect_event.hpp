/// What every dialect's fuzz target does with its input. Internal to tests/fuzz; it never returns
/// where a property fails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/api/dialect.hpp"

namespace driftless {

/// Any payload reads as one event without reading past it, and what it says holds together. The
/// first byte chooses the event's name and the kind of body; the payload is tried as an error body
/// and as extra members of a request, too.
int fuzz_dialect(const Dialect& dialect, const std::uint8_t* data, std::size_t size);

}  // namespace driftless
