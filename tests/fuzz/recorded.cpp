// Any bytes as a recorded request: what is made of it is one JSON object, on one line, for every
// dialect and rule.
#include "proto/api/request_body.hpp"
#include "tests/fuzz/shared/target.hpp"

namespace driftless {
namespace {

void fuzz_recorded(std::string_view text) {
    for (const char* api : {"openai-chat", "openai-completions"}) {
        for (const OutputRule output : {OutputRule::exact, OutputRule::free}) {
            BodySpec spec{.model = "m", .output = output, .extra_body = R"({"seed":1})"};
            RecordedComposer composer(*find_dialect(api), spec);
            for (const std::uint32_t length : {0U, 7U}) {
                std::string body;
                if (composer.compose(text, length, body)) {
                    JsonDocument document;
                    const Result<JsonValue> made = document.parse(body);
                    CHECK(made && made.value().is(JsonType::object));
                }
            }
        }
    }
}

const FuzzTargets recorded_target = {{"recorded", fuzz_recorded}};

}  // namespace
}  // namespace driftless
