// How fast traces are read and planned: bytes a second of JSON lines beside the ceiling that
// simdjson alone sets on the same bytes, rows a second of planning.
#include <benchmark/benchmark.h>
#include <simdjson.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/trace_file.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

/// A trace with the shape of the conversation hour: 12,000 rows of 250 bytes, 24 ids of 6 digits.
/// It lasts as long as the program.
class HourFile {
  public:
    HourFile() : path_(std::filesystem::temp_directory_path() / name()) {
        std::ofstream file(path_, std::ios::binary);
        Random random(7);
        std::uint64_t next_id = 100'000;
        for (int row = 0; row < 12'000; ++row) {
            const std::uint64_t blocks = 1 + random.below(47);
            file << R"({"timestamp": )" << row / 10 * 3000 << R"(, "input_length": )"
                 << blocks * 512 - random.below(512) << R"(, "output_length": )"
                 << 1 + random.below(700) << R"(, "hash_ids": [0)";
            for (std::uint64_t i = 1; i < blocks; ++i) {
                file << ", " << next_id++;
            }
            file << "]}\n";
        }
    }
    HourFile(const HourFile&) = delete;
    HourFile& operator=(const HourFile&) = delete;
    ~HourFile() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_.native(); }

  private:
    static std::string name() { return "driftless-bench-" + std::to_string(::getpid()) + ".jsonl"; }
    std::filesystem::path path_;
};

const std::string& hour() {
    static const HourFile file;
    return file.path();
}

bool read_hour(Trace& trace) {
    TraceFiles files;
    files.paths = {hour()};
    InputErrors errors;
    std::vector<std::string> notes;
    return read_trace(files, trace, errors, notes);
}

void read_file(benchmark::State& state) {
    Trace trace;
    for (auto _ : state) {
        if (!read_hour(trace)) {
            state.SkipWithError("the trace cannot be read");
            return;
        }
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(trace.bytes));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.rows.size()));
}
BENCHMARK(read_file);

/// The ceiling: the same bytes, in memory already, as documents that nobody looks into.
void parse_only(benchmark::State& state) {
    std::ifstream file(hour(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const simdjson::padded_string text(bytes);
    simdjson::dom::parser parser;
    for (auto _ : state) {
        std::size_t rows = 0;
        simdjson::dom::document_stream stream;
        if (parser.parse_many(text).get(stream) != simdjson::SUCCESS) {
            state.SkipWithError("simdjson cannot parse the trace");
            return;
        }
        for (auto row : stream) {
            rows += row.error() == simdjson::SUCCESS ? 1U : 0U;
        }
        benchmark::DoNotOptimize(rows);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_only);

void plan_rows(benchmark::State& state) {
    Trace trace;
    if (!read_hour(trace)) {
        state.SkipWithError("the trace cannot be read");
        return;
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(make_plan(trace, {}));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.rows.size()));
}
BENCHMARK(plan_rows);

}  // namespace
}  // namespace driftless
