#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cmd/base/server_metrics.hpp"
#include "cmd/reading/view.hpp"
#include "cmd/report/page.hpp"
#include "engine/plan/forecast.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/json/put.hpp"
#include "proto/metrics/exposition.hpp"
#include "proto/run/server_log.hpp"

namespace driftless {

/// In the order of the enum.
static constexpr std::array<std::string_view, server_figures> units{
    "",       "",       "requests", "requests", "W",      "requests", "tokens",
    "tokens", "tokens", "tokens",   "tokens",   "tokens", "tokens",   "",
    "bytes",  "bytes",  "s",        "s",        "tokens", "tokens"};

static ServerInstant instant_of(const ScrapedPages& pages, std::int64_t t_ns) {
    ServerInstant row{t_ns, pages.segment(), {}};
    for (std::size_t i = 0; i < server_figures; ++i) {
        row.figures[i] = figure_of_all(pages.endpoints(), static_cast<ServerFigure>(i));
    }
    return row;
}

static std::vector<PageColumn> columns_of(const std::vector<ServerInstant>& rows) {
    std::vector<PageColumn> columns;
    columns.emplace_back("t_ns", "ns");
    columns.emplace_back("segment", "");
    for (std::size_t i = 0; i < server_figures; ++i) {
        columns.emplace_back(name_of(static_cast<ServerFigure>(i)), units[i]);
    }
    const std::size_t stride = rows.size() / server_instants_max + 1;
    for (std::size_t at = 0; at < rows.size(); at += stride) {
        columns[0].add_integer(rows[at].t_ns);
        columns[1].add_integer(rows[at].segment);
        for (std::size_t i = 0; i < server_figures; ++i) {
            const std::optional<double> value = rows[at].figures[i];
            columns[i + 2].add(value ? TableCell{CellKind::number, fmt::format("{}", *value)}
                                     : TableCell{});
        }
    }
    return columns;
}

Result<std::vector<ServerInstant>> read_server_instants(const std::string& path, std::string& why) {
    const std::vector<EngineMapping> mappings = known_mappings();
    ScrapedPages pages(mappings);
    std::vector<ServerInstant> rows;
    const Result<void> read = each_server_line(path, why, [&](const ServerLine& line) {
        (void)pages.add(line);
        const auto* const scrape = std::get_if<ServerScrape>(&line);
        if (scrape != nullptr && scrape->error.empty()) {
            rows.push_back(instant_of(pages, scrape->t_ns));
        }
    });
    if (!read) {
        return read.error();
    }
    if (std::ranges::any_of(pages.endpoints(), &EndpointFigures::is_several)) {
        for (ServerInstant& row : rows) {  // also of the pages before that was seen
            row.figures.fill(std::nullopt);
        }
    }
    return rows;
}

Result<std::vector<PageColumn>> read_server_table(const std::string& path, std::string& why) {
    const Result<std::vector<ServerInstant>> rows = read_server_instants(path, why);
    return rows ? Result<std::vector<PageColumn>>(columns_of(rows.value())) : rows.error();
}

namespace {

/// A series that tells a size.
struct Known {
    ServerSeries line;
    double value = 0;
    bool present = false;  ///< on the latest page
};

}  // namespace

static constexpr std::string_view vllm_config = "vllm:cache_config_info";
static constexpr std::string_view sglang_tokens = "sglang:max_total_num_tokens";
static constexpr std::string_view dynamo_blocks = "dynamo_frontend_model_total_kv_blocks";
static constexpr std::string_view dynamo_block = "dynamo_frontend_model_kv_cache_block_size";
static constexpr std::string_view trtllm_blocks = "trtllm_iteration_kvCacheStats_maxNumBlocks";
static constexpr std::string_view trtllm_block = "trtllm_iteration_kvCacheStats_tokensPerBlock";
static constexpr std::array telling{vllm_config,  sglang_tokens, dynamo_blocks,
                                    dynamo_block, trtllm_blocks, trtllm_block};
/// Ranks of one replica share its cache's places, so that each says the same number.
static constexpr std::array<std::string_view, 3> ranks{"tp_rank", "pp_rank", "moe_ep_rank"};
/// More is not a cache but a wrong number.
static constexpr double tokens_max = 1e15;

static std::string_view label(const ServerSeries& series, std::string_view name) {
    for (const auto& [key, value] : series.labels) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

/// A label that is a whole number above 0; else 0.
static double number_label(const ServerSeries& series, std::string_view name) {
    return static_cast<double>(read_number<std::uint64_t>(label(series, name)).value_or(0));
}

/// The series of that name on the latest pages.
static std::vector<const Known*> named(const std::vector<Known>& known, std::string_view name) {
    std::vector<const Known*> found;
    for (const Known& one : known) {
        if (one.present && same_metric_name(one.line.name, name)) {
            found.push_back(&one);
        }
    }
    return found;
}

/// As the first of these series says it; none where the number cannot be right.
static ServerCacheSize sized(double tokens, std::size_t caches,
                             const std::vector<const Known*>& series) {
    if (!(tokens >= 1 && tokens <= tokens_max)) {
        return {};
    }
    return {static_cast<std::uint64_t>(tokens), caches, series.front()->line.name};
}

static ServerCacheSize vllm_size(const std::vector<Known>& known) {
    const std::vector<const Known*> engines = named(known, vllm_config);
    double tokens = 0;
    std::map<std::pair<std::string, std::string>, double> servers;
    bool all_told = true;
    for (const Known* engine : engines) {
        const double told = number_label(engine->line, "kv_cache_size_tokens");
        tokens += told;
        all_told = all_told && told > 0;
        double& blocks =
            servers[{engine->line.url, std::string(label(engine->line, "worker_addr"))}];
        blocks = std::max(blocks, number_label(engine->line, "num_gpu_blocks") *
                                      number_label(engine->line, "block_size"));
    }
    if (!all_told) {
        tokens = 0;
        for (const auto& [server, blocks] : servers) {
            tokens += blocks;
        }
    }
    return sized(tokens, engines.size(), engines);
}

static ServerCacheSize sglang_size(const std::vector<Known>& known) {
    const std::vector<const Known*> series = named(known, sglang_tokens);
    std::map<std::string, double> replicas;
    for (const Known* one : series) {
        std::string key = one->line.url;
        for (const auto& [name, value] : one->line.labels) {
            if (std::ranges::find(ranks, name) == ranks.end()) {
                key.append("\n").append(name).append("=").append(value);
            }
        }
        double& tokens = replicas[key];
        tokens = std::max(tokens, one->value);
    }
    double tokens = 0;
    for (const auto& [key, one] : replicas) {
        tokens += one;
    }
    return sized(tokens, replicas.size(), series);
}

/// Blocks times the tokens of a block, joined by the label `by` of one page.
static ServerCacheSize product(const std::vector<Known>& known, std::string_view blocks,
                               std::string_view block, std::string_view by) {
    const std::vector<const Known*> counts = named(known, blocks);
    double tokens = 0;
    for (const Known* count : counts) {
        for (const Known* size : named(known, block)) {
            const bool same = size->line.url == count->line.url &&
                              label(size->line, by) == label(count->line, by);
            tokens += same ? count->value * size->value : 0;
        }
    }
    return sized(tokens, 0, counts);
}

/// Engines' own pages before a gateway's, which may tell of one worker alone.
static ServerCacheSize size_of(const std::vector<Known>& known) {
    for (const ServerCacheSize& one : {vllm_size(known), sglang_size(known),
                                       product(known, dynamo_blocks, dynamo_block, "model"),
                                       product(known, trtllm_blocks, trtllm_block, "")}) {
        if (one.tokens > 0) {
            return one;
        }
    }
    return {};
}

namespace {

/// Fed with the lines of a file in their order.
class ServerCacheSizes {
  public:
    void add(const ServerLine& line) {
        if (const auto* const series = std::get_if<ServerSeries>(&line)) {
            begin(series->segment);
            if (std::ranges::any_of(telling, [series](std::string_view name) {
                    return same_metric_name(series->name, name);
                })) {
                known_.push_back({*series, 0, false});
            }
            return;
        }
        const auto& scrape = std::get<ServerScrape>(line);
        begin(scrape.segment);
        for (const ServerValue& one : scrape.changed) {
            for (Known& known : known_) {
                if (known.line.series == one.series) {
                    known.present = one.value.has_value();
                    known.value = one.value.value_or(0);
                }
            }
        }
    }
    /// Of the last segment that tells one, by the last values.
    ServerCacheSize size() const {
        const ServerCacheSize now = size_of(known_);
        return now.tokens > 0 ? now : before_;
    }

  private:
    void begin(std::uint32_t segment) {
        if (segment != segment_) {
            before_ = size();
            segment_ = segment;
            known_.clear();
        }
    }

    std::uint32_t segment_ = 0;
    std::vector<Known> known_;
    ServerCacheSize before_;  ///< of segments before this one
};

}  // namespace

Result<ServerCacheSize> read_server_cache_size(const std::string& path, std::string& why) {
    ServerCacheSizes sizes;
    const Result<void> read =
        each_server_line(path, why, [&sizes](const ServerLine& line) { sizes.add(line); });
    return read ? Result<ServerCacheSize>(sizes.size()) : Result<ServerCacheSize>(read.error());
}

void put_value(JsonWriter& json, const ServerCacheSize& size) {
    if (size.tokens == 0) {
        json.null();
        return;
    }
    put_object(json, {{"tokens", size.tokens},
                      {"caches", known_if(size.caches > 0, size.caches)},
                      {"metric", size.metric}});
}

namespace {

/// A node of the tree of prefixes: one block.
struct PrefixBlock {
    std::int64_t parent = -1;
    std::uint32_t depth = 0;
    std::uint32_t prompts = 0;
    std::uint32_t reported = 0;
    std::uint32_t hits = 0;
};

}  // namespace

static void count(std::vector<PrefixBlock>& blocks, std::span<const std::uint32_t> nodes,
                  const SentPrompt& prompt, std::uint32_t block_size) {
    std::int64_t parent = -1;
    for (std::uint32_t depth = 0; depth < nodes.size(); ++depth) {
        const std::uint32_t node = nodes[depth];
        if (node >= blocks.size()) {
            blocks.resize(std::max<std::size_t>(node + 1, blocks.size() + blocks.size() / 2));
        }
        PrefixBlock& block = blocks[node];
        block.parent = parent;
        block.depth = depth;
        ++block.prompts;
        block.reported += prompt.cached_tokens ? 1 : 0;
        const std::int64_t end = (std::int64_t{depth} + 1) * block_size;
        block.hits += prompt.cached_tokens.value_or(0) >= end ? 1 : 0;
        parent = node;
    }
}

/// Blocks that at least `from` prompts have, those of the same prompts joined. `order`: by depth.
static std::vector<SharedPrefix> joined(const std::vector<PrefixBlock>& blocks,
                                        const std::vector<std::uint32_t>& order, std::uint64_t from,
                                        std::uint32_t block_size) {
    std::vector<SharedPrefix> prefixes;
    std::vector<std::int64_t> place(blocks.size(), -1);  // [node] its prefix
    for (const std::uint32_t node : order) {
        const PrefixBlock& block = blocks[node];
        if (block.prompts < from) {
            continue;
        }
        const std::int64_t above =
            block.parent < 0 ? -1 : place[static_cast<std::size_t>(block.parent)];
        SharedPrefix* const before =
            above < 0 ? nullptr : &prefixes[static_cast<std::size_t>(above)];
        if (before != nullptr && before->prompts == block.prompts && before->hits == block.hits) {
            before->tokens += block_size;
            place[node] = above;
            continue;
        }
        place[node] = static_cast<std::int64_t>(prefixes.size());
        prefixes.push_back({above, std::uint64_t{block.depth} * block_size, block_size,
                            block.prompts, block.reported, block.hits});
    }
    return prefixes;
}

PrefixForecast forecast_prefixes(const Trace& trace, const std::vector<SentPrompt>& sent) {
    if (trace.block_size == 0 || trace.ids.empty()) {
        return {.why_not = "The trace has no block ids, so prompt sharing is not known."};
    }
    std::vector<const TraceRow*> rows(trace.rows.size(), nullptr);  // by index
    for (const TraceRow& row : trace.rows) {
        if (row.index < rows.size()) {
            rows[row.index] = &row;
        }
    }
    PrefixForecast forecast;
    PrefixTree tree(trace);
    CapacityCounter counter(trace, 1);
    std::vector<PrefixBlock> blocks;
    for (const SentPrompt& prompt : sent) {
        const TraceRow* const row = prompt.row < rows.size() ? rows[prompt.row] : nullptr;
        if (row == nullptr || prompt.input_length != std::int64_t{row->input_length}) {
            return {.why_not =
                        "The trace was read with other flags, so its rows are not those sent."};
        }
        const std::span<const std::uint32_t> nodes = tree.nodes(tree.enter(*row));
        counter.add(*row, nodes);
        count(blocks, nodes, prompt, trace.block_size);
        if (prompt.cached_tokens) {
            forecast.cached_tokens += static_cast<std::uint64_t>(*prompt.cached_tokens);
            forecast.reported_tokens += row->input_length;
        }
    }
    forecast.capacity = counter.figures();
    std::vector<std::uint32_t> order;
    for (std::uint32_t node = 0; node < blocks.size(); ++node) {
        if (blocks[node].prompts >= forecast.shown_from) {
            order.push_back(node);
        }
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t node) { return blocks[node].depth; });
    forecast.prefixes = joined(blocks, order, forecast.shown_from, trace.block_size);
    while (forecast.prefixes.size() > shared_prefixes_max) {
        forecast.shown_from *= 2;
        forecast.prefixes = joined(blocks, order, forecast.shown_from, trace.block_size);
    }
    return forecast;
}

PrefixForecast forecast_prefixes(const ReportedRun& run, const std::vector<SentPrompt>& sent) {
    TraceFiles files;
    files.paths = run.info.run.trace_paths;
    std::uint64_t bytes = 0;
    for (const std::string& path : files.paths) {
        const Result<std::vector<std::string>> all = expand_path(path);
        for (const std::string& file : all ? all.value() : std::vector<std::string>{path}) {
            std::error_code failed;
            bytes += std::filesystem::file_size(file, failed);
            if (failed) {
                return {.why_not = "The trace no longer exists: " + file};
            }
        }
    }
    if (bytes > forecast_trace_bytes_max) {
        return {.why_not = "The trace is too large to read again for this page."};
    }
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    if (files.paths.empty() || !read_trace(files, trace, errors, notes) ||
        trace.digest != run.facts.trace_digest) {
        return {.why_not = "The trace's files have changed since the run, or need flags."};
    }
    return forecast_prefixes(trace, sent);
}

void put_value(JsonWriter& json, const PrefixForecast& forecast) {
    if (!forecast.why_not.empty()) {
        put_object(json, {{"why_not", forecast.why_not}});
        return;
    }
    const CapacityFigures& capacity = forecast.capacity;
    const auto put_point = [](JsonWriter& to, const CapacityPoint& point) {
        put_value(to, std::vector{point.blocks, point.hit_tokens});
    };
    const auto put_prefix = [](JsonWriter& to, const SharedPrefix& one) {
        to.begin_array().integer(one.parent);
        for (const std::uint64_t value :
             {one.begin, one.tokens, one.prompts, one.reported, one.hits}) {
            to.unsigned_integer(value);
        }
        to.end_array();
    };
    put_object(json, {{"block_size", capacity.block_size},
                      {"input_tokens", capacity.input_tokens},
                      {"cached_tokens", forecast.cached_tokens},
                      {"reported_tokens", forecast.reported_tokens},
                      {"shown_from", forecast.shown_from},
                      {"curve", put_each(capacity.curve, put_point)},
                      {"prefixes", put_each(forecast.prefixes, put_prefix)}});
}

}  // namespace driftless
