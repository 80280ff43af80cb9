// Ollama's /api/generate: one JSON text a line. `raw` keeps its template away from the prompt;
// token ids and ignore_eos it does not know.
#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr BodyShape shape{"prompt", "\"", "\"", "num_predict", "options"};

// `stream` is true where it is absent.
static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    members.first = model_member(spec);
    members.nested = {{"temperature", "0"}};
    members.last = {{"raw", "true"}, {"stream", spec.stream ? "true" : "false"}};
    return make_frame(spec, shape, std::move(members));
}

// `prompt_eval_count` is left out on a full cache hit: unknown, not 0.
static void read_event(const JsonValue& root, EventReading& reading) {
    const JsonValue done = root.find("done");
    if (!done.is(JsonType::boolean)) {
        reading.kind = EventReading::Kind::ignored;
        return;
    }
    const JsonValue message = root.find("message");  // of /api/chat
    reading.content = text_of(message.present() ? message.find("content") : root.find("response"));
    reading.reasoning = text_of((message.present() ? message : root).find("thinking"));
    reading.token_bearing = !reading.content.empty() || !reading.reasoning.empty();
    if (done.as_bool().value_or(false)) {
        const std::string_view why = text_of(root.find("done_reason"));
        reading.finish_reason = why.empty() ? "stop" : why;
        reading.has_usage = true;
        reading.prompt_tokens = count_of(root.find("prompt_eval_count"));
        reading.completion_tokens = count_of(root.find("eval_count"));
    }
}

const Dialect ollama_dialect{.api = Api::ollama,
                             .name = "ollama",
                             .help = "/api/generate, without a template",
                             .default_path = "/api/generate",
                             .framing = Framing::lines,
                             .has_ignore_eos = false,
                             .reports_cached_tokens = false,
                             .make_body_frame = make_body_frame,
                             .read_event = read_event};

}  // namespace driftless
