// How fast prompts are built, tokens a second: text and ids, without a cache and with one, digest
// included. The bar is 500 M tokens/s as text on one core, cache cold.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t block_size = 512;
constexpr std::uint32_t blocks_a_row = 24;  // the conversation trace's mean
constexpr std::uint32_t slice_tokens = 4096;

// Rows share their first block and nothing else: every other block is new, the cache stays cold.
Trace cold_trace(std::uint32_t rows) {
    Trace trace;
    trace.block_size = block_size;
    for (std::uint32_t i = 0; i < rows; ++i) {
        TraceRow row;
        row.index = i;
        row.ids_begin = trace.ids.size();
        row.ids_count = blocks_a_row;
        row.input_length = block_size * blocks_a_row - i % block_size;
        for (std::uint32_t k = 0; k < blocks_a_row; ++k) {
            trace.ids.push_back(k == 0 ? 0 : i * blocks_a_row + k);
        }
        trace.rows.push_back(row);
    }
    return trace;
}

// Arguments: 0 text, 1 ids; MiB of block cache.
void build_prompts(benchmark::State& state) {
    const Trace trace = cold_trace(1000);
    PromptOptions options;
    options.kind = state.range(0) == 0 ? PromptKind::text : PromptKind::ids;
    options.block_cache_bytes = static_cast<std::size_t>(state.range(1)) << 20;
    PromptBuilder builder(trace, WordTable::built_in(), options);
    std::string room(builder.room_of(trace.rows.front()), '\0');
    std::size_t next = 0;
    std::int64_t tokens = 0;
    std::int64_t bytes = 0;
    for (auto _ : state) {
        const TraceRow& row = trace.rows[next++ % trace.rows.size()];
        PromptCursor cursor = builder.begin(row);
        while (!builder.fill(cursor, room.data(), slice_tokens)) {
        }
        benchmark::DoNotOptimize(PromptBuilder::digest_of(cursor));
        tokens += row.input_length;
        bytes += static_cast<std::int64_t>(cursor.bytes);
    }
    state.SetItemsProcessed(tokens);
    state.SetBytesProcessed(bytes);
}
BENCHMARK(build_prompts)->ArgsProduct({{0, 1}, {0, 4, 64}})->ArgNames({"ids", "cache_MiB"});

// One slice, as the engine's loop runs it between two fires: at most 20 us.
void fill_slice(benchmark::State& state) {
    const Trace trace = cold_trace(1);
    PromptBuilder builder(trace, WordTable::built_in(), {});
    const TraceRow& row = trace.rows.front();
    std::string room(builder.room_of(row), '\0');
    PromptCursor cursor = builder.begin(row);
    for (auto _ : state) {
        if (builder.fill(cursor, room.data(), slice_tokens)) {
            cursor = builder.begin(row);
        }
    }
    state.SetItemsProcessed(state.iterations() * slice_tokens);
}
BENCHMARK(fill_slice);

}  // namespace
}  // namespace driftless
