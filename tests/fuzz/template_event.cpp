// A template that is read speaks: its bodies are JSON and its events hold together. The input is
// the template's file, a NUL, and what the other dialects' targets take.
#include "proto/api/api_template.hpp"
#include "tests/fuzz/shared/dialect_event.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace driftless;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(text.find('\0'), size);
    std::string why;
    const Result<ApiTemplate> form = read_api_template(text.substr(0, end), why);
    CHECK(static_cast<bool>(form) == why.empty());
    if (!form || end == size) {
        return 0;
    }
    return fuzz_dialect(dialect_of(form.value()), data + end + 1, size - end - 1);
}
