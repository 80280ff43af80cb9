#include "cmd/report/server_cache_size.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <variant>

#include "engine/history/run_lines.hpp"
#include "proto/metrics/exposition.hpp"

namespace driftless {

namespace {

using Known = ServerCacheSizes::Known;

constexpr std::string_view vllm_config = "vllm:cache_config_info";
constexpr std::string_view sglang_tokens = "sglang:max_total_num_tokens";
constexpr std::string_view dynamo_blocks = "dynamo_frontend_model_total_kv_blocks";
constexpr std::string_view dynamo_block = "dynamo_frontend_model_kv_cache_block_size";
constexpr std::string_view trtllm_blocks = "trtllm_iteration_kvCacheStats_maxNumBlocks";
constexpr std::string_view trtllm_block = "trtllm_iteration_kvCacheStats_tokensPerBlock";
constexpr std::array telling{vllm_config,  sglang_tokens, dynamo_blocks,
                             dynamo_block, trtllm_blocks, trtllm_block};
/// Ranks of one replica share its cache's places, so that each says the same number.
constexpr std::array<std::string_view, 3> ranks{"tp_rank", "pp_rank", "moe_ep_rank"};
/// More is not a cache but a wrong number.
constexpr double tokens_max = 1e15;

std::string_view label(const ServerSeries& series, std::string_view name) {
    for (const auto& [key, value] : series.labels) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

/// A label that is a whole number above 0; else 0.
double number_label(const ServerSeries& series, std::string_view name) {
    const std::string_view text = label(series, name);
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size()
               ? static_cast<double>(number)
               : 0;
}

/// The series of that name on the latest pages.
std::vector<const Known*> named(const std::vector<Known>& known, std::string_view name) {
    std::vector<const Known*> found;
    for (const Known& one : known) {
        if (one.present && same_metric_name(one.line.name, name)) {
            found.push_back(&one);
        }
    }
    return found;
}

ServerCacheSize sized(double tokens, std::size_t caches, std::string_view metric) {
    if (!(tokens >= 1 && tokens <= tokens_max)) {
        return {};
    }
    return {static_cast<std::uint64_t>(tokens), caches, std::string(metric)};
}

ServerCacheSize vllm_size(const std::vector<Known>& known) {
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
    return engines.empty() ? ServerCacheSize{}
                           : sized(tokens, engines.size(), engines.front()->line.name);
}

ServerCacheSize sglang_size(const std::vector<Known>& known) {
    const std::vector<const Known*> series = named(known, sglang_tokens);
    std::map<std::string, double> replicas;
    for (const Known* one : series) {
        std::string key = one->line.url;
        for (const auto& [name, value] : one->line.labels) {
            if (std::find(ranks.begin(), ranks.end(), name) == ranks.end()) {
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
    return series.empty() ? ServerCacheSize{}
                          : sized(tokens, replicas.size(), series.front()->line.name);
}

/// Blocks times the tokens of a block, joined by the label `by` of one page.
ServerCacheSize product(const std::vector<Known>& known, std::string_view blocks,
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
    return counts.empty() ? ServerCacheSize{} : sized(tokens, 0, counts.front()->line.name);
}

/// Engines' own pages before a gateway's, which may tell of one worker alone.
ServerCacheSize size_of(const std::vector<Known>& known) {
    for (const ServerCacheSize& one : {vllm_size(known), sglang_size(known),
                                       product(known, dynamo_blocks, dynamo_block, "model"),
                                       product(known, trtllm_blocks, trtllm_block, "")}) {
        if (one.tokens > 0) {
            return one;
        }
    }
    return {};
}

}  // namespace

void ServerCacheSizes::begin(std::uint32_t segment) {
    if (segment != segment_) {
        before_ = size();
        segment_ = segment;
        known_.clear();
    }
}

void ServerCacheSizes::add(const ServerLine& line) {
    if (const auto* const series = std::get_if<ServerSeries>(&line)) {
        begin(series->segment);
        if (std::any_of(telling.begin(), telling.end(), [series](std::string_view name) {
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

ServerCacheSize ServerCacheSizes::size() const {
    const ServerCacheSize now = size_of(known_);
    return now.tokens > 0 ? now : before_;
}

Result<ServerCacheSize> read_server_cache_size(const std::string& path, std::string& why) {
    Result<RunLines> lines = RunLines::open(path, why);
    if (!lines) {
        return lines.error();
    }
    ServerCacheSizes sizes;
    JsonDocument document;
    while (const std::optional<std::string_view> text = lines.value().next()) {
        const Result<ServerLine> line = read_server_line(document, *text);
        if (!line) {
            why = describe_line(path, lines.value().number(), line.error());
            return line.error();
        }
        sizes.add(line.value());
    }
    if (lines.value().error()) {
        why = lines.value().why();
        return *lines.value().error();
    }
    return sizes.size();
}

void write_server_cache_size(JsonWriter& json, const ServerCacheSize& size) {
    if (size.tokens == 0) {
        json.null();
        return;
    }
    json.begin_object().key("tokens").unsigned_integer(size.tokens);
    json.key("caches");
    size.caches == 0 ? json.null() : json.unsigned_integer(size.caches);
    json.key("metric").string(size.metric).end_object();
}

}  // namespace driftless
