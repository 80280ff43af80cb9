// Any bytes as a log: the calls are the same however the bytes are cut, and what they say is
// within its limits. A target for each importer.

#include "proto/core/text.hpp"
#include "proto/trace/formats.hpp"
#include "tests/fuzz/shared/target.hpp"
#include "tests/unit/proto/trace/log_reading.hpp"

namespace driftless {
namespace {

void fuzz_log(std::string_view text, std::string_view format) {
    const LogReading whole = read_log(text, format, {"model"});
    CHECK(as_text(whole) == as_text(read_log(text, format, {"model"}, text.size() % 7 + 1)));
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
}

/// `format` as LogReader names it.
FuzzTarget log_target(const std::string& format) {
    return {"log_" + format, [format](std::string_view text) { fuzz_log(text, format); }};
}

const FuzzTargets log_targets = {log_target("langfuse"), log_target("litellm"), log_target("otel"),
                                 log_target("plain")};

}  // namespace
}  // namespace driftless
