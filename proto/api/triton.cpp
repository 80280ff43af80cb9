// Triton's generate extension before TensorRT-LLM's ensemble. It counts nothing and says no reason
// for an end: tokens are chunks here.
#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view aliases[] = {"trt"};

static constexpr BodyShape shape{"text_input", "\"", "\"", "max_tokens", ""};

// Every member is an input of the model, and one that it does not have is an error.
static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    return make_frame(spec, shape, std::move(members));
}

static void read_event(const JsonValue& root, EventReading& reading) {
    const JsonValue text = root.find("text_output");
    if (!text.is(JsonType::string)) {
        reading.kind = EventReading::Kind::ignored;
        return;
    }
    reading.content = text_of(text);  // the first one may be empty
    reading.token_bearing = !reading.content.empty();
}

const Dialect triton_dialect{.api = Api::triton,
                             .name = "triton",
                             .aliases = aliases,
                             .help = "/v2/models/ensemble/generate_stream; counts no tokens",
                             .default_path = "/v2/models/ensemble/generate_stream",
                             .whole_path = "/v2/models/ensemble/generate",
                             .has_ignore_eos = false,
                             .names_model = false,
                             .reports_prompt_tokens = false,
                             .reports_cached_tokens = false,
                             .has_end_mark = false,
                             .make_body_frame = make_body_frame,
                             .read_event = read_event};

}  // namespace driftless
