// Any bytes as AIPerf's turns: texts, times, system prompts.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "aiperf-multi-turn";
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
