/// The tables of all dialects, each defined in the file of its name. Internal to proto/api: others
/// ask `find_dialect` or `dialect_of`.
#pragma once

#include "proto/api/dialect.hpp"

namespace driftless {

extern const Dialect openai_chat_dialect;
extern const Dialect openai_completions_dialect;
extern const Dialect openai_responses_dialect;
extern const Dialect anthropic_dialect;
extern const Dialect llamacpp_dialect;
extern const Dialect sglang_dialect;
extern const Dialect tgi_dialect;
extern const Dialect ollama_dialect;
extern const Dialect triton_dialect;
extern const Dialect aibrix_dialect;
extern const Dialect dynamo_dialect;
extern const Dialect template_dialect;

}  // namespace driftless
