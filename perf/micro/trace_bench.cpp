// How fast traces are read and planned: bytes a second of JSON lines, rows a second of planning.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "engine/input/trace_file.hpp"
#include "engine/plan/plan.hpp"

namespace driftless {
namespace {

const std::string sample = std::string(TEST_DATA) + "/sample.jsonl";

bool read_sample(Trace& trace) {
    TraceFiles files;
    // The same file fifty times: a trace of 12,000 rows, as the conversation hour has.
    files.paths.assign(50, sample);
    InputErrors errors;
    std::vector<std::string> notes;
    return read_trace(files, trace, errors, notes);
}

void read_files(benchmark::State& state) {
    Trace trace;
    for (auto _ : state) {
        if (!read_sample(trace)) {
            state.SkipWithError("the sample trace cannot be read");
            return;
        }
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(trace.bytes));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.rows.size()));
}
BENCHMARK(read_files);

void plan_rows(benchmark::State& state) {
    Trace trace;
    if (!read_sample(trace)) {
        state.SkipWithError("the sample trace cannot be read");
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
