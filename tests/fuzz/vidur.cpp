// Any bytes as a CSV of vidur: headers, times in seconds, lengths.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "vidur";
    options.keep = {"pool"};
    return driftless::read_any(data, size, options);
}
