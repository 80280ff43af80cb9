// The completions dialect: one prompt out, as text or as token ids, pieces of text in.
#include "proto/api/dialect.hpp"

namespace driftless {

// GuideLLM, AIPerf, and the benchmarks of SGLang and vLLM, which call this API "openai".
static constexpr std::string_view aliases[] = {"completions", "openai", "vllm", "text_completions",
                                               "sglang-oai"};

static constexpr BodyShape text_shape{"prompt", "\"", "\"", "max_tokens", ""};
static constexpr BodyShape ids_shape{"prompt", "[", "]", "max_tokens", ""};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyShape shape = spec.prompt == PromptKind::ids ? ids_shape : text_shape;
    shape.length_name = length_name_of(spec, shape.length_name);
    return make_frame(spec, shape, openai_members(spec));
}

static void read_choice(const JsonValue& choice, EventReading& reading) {
    if (const std::string_view text = text_of(choice.find("text")); !text.empty()) {
        reading.content = text;
    }
    read_choice_frame(choice, reading);
}

static void read_event(const JsonValue& root, EventReading& reading) {
    read_openai_event(root, read_choice, reading);
}

const Dialect openai_completions_dialect{.api = Api::openai_completions,
                                         .name = "openai-completions",
                                         .aliases = aliases,
                                         .help = "/v1/completions; takes token ids",
                                         .default_path = "/v1/completions",
                                         .takes_ids = true,
                                         .prompt_member = "prompt",
                                         .length_member = "max_tokens",
                                         .has_two_length_names = true,
                                         .has_stream_options = true,
                                         .tokenize_forms = completion_tokenize_forms,
                                         .ignores_named_events = true,
                                         .make_body_frame = make_body_frame,
                                         .read_event = read_event};

}  // namespace driftless
