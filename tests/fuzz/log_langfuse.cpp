// Any bytes as a Langfuse export.
#include "tests/fuzz/shared/log_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return driftless::read_any_log(data, size, "langfuse");
}
