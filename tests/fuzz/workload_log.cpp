// Any bytes as a log of bodies: objects and text, numbers and wall clocks.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "workload";
    options.keep = {"request_id"};
    return driftless::read_any(data, size, options);
}
