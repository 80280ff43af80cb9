/// Everything the mock answers at once: heads, errors, and the pages beside completions.
///
/// Each function appends a whole response (or only a head) to `out`. Values in, bytes out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cmd/mock/asked.hpp"

namespace driftless::mock {

/// Whose names /metrics uses; neither: there is no such page.
struct MetricNames {
    bool vllm = true;
    bool sglang = true;
};

/// The counters behind /metrics. Sums since the start.
struct Metrics {
    std::uint64_t prompt_tokens = 0;
    std::uint64_t generation_tokens = 0;
    std::uint64_t cache_queries = 0;  ///< prompt tokens that were looked up
    std::uint64_t cache_hits = 0;     ///< of these, found
    std::uint64_t requests_ok = 0;
    std::uint64_t requests_failed = 0;
    std::uint64_t running = 0;             ///< now
    std::uint64_t waiting = 0;             ///< now
    std::uint64_t cache_blocks = 0;        ///< that the cache holds at most; 0: without limit
    std::uint64_t cache_block_tokens = 0;  ///< of each
};

/// What every response of a connection needs to know.
struct Reply {
    std::string_view request_id;  ///< echoed as X-Request-Id; empty: none was sent
    bool close = false;           ///< `Connection: close`
    std::string_view pod;         ///< said as target-pod, as AIBrix's gateway does; empty: not
    /// Told in `Keep-Alive` where it is not 0, and `close` is not set.
    std::uint32_t timeout_s = 0;
    std::uint32_t answers_max = 0;
};

/// The head of a streamed answer: events in HTTP chunks.
void append_stream_head(std::string& out, const Reply& reply, std::string_view content_type);
/// A whole response with a length. `extra_fields` are whole header lines.
void append_page(std::string& out, const Reply& reply, int status, std::string_view content_type,
                 std::string_view body, std::string_view extra_fields = {});

/// An error body under the refusal's status: as `write` has it, else vLLM's.
void append_refusal(std::string& out, const Reply& reply, const Refusal& refusal,
                    void (*write)(std::string& out, const Refusal& refusal),
                    std::string_view extra_fields = {});
/// FastAPI's 404 and 405.
void append_not_found(std::string& out, const Reply& reply);
void append_method_not_allowed(std::string& out, const Reply& reply, std::string_view allowed);
/// uvicorn's answer to what is no HTTP; 431 where only the head was too large.
void append_bad_http(std::string& out, bool head_too_large);

void append_models(std::string& out, const Reply& reply, const ModelLimits& model,
                   std::int64_t created_s);
/// With count and limit, as vLLM and SGLang answer; only the tokens, as llama.cpp does; or an array
/// with one object per token, as TGI does.
void append_tokenized(std::string& out, const Reply& reply, const ModelLimits& model,
                      std::span<const std::uint32_t> tokens, TokenizeForm form);
/// llama.cpp's /props, with the one member that clients read: the context of a slot.
void append_props(std::string& out, const Reply& reply, const ModelLimits& model);
/// TGI's /info, likewise.
void append_info(std::string& out, const Reply& reply, const ModelLimits& model);
/// llama.cpp's /apply-template; `escaped` is JSON text without its quotes.
void append_templated(std::string& out, const Reply& reply, std::string_view escaped);
void append_metrics(std::string& out, const Reply& reply, const ModelLimits& model,
                    const Metrics& metrics, MetricNames names);

}  // namespace driftless::mock
