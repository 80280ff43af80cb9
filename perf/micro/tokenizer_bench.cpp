// How long a tokenizer takes to load and its words to choose (the bar: 300 ms for 150,000 tokens),
// and how fast text is encoded. With the tokenizers of the shared folder where they are, else with
// a small one of the test data.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "engine/prompt/word_table.hpp"

namespace driftless {
namespace {

constexpr const char* names[] = {"qwen2", "phi3"};
constexpr const char* small_names[] = {"qwen", "llama2"};

std::string path_of(std::int64_t which) {
    const std::string shared = std::string(SHARED_DATA) + "/tokenizers/" + names[which] + ".json";
    return std::ifstream(shared).good()
               ? shared
               : std::string(TEST_DATA) + "/tokenizers/" + small_names[which] + ".json";
}

std::string read_whole(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void load_and_select(benchmark::State& state) {
    const std::string path = path_of(state.range(0));
    std::string why;
    for ([[maybe_unused]] auto _ : state) {
        const Result<SelectedWords> selected = load_words(path, why);
        if (!selected) {
            state.SkipWithError(why.c_str());
            break;
        }
        state.SetLabel(std::to_string(selected.value().figures.vocabulary) + " tokens");
    }
}
BENCHMARK(load_and_select)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

void encode_text(benchmark::State& state) {
    std::string why;
    Result<TokenizerParts> parts = read_tokenizer(read_whole(path_of(state.range(0))), why);
    if (!parts) {
        state.SkipWithError(why.c_str());
        return;
    }
    Tokenizer tokenizer(std::move(parts).value());
    const std::string text = read_whole(std::string(TEST_DATA) + "/tokenizers/make_golden.py");
    std::vector<TokenId> ids;
    for ([[maybe_unused]] auto _ : state) {
        ids.clear();
        tokenizer.encode(text, ids);
        benchmark::DoNotOptimize(ids.data());
    }
    const auto rounds = static_cast<std::int64_t>(state.iterations());
    state.SetBytesProcessed(rounds * static_cast<std::int64_t>(text.size()));
    state.SetItemsProcessed(rounds * static_cast<std::int64_t>(ids.size()));
}
BENCHMARK(encode_text)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace driftless
