/// How many tokens the servers' KV caches hold, by what their own pages of metrics say: from the
/// lines of server.jsonl. Reads the file, prints nothing.
///
/// | engine | from |
/// |---|---|
/// | vLLM, llm-d-inference-sim | labels of `vllm:cache_config_info`: `kv_cache_size_tokens` of each
/// | | engine; else `num_gpu_blocks` x `block_size`, which is the sum of its engines |
/// | SGLang | `sglang:max_total_num_tokens`, the highest of tensor, pipeline and expert ranks |
/// | Dynamo's frontend | `dynamo_frontend_model_total_kv_blocks` x `.._kv_cache_block_size`: of one
/// | | worker of each model |
/// | TensorRT-LLM | `maxNumBlocks` x `tokensPerBlock` of `kvCacheStats` (by its documentation) |
///
/// Other servers do not report it, and it is not guessed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/write.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

struct ServerCacheSize {
    std::uint64_t tokens = 0;  ///< of all caches together; 0: no server says it
    std::uint64_t caches = 0;  ///< that hold them, each for itself; 0: nobody says how many
    std::string metric;        ///< that says it, as served
};

/// Fed with the lines of a file in their order. Keeps only series that tell a size.
class ServerCacheSizes {
  public:
    void add(const ServerLine& line);
    /// Of the last segment that tells one, by the last values.
    ServerCacheSize size() const;

    struct Known {
        ServerSeries line;
        double value = 0;
        bool present = false;  ///< on the latest page
    };

  private:
    void begin(std::uint32_t segment);

    std::uint32_t segment_ = 0;
    std::vector<Known> known_;
    ServerCacheSize before_;  ///< of segments before this one
};

/// Without a file: no size. Errors: of reading it; `why` says it.
Result<ServerCacheSize> read_server_cache_size(const std::string& path, std::string& why);

/// An object, or null where no server says it.
void write_server_cache_size(JsonWriter& json, const ServerCacheSize& size);

}  // namespace driftless
