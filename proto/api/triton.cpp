// Triton's generate extension before TensorRT-LLM's ensemble. It counts nothing and says no reason
// for an end: tokens are chunks here.
#include "proto/api/body.hpp"
#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"

namespace driftless {

namespace {

constexpr BodyShape shape{"text_input", "\"", "\"", "max_tokens", ""};

// Every member is an input of the model, and one that it does not have is an error.
Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    return make_frame(spec, shape, std::move(members));
}

EventReading read_event(JsonDocument& document, std::string_view event_name,
                        std::string_view data) {
    EventReading reading;
    const JsonValue root = open_event(document, event_name, data, reading);
    if (!root.present()) {
        return reading;
    }
    const JsonValue text = root.find("text_output");
    if (!text.is(JsonType::string)) {
        reading.kind = EventReading::Kind::ignored;
        return reading;
    }
    reading.content = text_of(text);  // the first one may be empty
    reading.token_bearing = !reading.content.empty();
    return reading;
}

}  // namespace

const Dialect triton_dialect{.api = Api::triton,
                             .name = "triton",
                             .default_path = "/v2/models/ensemble/generate_stream",
                             .whole_path = "/v2/models/ensemble/generate",
                             .framing = Framing::sse,
                             .takes_ids = false,
                             .has_ignore_eos = false,
                             .names_model = false,
                             .make_body_frame = make_body_frame,
                             .read_event = read_event};

}  // namespace driftless
