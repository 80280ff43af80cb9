// Any bytes as a log: the calls are the same however the bytes are cut, and what they say is
// within its limits. A target for each importer.

#include "proto/core/text.hpp"
#include "proto/trace/formats.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/unit/proto/trace/log_reading.hpp"

namespace driftless {
namespace {

int read_any_log(const std::uint8_t* data, std::size_t size, std::string_view format) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const LogReading whole = read_log(text, format, {"model"});
    CHECK(as_text(whole) == as_text(read_log(text, format, {"model"}, size % 7 + 1)));
    for (const LogCall& call : whole.calls) {
        CHECK(call.start_ns >= 0 && call.start_ns <= time_max_ns);
        CHECK(!call.end_ns || *call.end_ns >= call.start_ns);
        CHECK(call.input_tokens.value_or(0) <= row_tokens_max);
        CHECK(call.output_tokens.value_or(0) <= row_tokens_max);
        JsonDocument document;
        CHECK(document.parse(call.kept));
        for (const LogMessage& message : call.prompt) {
            CHECK(utf8_valid_prefix(message.text) == message.text.size());
        }
    }
    return 0;
}

struct Target {
    const char* name;
    const char* format;  ///< as LogReader names it
};
constexpr Target targets[] = {
    {"log_langfuse", "langfuse"},
    {"log_litellm", "litellm"},
    {"log_otel", "otel"},
    {"log_plain", "plain"},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return read_any_log(data, size, this_target(targets).format);
}

}  // namespace driftless
