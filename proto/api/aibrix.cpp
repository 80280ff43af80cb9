// AIBrix's gateway: OpenAI's chat, with headers that say how to route (`--routing-strategy`,
// `--user`), and answers that say which pod gave them.
#include "proto/api/dialect.hpp"

namespace driftless {

const Dialect aibrix_dialect{.api = Api::aibrix,
                             .name = "aibrix",
                             .help = "openai-chat with the headers of AIBrix's gateway",
                             .default_path = "/v1/chat/completions",
                             .framing = Framing::sse,
                             .takes_ids = false,
                             .has_ignore_eos = true,
                             .templated = true,
                             .prompt_member = "messages",
                             .length_member = "max_completion_tokens",
                             .has_two_length_names = true,
                             .has_stream_options = true,
                             .recorded_headers = {"target-pod", "target-pod-ip", "request-id"},
                             .tokenize_forms = chat_tokenize_forms,
                             .has_routing_headers = true,
                             .ignores_named_events = true,
                             .make_body_frame = make_chat_frame,
                             .read_event = read_chat_event};

}  // namespace driftless
