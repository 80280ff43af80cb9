// Any bytes, found out: mostly Mooncake rows, its dialects and what is refused.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.keep = {"type"};
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
