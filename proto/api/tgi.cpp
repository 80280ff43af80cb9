// Text Generation Inference: /generate_stream, an event for each token, and /generate, one JSON
// text. It takes neither token ids nor ignore_eos, and does not say what it had cached.
#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view aliases[] = {"huggingface_generate"};

static constexpr TokenizeForm tokenize_forms[] = {TokenizeForm::inputs};
static constexpr BodyShape shape{"inputs", "\"", "\"", "max_new_tokens", "parameters"};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    members.nested = {{"details", "true"}, {"do_sample", "false"}};
    return make_frame(spec, shape, std::move(members));
}

static void read_details(const JsonValue& details, EventReading& reading) {
    if (!details.is(JsonType::object)) {
        return;
    }
    reading.has_usage = true;
    reading.finish_reason = text_of(details.find("finish_reason"));
    reading.completion_tokens = count_of(details.find("generated_tokens"));
    reading.prompt_tokens = count_of(details.find("input_length"));
}

// A special token (the end of a sequence) is a token without text. `generated_text` repeats a
// stream's tokens in its last event, and is the answer where there is no token.
static void read_event(const JsonValue& root, EventReading& reading) {
    const JsonValue token = root.find("token");
    const JsonValue whole = root.find("generated_text");
    if (token.is(JsonType::object)) {
        const bool special = token.find("special").as_bool().value_or(false);
        reading.token_ids = 1;
        reading.content = special ? std::string_view() : text_of(token.find("text"));
    } else if (whole.is(JsonType::string)) {
        reading.content = text_of(whole);
    } else {
        reading.kind = EventReading::Kind::ignored;
        return;
    }
    read_details(root.find("details"), reading);
    reading.token_bearing = reading.token_ids > 0 || !reading.content.empty();
}

const Dialect tgi_dialect{.api = Api::tgi,
                          .name = "tgi",
                          .aliases = aliases,
                          .help = "/generate_stream of Text Generation Inference",
                          .default_path = "/generate_stream",
                          .whole_path = "/generate",
                          .has_ignore_eos = false,
                          .names_model = false,
                          .info_path = "/info",
                          .prompt_tokens_header = "x-prompt-tokens",
                          .tokenize_forms = tokenize_forms,
                          .reports_cached_tokens = false,
                          .make_body_frame = make_body_frame,
                          .read_event = read_event};

}  // namespace driftless
