/// CoreOptions: the pretended server. The values of the command line that the core needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/mock/engine_model.hpp"
#include "cmd/mock/faults.hpp"
#include "cmd/mock/pages.hpp"
#include "cmd/mock/prompt_count.hpp"
#include "engine/base/time.hpp"

namespace driftless {
class Tokenizer;
}

namespace driftless::mock {

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
