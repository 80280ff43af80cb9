// Any bytes as conversations with sub-agents.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "weka";
    options.sessions = driftless::Sessions::closed;
    return driftless::read_any(data, size, options);
}
