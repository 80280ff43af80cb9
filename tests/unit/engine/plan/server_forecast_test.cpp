// Hits in the server's own blocks: the shared part of a trace's block counts, in whole blocks of
// the server, and never the last token.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/plan/forecast.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/made.hpp"

namespace driftless {
namespace {

void add_row(Trace& trace, std::uint32_t tokens, const std::vector<std::uint64_t>& ids,
             std::uint32_t name_space = 0) {
    TraceRow row;
    row.input_length = tokens;
    row.output_length = 1;
    row.name_space = name_space;
    row.at_ns = std::ssize(trace.rows);
    append_row(trace, row, ids);
}

using Cached = std::vector<std::uint32_t>;

Cached cached(const Trace& trace, std::uint32_t server_block, AroundPrompt around = {}) {
    const Plan plan = make_plan(trace, {}).value();
    const auto cached = expect_server_cached(trace, around, server_block, plan);
    EXPECT_TRUE(cached);
    return cached.value_or(Cached{});
}

// Two equal rows of 1,902 tokens in blocks of 512: the trace's full blocks say 1,536, vLLM with
// blocks of 128 says 1,792, with blocks of 16 it would say 1,888.
TEST(ServerForecast, CountsThePartOfABlockThatIsShared) {
    Trace trace;
    trace.block_size = 512;
    add_row(trace, 1902, {1, 2, 3, 4});
    add_row(trace, 1902, {1, 2, 3, 4});
    EXPECT_EQ(make_plan(trace, {}).value().rows[1].expected_cached_tokens, 1536u);
    EXPECT_EQ(cached(trace, 128), (Cached{0, 1792}));
    EXPECT_EQ(cached(trace, 16), (Cached{0, 1888}));
    EXPECT_EQ(cached(trace, 512), (Cached{0, 1536}));
    EXPECT_EQ(cached(trace, 1), (Cached{0, 1901})) << "never the last token";
    EXPECT_EQ(cached(trace, 1, {5, 14}), (Cached{5, 1901})) << "the template's tail is the same";
    EXPECT_EQ(cached(trace, 2048), (Cached{0, 0}));
}

// A row that is not longer than the template goes with one word: it hits the template all the same.
TEST(ServerForecast, CountsTheTemplateOfRowsThatAreShorter) {
    Trace trace;
    trace.block_size = 512;
    add_row(trace, 34, {1});
    add_row(trace, 76, {2});
    add_row(trace, 77, {3});
    add_row(trace, 600, {4, 5});
    EXPECT_EQ(cached(trace, 16, {70, 6}), (Cached{64, 64, 64, 64}));
    EXPECT_EQ(cached(trace, 16, {300, 6}), (Cached{288, 288, 288, 288}));
    EXPECT_EQ(cached(trace, 1, {0, 0}), (Cached{0, 0, 0, 0}));
}

// Rows of other lengths share the shorter part, less the template's tail; a private tail is shared
// with nobody; nor is anything behind a block that differs.
TEST(ServerForecast, EndsWhereRowsDiffer) {
    Trace trace;
    trace.block_size = 512;
    add_row(trace, 700, {1, 2});      // 188 tokens of block 2
    add_row(trace, 1500, {1, 2, 3});  // all of it
    add_row(trace, 600, {1, 2});      // 88 of them
    add_row(trace, 1400, {1, 2, 3});  // 376 of block 3, of 476 seen
    add_row(trace, 1600, {1, 9, 3});  // another block 2
    add_row(trace, 1024, {1, 2}, 1);  // another namespace
    add_row(trace, 1100, {1, 2});     // a tail of its own
    add_row(trace, 1100, {1, 2});
    EXPECT_EQ(cached(trace, 1), (Cached{0, 700, 599, 1399, 512, 0, 1024, 1024}));
    // 14 tokens of the template end each row.
    EXPECT_EQ(cached(trace, 1, {5, 14}), (Cached{5, 686, 586, 1386, 512, 5, 1024, 1024}));
    EXPECT_EQ(cached(trace, 16), (Cached{0, 688, 592, 1392, 512, 0, 1024, 1024}));
}

// By brute force: the tokens that each two rows have in common, written out one by one.
TEST(ServerForecast, EqualsABruteForce) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        Trace trace;
        trace.block_size = 4;
        const AroundPrompt around{static_cast<std::uint32_t>(random.below(3)),
                                  static_cast<std::uint32_t>(random.below(5))};
        std::vector<std::vector<std::uint64_t>> prompts;
        for (std::uint32_t row = 0; row < 12; ++row) {
            const auto tokens = static_cast<std::uint32_t>(8 + random.below(20));
            std::vector<std::uint64_t> ids;
            const std::uint64_t count = std::min<std::uint64_t>((tokens + 3) / 4, random.below(8));
            for (std::uint64_t block = 0; block < count; ++block) {
                ids.push_back(random.below(2));
            }
            add_row(trace, tokens, ids);
            std::vector<std::uint64_t> prompt;
            for (std::uint32_t at = 0; at < tokens; ++at) {
                const bool own = at / 4 >= ids.size();
                prompt.push_back(at < around.pre              ? 1'000 + at
                                 : at >= tokens - around.post ? 2'000 + at - (tokens - around.post)
                                 : own                        ? 10'000 + 100 * row + at
                                                              : 10 * ids[at / 4] + at % 4 + 100);
            }
            prompts.push_back(prompt);
        }
        const Cached forecast = cached(trace, 1, around);
        for (std::size_t row = 0; row < prompts.size(); ++row) {
            std::size_t most = around.pre;
            for (std::size_t earlier = 0; earlier < row; ++earlier) {
                const auto [a, b] = std::mismatch(prompts[row].begin(), prompts[row].end(),
                                                  prompts[earlier].begin(), prompts[earlier].end());
                most = std::max(most, static_cast<std::size_t>(a - prompts[row].begin()));
            }
            EXPECT_EQ(forecast[row], std::min(most, prompts[row].size() - 1)) << seed << " " << row;
        }
    }
}

// No more references than it has memory for.
TEST(ServerForecast, IsBounded) {
    Trace trace;
    trace.block_size = 1;
    const std::vector<std::uint64_t> half(server_forecast_ids_max / 2, 7);
    add_row(trace, static_cast<std::uint32_t>(half.size()), half);
    add_row(trace, static_cast<std::uint32_t>(half.size()), half);
    const auto most = expect_server_cached(trace, {}, 16, make_plan(trace, {}).value());
    ASSERT_TRUE(most);
    EXPECT_EQ(most->back(), half.size() - 16);
    add_row(trace, 1, {7});
    EXPECT_FALSE(expect_server_cached(trace, {}, 16, make_plan(trace, {}).value()));
}

}  // namespace
}  // namespace driftless
