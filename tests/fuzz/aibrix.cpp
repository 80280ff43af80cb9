// Any bytes as AIBrix's workload lines: instants with lists of requests, text and lengths.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "aibrix";
    options.keep = {"model"};
    options.default_output = 8;
    return driftless::read_any(data, size, options);
}
