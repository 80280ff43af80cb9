/// What the command line tells the mock's core: the pretended server, and its faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/mock/engine_model.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "engine/base/time.hpp"

namespace driftless {
class Tokenizer;
}

namespace driftless::mock {

// What the mock does wrong on purpose (`--fault`, `--fault-row`). No clock, no global randomness:
// the same seed and request meet the same fault.

enum class Fault : std::uint8_t {
    none,
    refuse,     ///< reset the connection: right after accepting it, or at the head of its row
    reset,      ///< reset it in the middle of the answer
    stall,      ///< send no more in the middle of the answer, keep the connection open
    truncate,   ///< close in good order in the middle of the answer, without its last chunk
    malformed,  ///< one event in the middle is broken JSON; the answer goes on
    error,      ///< an error object in the middle of the stream, then [DONE]
    http_429,   ///< 429 with Retry-After
    http_500,   ///< 500 with vLLM's body
    slow,       ///< the first bytes of the answer leave one by one
};

/// As the command line spells it ("429" for http_429), and back.
const char* name_of(Fault fault);
std::optional<Fault> find_fault(std::string_view name);

struct FaultRule {
    Fault fault = Fault::none;
    double probability = 0;  ///< where there is no row
    std::optional<std::uint64_t> row;
};

/// The fault of one request: the first rule for its row, else one drawn from the probabilities by
/// `seed`. Refusal by probability belongs to connections and is left out.
Fault fault_of_request(const std::vector<FaultRule>& rules, std::optional<std::uint64_t> row,
                       std::uint64_t seed);
/// Whether a new connection is refused.
bool refuses_connection(const std::vector<FaultRule>& rules, std::uint64_t seed);

/// The row that a request id names: its digits after the last '-'. None for the probes of a
/// preflight (RequestName) and for ids that end otherwise.
std::optional<std::uint64_t> row_of_request_id(std::string_view id);

// CoreOptions: the pretended server.

/// When answers tell their cached tokens: vLLM's only where there are any, and only if asked to at
/// its start.
enum class CachedReported : std::uint8_t { always, hits, never };

/// Whose endpoint empties the cache: POST /reset_prefix_cache of vLLM, POST /flush_cache of SGLang.
/// `pretended`: both answer 200, as vLLM's does while a request holds blocks, and keep the cache.
enum class CacheReset : std::uint8_t { both, vllm, sglang, none, pretended };

struct CoreOptions {
    ModelLimits model;
    Pace pace;
    std::uint32_t slots = 0;                 ///< answers made at once; more wait, FIFO. 0: all
    std::uint32_t cache_block_tokens = 512;  ///< 0: no prefix cache
    std::size_t cache_blocks_max = 0;        ///< 0: without limit
    TemplateTokens overhead;                 ///< around every text prompt
    std::uint32_t overhead_varies = 0;       ///< up to so many more, by the order of requests
    Tokenizer* tokenizer = nullptr;          ///< outlives the core; nullptr: words are tokens
    WordRules words;                         ///< words that are not one token each
    TokenizeForm tokenize = TokenizeForm::vllm;
    std::optional<TemplateTokens> tokenize_overhead;  ///< what /tokenize counts; else what is true
    std::uint32_t reasoning_tokens = 0;               ///< first tokens of a chat answer
    bool incremental = false;                         ///< SGLang's --incremental-streaming-output
    bool early_headers = true;  ///< the head leaves before the first token, as vLLM's
    bool usage = true;          ///< false: include_usage is ignored
    CachedReported cached_reported = CachedReported::always;
    CacheReset cache_reset = CacheReset::both;
    std::uint32_t keep_alive_requests = 0;  ///< answers per connection; 0: without limit
    Duration keep_alive_timeout{0};         ///< a connection idle for so long is closed; 0: never
    bool announce_keep_alive = true;        ///< both limits are sent in `Keep-Alive`
    std::vector<FaultRule> faults;
    MetricNames metric_names;
    std::string pod;  ///< named in every answer; empty: none
    std::uint64_t seed = 0;
    std::int64_t utc_offset_ns = 0;  ///< Unix time minus the host's clock
    bool keep_log = false;           ///< collect a RequestLog of every completion request
    /// Header fields that say whose request it is; the log has those that came. The first of them
    /// is the session for `check_history`.
    std::vector<std::string> session_headers{
        // Of MLPerf Endpoints, kv-cache-tester, AIPerf, Dynamo and SGLang's router.
        "X-Session-ID",        "X-Correlation-ID",
        "X-Dynamo-Session-ID", "X-Dynamo-Parent-Session-ID",
        "X-Session-Affinity",  "X-SMG-Routing-Key",
    };
    std::uint32_t check_history = 0;  ///< replies that are remembered; 0: no check
};

}  // namespace driftless::mock
