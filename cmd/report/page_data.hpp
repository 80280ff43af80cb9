/// What the page of a run draws beside its records: the servers' own figures over time, how large
/// their caches are, and what the prompts of the trace share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/cache_capacity.hpp"
#include "cmd/report/page.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "proto/core/result.hpp"
#include "proto/json/write.hpp"
#include "proto/metrics/server_figure.hpp"
#include "proto/run/record.hpp"
#include "proto/run/server_line.hpp"

namespace driftless {

// The servers' own figures over time, from the lines of server.jsonl: what the page draws them
// from. Reads the file, prints nothing.

/// So many instants are kept at most; of more every second one, or every third. A chart is not
/// wider.
inline constexpr std::size_t server_instants_max = 4000;

/// What all servers together said of themselves once one more page of them was read.
struct ServerInstant {
    std::int64_t t_ns = 0;
    std::uint32_t segment = 0;
    std::array<std::optional<double>, server_figures> figures;  ///< [ServerFigure]
};

/// An instant for each page that was read, in the order of the file; none without a file. Counters
/// are what they grew by since the first page of the segment. Errors: of reading it; `why` says it.
Result<std::vector<ServerInstant>> read_server_instants(const std::string& path, std::string& why);

/// `t_ns`, `segment`, and a column for each figure of ServerFigure, under its name: of all pages
/// together, counters as what they grew by since the first page of the segment. A row for each page
/// that was read; none without a file. Errors: of reading it; `why` says it.
Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why);

// How many tokens the servers' KV caches hold, by what their own pages of metrics say: from the
// lines of server.jsonl. Reads the file, prints nothing.
//
// | engine | from |
// |---|---|
// | vLLM, llm-d-inference-sim | labels of `vllm:cache_config_info`: `kv_cache_size_tokens` of each
// | | engine; else `num_gpu_blocks` x `block_size`, which is the sum of its engines |
// | SGLang | `sglang:max_total_num_tokens`, the highest of tensor, pipeline and expert ranks |
// | Dynamo's frontend | `dynamo_frontend_model_total_kv_blocks` x `.._kv_cache_block_size`: of one
// | | worker of each model |
// | TensorRT-LLM | `maxNumBlocks` x `tokensPerBlock` of `kvCacheStats` (by its documentation) |
//
// Other servers do not report it, and it is not guessed.

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

// What the prompts of a run share, from its trace, which is read again: the hit rate of a prefix
// cache by its size, and the tree of shared prefixes with what the server has hit of each. For the
// page; prints nothing.

/// A request that was sent, as far as the forecast needs it.
struct SentPrompt {
    std::uint32_t row = 0;
    OptionalNs input_length;
    OptionalNs cached_tokens;
};

/// Consecutive blocks that the same prompts have in common.
struct SharedPrefix {
    std::int64_t parent = -1;  ///< index of the prefix before it; -1: a prompt begins with it
    std::uint64_t begin = 0;   ///< tokens of the prompt before it
    std::uint64_t tokens = 0;
    std::uint64_t prompts = 0;   ///< that have it
    std::uint64_t reported = 0;  ///< of these, the server said what it had cached
    std::uint64_t hits = 0;      ///< of these, it took all of it from the cache
};

struct PrefixForecast {
    std::string why_not;  ///< a sentence for people; empty: the rest holds
    CapacityFigures capacity;
    std::uint64_t cached_tokens = 0;    ///< as reported
    std::uint64_t reported_tokens = 0;  ///< of the prompts whose server said what it had cached
    std::uint64_t shown_from = 2;       ///< prefixes of fewer prompts are left out
    std::vector<SharedPrefix> prefixes;
};

/// Larger traces are not read again: a page is to be there a second after the run.
inline constexpr std::uint64_t forecast_trace_bytes_max = std::uint64_t{64} << 20;
/// The most that a chart can show apart.
inline constexpr std::size_t shared_prefixes_max = 2000;

/// `sent` in the order in which they left.
PrefixForecast forecast_prefixes(const Trace& trace, const std::vector<SentPrompt>& sent);
/// The same, where the files of the trace are still those of the run.
PrefixForecast forecast_prefixes(const ReportedRun& run, const std::vector<SentPrompt>& sent);

void write_forecast(JsonWriter& json, const PrefixForecast& forecast);

}  // namespace driftless
