// The completions dialect: one prompt out, as text or as token ids, pieces of text in.
#include "proto/api/dialects.hpp"
#include "proto/api/event.hpp"
#include "proto/api/openai_common.hpp"

namespace driftless {

namespace {

constexpr BodyShape text_shape{"prompt", "\"", "\"", "max_tokens", ""};
constexpr BodyShape ids_shape{"prompt", "[", "]", "max_tokens", ""};

Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyShape shape = spec.prompt == PromptKind::ids ? ids_shape : text_shape;
    shape.length_name = length_name_of(spec, shape.length_name);
    return make_frame(spec, shape, openai_members(spec));
}

void read_choice(const JsonValue& choice, EventReading& reading) {
    if (const std::string_view text = text_of(choice.find("text")); !text.empty()) {
        reading.content = text;
    }
    read_choice_frame(choice, reading);
}

EventReading read_event(JsonDocument& document, std::string_view event_name,
                        std::string_view data) {
    return read_openai_event(document, event_name, data, read_choice);
}

}  // namespace

const Dialect openai_completions_dialect{.api = Api::openai_completions,
                                         .name = "openai-completions",
                                         .default_path = "/v1/completions",
                                         .framing = Framing::sse,
                                         .takes_ids = true,
                                         .has_ignore_eos = true,
                                         .prompt_member = "prompt",
                                         .length_member = "max_tokens",
                                         .has_two_length_names = true,
                                         .has_stream_options = true,
                                         .make_body_frame = make_body_frame,
                                         .read_event = read_event};

}  // namespace driftless
