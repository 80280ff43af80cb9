// What the mark that a row may have left costs the engine (FiredMarks::mark), and how many plain
// stores to memory of our own that is, both in turn in the same run; medians of all passes.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/history/fired_marks.hpp"
#include "proto/core/errors.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t rows = 12'032;  // of the conversation hour

double median(std::vector<double>& passes) {
    const auto middle = passes.begin() + static_cast<std::ptrdiff_t>(passes.size() / 2);
    std::nth_element(passes.begin(), middle, passes.end());
    return *middle;
}

/// For each row, on the mean.
template <typename Work>
double ns_of(const Work& work) {
    const auto from = std::chrono::steady_clock::now();
    for (std::uint32_t row = 0; row < rows; ++row) {
        work(row);
        benchmark::ClobberMemory();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - from;
    return took.count() / rows;
}

void mark_rows(benchmark::State& state) {
    const std::string name = "bench-" + std::to_string(::getpid());
    Result<FiredMarks> made = FiredMarks::create(name, rows);
    CHECK(static_cast<bool>(made));
    FiredMarks::remove(name);
    FiredMarks& marks = made.value();
    std::vector<std::uint64_t> own(rows / 64);
    std::vector<double> mark_ns;
    std::vector<double> store_ns;
    for (auto _ : state) {
        mark_ns.push_back(ns_of([&](std::uint32_t row) { marks.mark(row); }));
        store_ns.push_back(ns_of([&](std::uint32_t row) { own[row / 64] = row; }));
    }
    benchmark::DoNotOptimize(own.data());
    CHECK(marks.marked(rows - 1));
    state.counters["mark_ns"] = median(mark_ns);
    state.counters["store_ns"] = median(store_ns);
    state.counters["stores_a_mark"] = median(mark_ns) / median(store_ns);
}
BENCHMARK(mark_rows);

}  // namespace
}  // namespace driftless
