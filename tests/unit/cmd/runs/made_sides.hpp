/// Runs made by hand for the tests of a comparison.
#pragma once

#include "cmd/runs/compare.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Adds a request that is ok, due 10 ms after the one before it, with this TTFT.
inline void add_request(PlayedRun& run, double ttft_ns, double input_tokens = 100,
                        std::uint32_t turn = 0) {
    const auto row = static_cast<std::uint32_t>(run.rows.size());
    ComparedRequest request{.key = row, .due_ns = std::int64_t{row} * 10'000'000, .ok = true};
    request.ended_ns = request.due_ns + static_cast<std::int64_t>(ttft_ns);
    request.input_tokens = input_tokens;
    request.values[static_cast<std::size_t>(RowValue::ttft)] = ttft_ns;
    run.compared.requests.push_back(request);
    run.compared.duration_ns = request.due_ns + 10'000'000;
    run.rows.push_back(
        {.row = row, .turn = turn, .outcome = Outcome::ok, .prompt_tokens = input_tokens});
}

/// 0 to 99, twice, in an order without a pattern (Fisher and Yates): values that follow one are not
/// independent, and a comparison sees that.
inline std::vector<int> shuffled_numbers() {
    std::vector<int> numbers(200);
    std::uint32_t random = 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<int>(i % 100);
        random = random * 1664525 + 1013904223;
        std::swap(numbers[i], numbers[(random >> 8) % (i + 1)]);
    }
    return numbers;
}

/// A run of 200 requests with TTFTs of about 20 ms times `factor`.
inline PlayedRun made_side(double factor) {
    PlayedRun run{.folder = "made"};
    for (const int number : shuffled_numbers()) {
        const double jitter = 1 + 0.001 * number;
        add_request(run, 20e6 * factor * jitter, run.rows.size() < 100 ? 100 : 1000);
    }
    return run;
}

}  // namespace driftless
