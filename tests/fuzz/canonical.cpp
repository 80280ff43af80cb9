// Any bytes as a canonical trace, which is written and read back equal.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "canonical";
    return driftless::read_any(data, size, options);
}
