// Any bytes as ISB-1 bundles: cells, blocks of content, events.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "isb1";
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
