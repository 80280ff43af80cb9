// Any bytes as an Azure CSV: headers, quotes, wall clocks.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "azure";
    options.keep = {"pool"};
    return driftless::read_any(data, size, options);
}
