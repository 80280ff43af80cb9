// NVIDIA Dynamo: OpenAI's chat with an `nvext`, by which token ids can stand in for the messages
// and workers tell who they are. `ignore_eos` is at the top of the body: inside `nvext` it is
// refused. Annotations are events of names of their own, and mean nothing here.
#include <utility>

#include "proto/api/dialect.hpp"

namespace driftless {

static constexpr std::string_view extra_fields = R"("extra_fields":["worker_id","timing"])";

// The messages are asked for, too, and not read.
static Result<BodyFrame> make_ids_frame(const BodySpec& spec) {
    const std::string open = "{" + std::string(extra_fields) + R"(,"token_data":[)";
    BodyShape shape = chat_shape_of(spec);
    shape.prompt_name = "nvext";
    shape.prompt_open = open;
    shape.prompt_close = "]}";
    BodyMembers members = openai_members(spec);
    members.first.push_back({"messages", R"([{"role":"user","content":"-"}])"});
    return make_frame(spec, shape, std::move(members));
}

static Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    if (spec.prompt == PromptKind::ids) {
        return make_ids_frame(spec);
    }
    BodyMembers members = openai_members(spec);
    members.last.push_back({"nvext", "{" + std::string(extra_fields) + "}"});
    return make_frame(spec, chat_shape_of(spec), std::move(members));
}

/// In the first event with tokens, and in the last one.
static void read_worker(const JsonValue& event, EventReading& reading) {
    const JsonValue said = event.find("nvext");
    for (const auto& [name, into] : {std::pair{"worker_id", &reading.worker_id},
                                     std::pair{"timing", &reading.worker_timing}}) {
        const JsonValue value = said.find(name);
        if (value.present() && !value.is(JsonType::null)) {
            *into = value.raw();
        }
    }
}

static void read_event(const JsonValue& root, EventReading& reading) {
    read_chat_event(root, reading);
    read_worker(root, reading);
}

const Dialect dynamo_dialect{.api = Api::dynamo,
                             .name = "dynamo",
                             .help = "openai-chat with NVIDIA Dynamo's nvext; takes token ids",
                             .default_path = "/v1/chat/completions",
                             .takes_ids = true,
                             .templated = true,
                             .prompt_member = "messages",
                             .length_member = "max_completion_tokens",
                             .has_two_length_names = true,
                             .has_stream_options = true,
                             .tokenize_forms = chat_tokenize_forms,
                             .ignores_named_events = true,
                             .make_body_frame = make_body_frame,
                             .read_event = read_event};

}  // namespace driftless
