// Any bytes as calls of agents: sessions, gaps, lists of messages.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "lmcache";
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
