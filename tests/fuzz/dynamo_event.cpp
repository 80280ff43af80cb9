// The Dynamo dialect reads any event, and what it says holds together.
#include "tests/fuzz/shared/dialect_event.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    return fuzz_dialect(dialect_of(Api::dynamo), data, size);
}
