// Any bytes as a Dynamo request trace.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "dynamo";
    return driftless::read_any(data, size, options);
}
