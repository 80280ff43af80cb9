// Any bytes as a BurstGPT CSV: sessions and failures.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "burstgpt";
    return driftless::read_any(data, size, options);
}
