// Any bytes by a map: CSV or JSON, units and block sizes found on the data.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "generic";
    options.map = {{"time", "t"}, {"in", "u.i"}, {"hashes", "h"}, {"session", "s"}, {"delay", "d"}};
    options.time_unit = size % 2 == 0 ? "auto" : "ms";
    return driftless::read_any(data, size, options);
}
