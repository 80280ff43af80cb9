#include "cmd/report/prefix_forecast.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "engine/input/paths.hpp"
#include "engine/input/trace_file.hpp"
#include "engine/plan/prefix_tree.hpp"

namespace driftless {

namespace {

/// A node of the tree of prefixes: one block.
struct PrefixBlock {
    std::int64_t parent = -1;
    std::uint32_t depth = 0;
    std::uint32_t prompts = 0;
    std::uint32_t reported = 0;
    std::uint32_t hits = 0;
};

PrefixForecast without(std::string why) {
    PrefixForecast forecast;
    forecast.why_not = std::move(why);
    return forecast;
}

void count(std::vector<PrefixBlock>& blocks, std::span<const std::uint32_t> nodes,
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
std::vector<SharedPrefix> joined(const std::vector<PrefixBlock>& blocks,
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

}  // namespace

PrefixForecast forecast_prefixes(const Trace& trace, const std::vector<SentPrompt>& sent) {
    if (trace.block_size == 0 || trace.ids.empty()) {
        return without("The trace has no block ids, so prompt sharing is not known.");
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
            return without("The trace was read with other flags, so its rows are not those sent.");
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
    std::stable_sort(order.begin(), order.end(), [&blocks](std::uint32_t a, std::uint32_t b) {
        return blocks[a].depth < blocks[b].depth;
    });
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
                return without("The trace no longer exists: " + file);
            }
        }
    }
    if (bytes > forecast_trace_bytes_max) {
        return without("The trace is too large to read again for this page.");
    }
    Trace trace;
    InputErrors errors;
    std::vector<std::string> notes;
    if (files.paths.empty() || !read_trace(files, trace, errors, notes) ||
        trace.digest != run.facts.trace_digest) {
        return without("The trace's files have changed since the run, or need flags.");
    }
    return forecast_prefixes(trace, sent);
}

void write_forecast(JsonWriter& json, const PrefixForecast& forecast) {
    json.begin_object();
    if (!forecast.why_not.empty()) {
        json.key("why_not").string(forecast.why_not).end_object();
        return;
    }
    const CapacityFigures& capacity = forecast.capacity;
    json.key("block_size").unsigned_integer(capacity.block_size);
    json.key("input_tokens").unsigned_integer(capacity.input_tokens);
    json.key("cached_tokens").unsigned_integer(forecast.cached_tokens);
    json.key("reported_tokens").unsigned_integer(forecast.reported_tokens);
    json.key("shown_from").unsigned_integer(forecast.shown_from);
    json.key("curve").begin_array();
    for (const CapacityPoint& point : capacity.curve) {
        json.begin_array().unsigned_integer(point.blocks);
        json.unsigned_integer(point.hit_tokens).end_array();
    }
    json.end_array().key("prefixes").begin_array();
    for (const SharedPrefix& one : forecast.prefixes) {
        json.begin_array().integer(one.parent);
        for (const std::uint64_t value :
             {one.begin, one.tokens, one.prompts, one.reported, one.hits}) {
            json.unsigned_integer(value);
        }
        json.end_array();
    }
    json.end_array().end_object();
}

}  // namespace driftless
