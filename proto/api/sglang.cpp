// SGLang's own /generate. Its events repeat the whole text so far, unless the server was started
// with
// --incremental-streaming-output; both are told apart by their ids, event by event.
#include <utility>

#include "proto/api/dialect.hpp"

namespace driftless {

// sglang.bench_serving.
static constexpr std::string_view aliases[] = {"sglang-native"};

static constexpr TokenizeForm tokenize_forms[] = {TokenizeForm::prompt, TokenizeForm::prompt_v1};
static constexpr BodyShape text_shape{"text", "\"", "\"", "max_new_tokens", "sampling_params"};
static constexpr BodyShape ids_shape{"input_ids", "[", "]", "max_new_tokens", "sampling_params"};

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    BodyMembers members;
    members.nested.push_back({"temperature", "0"});
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        members.nested.push_back({"ignore_eos", "true"});
    }
    if (spec.stream) {
        members.last.push_back({"stream", "true"});
    }
    return make_frame(spec, spec.prompt == PromptKind::ids ? ids_shape : text_shape,
                      std::move(members));
}

// As many ids as tokens so far: the event repeats everything. Fewer: it says what is new.
static void read_event(const JsonValue& root, EventReading& reading) {
    const JsonValue meta = root.find("meta_info");
    if (!meta.is(JsonType::object)) {
        reading.kind = EventReading::Kind::ignored;
        return;
    }
    const JsonValue ids = root.find("output_ids");
    reading.content = text_of(root.find("text"));
    reading.response_id = text_of(meta.find("id"));
    reading.prompt_tokens = count_of(meta.find("prompt_tokens"));
    reading.completion_tokens = count_of(meta.find("completion_tokens"));
    reading.cached_tokens = count_of(meta.find("cached_tokens"));
    reading.has_usage = true;
    reading.usage_is_running = true;
    reading.repeats_text =
        !ids.is(JsonType::array) || std::cmp_equal(ids.size(), reading.completion_tokens);
    reading.token_bearing = !reading.content.empty() || ids.size() > 0;
    read_finish(meta.find("finish_reason"), reading);
}

const Dialect sglang_dialect{.api = Api::sglang,
                             .name = "sglang",
                             .aliases = aliases,
                             .help = "SGLang's /generate; takes token ids",
                             .default_path = "/generate",
                             .takes_ids = true,
                             .names_model = false,
                             .repeats_text = true,
                             .tokenize_forms = tokenize_forms,
                             .make_body_frame = make_body_frame,
                             .read_event = read_event};

}  // namespace driftless
