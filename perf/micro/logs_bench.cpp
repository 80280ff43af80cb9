// How fast logs are read into calls, beside the ceiling that simdjson alone sets on the same bytes,
// and how fast tokens become block ids.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "cmd/trace/read_logs.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/logs.hpp"

namespace driftless {
namespace {

/// A plain log of 500 calls with 4 messages of 2 kB each: the shape of an assistant's traffic.
const std::string& log_text() {
    static const std::string text = [] {
        std::string out;
        Random random(7);
        for (int call = 0; call < 500; ++call) {
            out += R"({"timestamp":)" + std::to_string(1'767'607'200 + call) +
                   R"(,"session_id":"s","request":{"messages":[)";
            for (int message = 0; message < 4; ++message) {
                out += message == 0 ? R"({"role":"user","content":")"
                                    : R"(,{"role":"assistant","content":")";
                for (int word = 0; word < 400; ++word) {
                    out += std::to_string(random.below(10'000)) + (word % 20 == 19 ? "\\n" : " ");
                }
                out += "\"}";
            }
            out += R"(]},"response":{"choices":[{"message":{"content":"yes"}}],"usage":)"
                   R"({"prompt_tokens":2000,"completion_tokens":1}}})"
                   "\n";
        }
        return out;
    }();
    return text;
}

void read_log(benchmark::State& state) {
    const std::string& text = log_text();
    for (auto _ : state) {
        InputErrors errors;
        LogReader reader("plain", {}, errors);
        reader.begin_file("log");
        std::size_t calls = 0;
        std::uint64_t number = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            (void)reader.add_line(++number, std::string_view(text).substr(at, end - at));
            calls += reader.calls().size();
            at = end + 1;
        }
        if (calls != 500) {
            state.SkipWithError("the log cannot be read");
            return;
        }
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_log);

void parse_log_only(benchmark::State& state) {
    const simdjson::padded_string text(log_text());
    simdjson::dom::parser parser;
    for (auto _ : state) {
        simdjson::dom::document_stream stream;
        std::size_t calls = 0;
        if (parser.parse_many(text).get(stream) == simdjson::SUCCESS) {
            for (auto call : stream) {
                calls += call.error() == simdjson::SUCCESS ? 1U : 0U;
            }
        }
        benchmark::DoNotOptimize(calls);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_log_only);

/// Items are tokens, in blocks of 16.
void name_blocks(benchmark::State& state) {
    Result<KeyedHash> hash = KeyedHash::create("0123456789abcdef0123456789abcdef");
    if (!hash) {
        state.SkipWithError("no HMAC");
        return;
    }
    PromptBlocks blocks(hash.value(), 16);
    const std::vector<TokenId> tokens(16'384, 7);
    std::vector<std::uint64_t> ids;
    for (auto _ : state) {
        ids.clear();
        blocks.append(tokens, 16'384, ids);
        benchmark::DoNotOptimize(ids.data());
    }
    state.SetItemsProcessed(state.iterations() * 16'384);
}
BENCHMARK(name_blocks);

}  // namespace
}  // namespace driftless
