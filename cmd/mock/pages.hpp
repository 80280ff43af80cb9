/// What a request asks for, and what the mock answers at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/mock/prompt_count.hpp"
#include "engine/base/time.hpp"
#include "proto/http/parsers.hpp"
#include "proto/json/document.hpp"

namespace driftless::mock {

// What a request asks for, read from the frame of its body and checked as vLLM checks it.

/// The values of a completion request that change its answer; all others are accepted and ignored.
struct Asked {
    bool stream = false;
    bool include_usage = false;
    bool continuous_usage = false;
    std::uint32_t output_tokens = 16;  ///< vLLM's default for completions
};

/// Where an API's requests say what they ask for.
struct AskedShape {
    std::string_view text = {};  ///< the member that holds the prompt as text; empty: none does
    std::string_view ids = {};   ///< the one that holds it as token ids
    bool messages = false;       ///< the prompt is the text of `messages`
    std::string_view nest = {};  ///< the member whose object holds the length; empty: the top
    std::string_view length = {};
    std::string_view length_too = {};  ///< its older name
    bool has_options = false;          ///< `stream_options`; elsewhere usage comes unasked
    enum class Streams : std::uint8_t { asked, unless_refused, always, never };
    Streams streams = Streams::asked;  ///< by `stream`, which may be true where absent; by path
};

/// A refusal, as it goes into an error body.
struct Refusal {
    int status = 400;
    const char* type = "BadRequestError";
    std::string message;
};

/// The limits of the pretended model.
struct ModelLimits {
    std::string name = "mock-model";
    std::uint32_t context_tokens = 1u << 20;  ///< --max-model-len: prompt and answer together
    std::string owned_by = "driftless-mock";  ///< in /v1/models: "vllm", "sglang"
    bool takes_ignore_eos = true;             ///< false: a 400, as OpenAI's own servers give
    bool knows_new_length = true;  ///< false: `max_completion_tokens` is ignored, as AIBrix's mock
};

/// Whose /tokenize is played: what it takes differs from server to server.
enum class TokenizeForm : std::uint8_t {
    vllm,       ///< `messages` or `prompt`
    sglang,     ///< `prompt`, as it stands; at /v1/tokenize, too
    llama_cpp,  ///< `content`, as it stands; /apply-template makes text of `messages`
    tgi,        ///< `inputs`; the model's limits are at /info
    none,       ///< no such page
};

// Everything the mock answers at once: heads, errors, and the pages beside completions.
//
// Each function appends a whole response (or only a head) to `out`. Values in, bytes out.

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
/// uvicorn's answer to what is no HTTP; 431 where only the head was too large.
void append_bad_http(std::string& out, bool head_too_large);

/// With count and limit, as vLLM and SGLang answer; only the tokens, as llama.cpp does; or an array
/// with one object per token, as TGI does.
void append_tokenized(std::string& out, const Reply& reply, const ModelLimits& model,
                      std::span<const std::uint32_t> tokens, TokenizeForm form);
/// llama.cpp's /apply-template; `escaped` is JSON text without its quotes.
void append_templated(std::string& out, const Reply& reply, std::string_view escaped);
// What the mock answers beside completions and tokenizing: its pages, by path and method.

class MockCore;

/// Appends the response to a request for a page: the page, a 404 or a 405. Empties the cache if the
/// page does.
void answer_page(std::string& out, const Reply& reply, const RequestParser& head, MockCore& core,
                 Instant now);

}  // namespace driftless::mock
