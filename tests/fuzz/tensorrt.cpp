// Any bytes as events of an agent's run: counts, forks, tools. Blocks are large, because a few
// bytes may ask for a prompt of 2^27 tokens.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "tensorrt-llm";
    options.block_size = 1U << 20;
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
