// The OpenAI dialects read any event, and what it says holds together.
#include "tests/fuzz/shared/dialect_event.hpp"

// The first byte chooses the dialect, too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    const bool chat = size > 0 && data[0] % 2 == 0;
    return fuzz_dialect(dialect_of(chat ? Api::openai_chat : Api::openai_completions), data, size);
}
