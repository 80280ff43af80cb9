/// Pages: the shell that all of them share, their columns, the page of a run, and what it draws
/// beside its records: the servers' own figures, how large their caches are, what prompts share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/reading/prefix_cache.hpp"
#include "cmd/reading/why.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "proto/core/errors.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// The files that the page of a run is made of (page/), and the parts of d3 that it draws with, put
// into the program when it is built.

struct ShippedPagePart {
    std::string_view name;  ///< of the file, up to its first point: "chart", "d3-scale", "style"
    std::string_view text;
};
/// By path.
std::span<const ShippedPagePart> shipped_page();

// The shell of a page: one HTML file that asks for nothing, with d3, the scripts that every page
// draws with, and scripts and data of its own. Pure; the files lie in page/.

/// `scripts` are names of files of page/, in the order in which they need each other; before them
/// stand d3 and the shared ones: columns, statistics, words, parts, draw, pointer, fingers, keys,
/// chart, whole. `data` is JSON, which they find as the text of the element `data`. What comes from
/// outside may be in `title` and `data`: both are escaped.
std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data);

/// PageColumn: one column of a table as the page holds it: small, and each value exact. A plain
/// value; page/columns.js reads it back.
///
/// Whole numbers are zigzag varints (0: null, else the number's code + 1) in base64, each minus a
/// base: the value before it, or those of other columns in its row, whichever is shorter. Where all
/// codes are equal there is only that one. Fractions are doubles in base64, texts a list and the
/// column of their numbers.
class PageColumn {
  public:
    explicit PageColumn(const Figure& figure) : figure_(figure) {}
    /// A column of numbers.
    PageColumn(std::string name, std::string_view unit);

    /// The cell of the next row. In a column of numbers, what is not one is null.
    void add(const TableCell& cell);
    /// The same of a column of numbers.
    void add_integer(std::int64_t value);
    /// The same, rounded; what is not finite is null.
    void add_rounded(double value);
    const std::string& name() const { return figure_.name; }
    std::size_t rows() const { return std::max(integers_.size(), fractions_.size()); }
    /// Null where it is unknown, or the column is one of fractions. Of a text: its number, from 1.
    OptionalNs integer(std::size_t row) const {
        return row < integers_.size() ? integers_[row] : OptionalNs();
    }
    /// Appends the column as an object. The bases, where not null, are in the same table before
    /// it: a value is its code plus that of `plus`, minus that of `minus`.
    void write(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const;

  private:
    void add_number(const std::string& digits);
    void add_text(const std::string& text);
    void write_integers(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const;
    void write_fractions(JsonWriter& json) const;

    Figure figure_;
    bool has_fractions_ = false;
    std::vector<OptionalNs> integers_;  ///< of texts: their numbers, from 1
    std::vector<double> fractions_;     ///< NaN is null
    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::int64_t> numbers_;
};

/// All columns of a table, each after its bases.
void put_value(JsonWriter& json, const std::vector<PageColumn>& columns);

/// So many records are on a page at most; of more it has every second one, or every third, and
/// says so. 50,000 are about 8 MB, which browsers draw without a pause that people notice.
inline constexpr std::uint64_t page_records_max = 50'000;

/// The page of a run, with its charts, its tables and the records behind them, from its files.
/// Errors: those of reading them; `why` says it.
Result<std::string> page_of(const ReportedRun& run, std::string& why,
                            std::uint64_t records_max = page_records_max);

// The servers' own figures over time, from the lines of server.jsonl.

/// So many instants are kept at most; of more every second one, or every third. A chart is not
/// wider.
inline constexpr std::size_t server_instants_max = 4000;

/// An instant for each page that was read, in the order of the file; none without a file. Errors:
/// of reading it; `why` says it.
Result<std::vector<ServerInstant>> read_server_instants(const std::string& path, std::string& why);

/// `t_ns`, `segment`, and a column for each figure of ServerFigure, under its name: of all pages
/// together, counters as what they grew by since the first page of the segment. A row for each page
/// that was read; none without a file. Errors: of reading it; `why` says it.
Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why);

// How many tokens the servers' KV caches hold, by what their own pages of metrics say: from the
// lines of server.jsonl.
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

/// Without a file: no size. Errors: of reading it; `why` says it.
Result<ServerCacheSize> read_server_cache_size(const std::string& path, std::string& why);

/// An object, or null where no server says it.
void put_value(JsonWriter& json, const ServerCacheSize& size);

// What the prompts of a run share, from its trace, which is read again: the hit rate of a prefix
// cache by its size, and the tree of shared prefixes with what the server has hit of each.

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
    CapacityFigures capacity = {};
    std::uint64_t cached_tokens = 0;    ///< as reported
    std::uint64_t reported_tokens = 0;  ///< of the prompts whose server said what it had cached
    std::uint64_t shown_from = 2;       ///< prefixes of fewer prompts are left out
    std::vector<SharedPrefix> prefixes = {};
};

/// Larger traces are not read again: a page is to be there a second after the run.
inline constexpr std::uint64_t forecast_trace_bytes_max = std::uint64_t{64} << 20;
/// The most that a chart can show apart.
inline constexpr std::size_t shared_prefixes_max = 2000;

/// `sent` in the order in which they left.
PrefixForecast forecast_prefixes(const Trace& trace, const std::vector<SentPrompt>& sent);
/// The same, where the files of the trace are still those of the run.
PrefixForecast forecast_prefixes(const ReportedRun& run, const std::vector<SentPrompt>& sent);

void put_value(JsonWriter& json, const PrefixForecast& forecast);

}  // namespace driftless
