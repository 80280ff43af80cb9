// Any bytes as OpenTelemetry spans.
#include "tests/fuzz/shared/log_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return driftless::read_any_log(data, size, "otel");
}
