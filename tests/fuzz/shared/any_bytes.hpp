/// A fuzz target: what it does with any bytes is all that its source defines.
#pragma once

#include "tests/std.hpp"

namespace driftless {

void fuzz(std::string_view bytes);

}  // namespace driftless

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::fuzz({reinterpret_cast<const char*>(data), size});
    return 0;
}
