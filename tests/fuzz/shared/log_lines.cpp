#include "tests/fuzz/shared/log_lines.hpp"

#include "proto/core/check.hpp"
#include "proto/json/utf8.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/times.hpp"
#include "tests/unit/proto/trace/log_reading.hpp"

namespace driftless {

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

}  // namespace driftless
