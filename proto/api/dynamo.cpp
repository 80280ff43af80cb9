// NVIDIA Dynamo: OpenAI's chat with an `nvext`, by which token ids can stand in for the messages
// and workers tell who they are. Its annotations are events of names of their own, and mean nothing
// here.
#include "proto/api/dialects.hpp"
#include "proto/api/openai_common.hpp"

namespace driftless {

namespace {

constexpr std::string_view extra_fields = R"("extra_fields":["worker_id","timing"])";

// The messages are asked for, too, and not read.
Result<BodyFrame> make_ids_frame(const BodySpec& spec, const std::string& nvext) {
    const std::string open = "{" + nvext + R"(,"token_data":[)";
    const BodyShape shape{"nvext", open, "]}", "max_completion_tokens", ""};
    BodyMembers members = openai_members(spec);
    members.first.push_back({"messages", R"([{"role":"user","content":"-"}])"});
    return make_frame(spec, shape, std::move(members));
}

Result<BodyFrame> make_body_frame(const BodySpec& spec) {
    std::string nvext(extra_fields);
    if (spec.output == OutputRule::exact && spec.ignore_eos) {
        nvext += R"(,"ignore_eos":true)";
    }
    if (spec.prompt == PromptKind::ids) {
        return make_ids_frame(spec, nvext);
    }
    BodyMembers members = openai_members(spec);
    members.last.push_back({"nvext", "{" + nvext + "}"});
    return make_frame(spec, chat_shape, std::move(members));
}

}  // namespace

const Dialect dynamo_dialect{.api = Api::dynamo,
                             .name = "dynamo",
                             .default_path = "/v1/chat/completions",
                             .framing = Framing::sse,
                             .takes_ids = true,
                             .has_ignore_eos = true,
                             .templated = true,
                             .prompt_member = "messages",
                             .length_member = "max_completion_tokens",
                             .make_body_frame = make_body_frame,
                             .read_event = read_chat_event};

}  // namespace driftless
