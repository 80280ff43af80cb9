// llama.cpp's own completion API. A prompt goes out as text or as token ids, without a template;
// every event says how many tokens have been made so far, and the last one says all the rest.
#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view aliases[] = {"llama.cpp", "llama-cpp"};

static constexpr TokenizeForm tokenize_forms[] = {TokenizeForm::content};
static constexpr BodyShape text_shape{"prompt", "\"", "\"", "n_predict", ""};
static constexpr BodyShape ids_shape{"prompt", "[", "]", "n_predict", ""};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    members.last.push_back({"temperature", "0"});
    members.last.push_back({"cache_prompt", "true"});
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        members.last.push_back({"ignore_eos", "true"});
    }
    return make_frame(spec, spec.prompt == PromptKind::ids ? ids_shape : text_shape,
                      std::move(members));
}

// `tokens` holds the last id alone behind characters that were held back, so that tokens are
// counted by `tokens_predicted`. Progress events carry a token 0 before any was made.
static void read_event(const JsonValue& root, EventReading& reading) {
    const JsonValue content = root.find("content");
    const bool last = root.find("stop").as_bool().value_or(false);
    if (!content.is(JsonType::string) && !last) {
        reading.kind = EventReading::Kind::ignored;
        return;
    }
    reading.content = text_of(content);
    reading.completion_tokens = count_of(root.find("tokens_predicted"));
    reading.prompt_tokens = count_of(root.find("tokens_evaluated"));
    reading.cached_tokens = count_of(root.find("timings").find("cache_n"));
    reading.has_usage = reading.completion_tokens >= 0 || reading.prompt_tokens >= 0;
    reading.usage_is_running = reading.has_usage && !last;
    const bool has_token = root.find("tokens").size() > 0 && reading.completion_tokens > 0;
    reading.token_bearing = !reading.content.empty() || (has_token && !last);
    if (last) {
        const std::string_view why = text_of(root.find("stop_type"));
        reading.finish_reason = why.empty() ? "stop" : why;
    }
}

const Dialect llamacpp_dialect{.api = Api::llamacpp,
                               .name = "llamacpp",
                               .aliases = aliases,
                               .help = "llama.cpp's /completion; takes token ids",
                               .default_path = "/completion",
                               .takes_ids = true,
                               .names_model = false,
                               .info_path = "/props",
                               .tokenize_forms = tokenize_forms,
                               .make_body_frame = make_body_frame,
                               .read_event = read_event};

}  // namespace driftless
