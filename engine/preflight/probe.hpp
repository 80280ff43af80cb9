/// Probe: what the answer to one request for one token says, read whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/preflight/inquiry.hpp"
#include "proto/api/dialect.hpp"

namespace driftless {

/// Numbers are -1 where the server does not say them.
struct Probe {
    bool ok = false;
    int status = 0;       ///< 0: no answer
    std::string message;  ///< what went wrong, in the server's words where it has any, unmasked
    std::int64_t prompt_tokens = -1;
    std::int64_t completion_tokens = -1;
    std::int64_t cached_tokens = -1;
    bool has_token_ids = false;  ///< of the tokens that it made
    std::uint32_t chunks = 0;    ///< events that bear tokens
    std::uint32_t asked = 0;     ///< tokens that it was asked for; 0: no number was named
    /// Tokens of the answer: as counted, else at least one a chunk.
    std::int64_t made() const {
        return completion_tokens >= 0 ? completion_tokens : std::int64_t{chunks};
    }
};

/// A stream of events, or one JSON text (`stream` false, and errors).
Probe read_probe(const Dialect& dialect, bool stream, const Reply& reply);

/// A context in tokens; -1 where it is absent, negative, or more than any prompt can be.
std::int64_t context_of(const JsonValue& value);

/// The context that an info page tells, in tokens: TGI's /info (`max_total_tokens`), llama.cpp's
/// /props (`default_generation_settings.n_ctx`, that of one slot). -1 where it does not.
std::int64_t read_context(std::string_view body);

/// The tokens of a cache block, as a page of metrics tells them (vLLM and what speaks like it,
/// SGLang, Dynamo's frontend); -1 where it does not.
std::int64_t read_cache_block(std::string_view page);

/// Whether a body is a list of models without a model in it.
bool lists_no_model(JsonDocument& document, std::string_view body);

}  // namespace driftless
