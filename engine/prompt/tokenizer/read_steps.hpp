/// The parts of a tokenizer.json that are lists of steps, read into what runs them. Internal to
/// `read_tokenizer`.
///
/// Each returns false, and says why, at the first thing it does not know. Sequences within
/// sequences are flattened with a bound, never by recursion.
#pragma once

#include <string>

#include "engine/prompt/tokenizer/tokenizer.hpp"
#include "proto/json/document.hpp"

namespace driftless {

bool read_normalizer(JsonValue json, Normalizer& normalizer, std::string& why);
/// `byte_level`: pieces are merged from bytes.
bool read_pre_tokenizer(JsonValue json, Splitter& splitter, bool& byte_level, std::string& why);
bool read_decoder(JsonValue json, bool byte_level, Decoder& decoder, std::string& why);
bool read_post_processor(JsonValue json, std::vector<TokenId>& before, std::vector<TokenId>& after,
                         std::string& why);

/// The elements of a step that may be a sequence of steps, each of which may be one again; `list`
/// is the name under which a sequence has its elements. Nothing where the nesting has no end.
std::vector<JsonValue> flatten_steps(JsonValue step, std::string_view list);

}  // namespace driftless
