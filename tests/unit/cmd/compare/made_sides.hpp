/// Runs made by hand for the tests of a comparison.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/compare/played_run.hpp"

namespace driftless {

/// Adds a request that is ok, due 10 ms after the one before it, with this TTFT.
inline void add_request(PlayedRun& run, double ttft_ns, double input_tokens = 100,
                        std::uint32_t turn = 0) {
    const auto row = static_cast<std::uint32_t>(run.rows.size());
    ComparedRequest request;
    request.key = row;
    request.due_ns = std::int64_t{row} * 10'000'000;
    request.ok = true;
    request.ended_ns = request.due_ns + static_cast<std::int64_t>(ttft_ns);
    request.input_tokens = input_tokens;
    request.values[static_cast<std::size_t>(RowValue::ttft)] = ttft_ns;
    run.compared.requests.push_back(request);
    run.compared.duration_ns = request.due_ns + 10'000'000;
    PlayedRow played;
    played.row = row;
    played.turn = turn;
    played.outcome = Outcome::ok;
    played.prompt_tokens = input_tokens;
    run.rows.push_back(played);
}

/// A run of 200 requests with TTFTs of about 20 ms times `factor`.
inline PlayedRun made_side(double factor) {
    PlayedRun run;
    run.folder = "made";
    for (int i = 0; i < 200; ++i) {
        const double jitter = 1 + 0.001 * (i * 37 % 100);
        add_request(run, 20e6 * factor * jitter, i < 100 ? 100 : 1000);
    }
    return run;
}

}  // namespace driftless
