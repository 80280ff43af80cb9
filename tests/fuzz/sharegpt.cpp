// Any bytes as conversations of ShareGPT: speakers, empty messages, answers without questions.
#include "tests/fuzz/shared/trace_lines.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    driftless::ReadOptions options;
    options.format = "sharegpt";
    options.sessions = driftless::Sessions::open;
    return driftless::read_any(data, size, options);
}
