/// The tables of all dialects, each defined in the file of its name. Internal to proto/api: others
/// ask `find_dialect` or `dialect_of`.
#pragma once

#include "proto/api/dialect.hpp"

namespace driftless {

extern const Dialect openai_chat_dialect;
extern const Dialect openai_completions_dialect;
extern const Dialect llamacpp_dialect;

}  // namespace driftless
