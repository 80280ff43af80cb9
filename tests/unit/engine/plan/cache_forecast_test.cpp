// The forecast of cached tokens is that of an infinite prefix cache, for ids that are chained, that
// name contents only, that are small or large, in namespaces and copies, and with tokens of the
// template behind the prompt. The oracle keeps whole prefixes in a set.
#include "engine/plan/cache_forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

/// What a server keeps of a block: its namespace, its id, and how many of its tokens are the
/// prompt's own.
using Block = std::vector<std::uint64_t>;
using Prefix = std::vector<Block>;

class Oracle {
  public:
    Oracle(const Trace& trace, std::uint32_t post) : trace_(trace), post_(post) {}

    std::uint32_t next(const TraceRow& row) {
        const std::uint64_t size = trace_.block_size;
        Prefix prefix{{row.name_space}};
        std::uint64_t held = 0;
        bool unbroken = true;
        for (std::uint64_t k = 0; k < row.ids_count && (k + 1) * size <= row.input_length; ++k) {
            const std::int64_t left =
                std::int64_t{row.input_length} - post_ - static_cast<std::int64_t>(k * size);
            if (left >= static_cast<std::int64_t>(size)) {
                prefix.push_back({trace_.ids_of(row)[k]});
            } else {
                prefix.push_back(
                    {left > 0 ? trace_.ids_of(row)[k] : 0, static_cast<std::uint64_t>(left)});
            }
            unbroken = !seen_.insert(prefix).second && unbroken;
            held += unbroken ? 1 : 0;
        }
        return static_cast<std::uint32_t>(std::min(held, (row.input_length - 1) / size) * size);
    }

  private:
    const Trace& trace_;
    std::uint32_t post_;
    std::set<Prefix> seen_;
};

struct Kind {
    bool chained = false;
    unsigned shift = 0;  ///< of the ids, so that they are large
    std::uint32_t name_spaces = 1;
    std::uint32_t copies = 1;
};

void add_row(Trace& trace, Random& random, const Kind& kind) {
    std::vector<std::uint64_t> ids;
    std::uint64_t chain = 0;
    const std::uint64_t blocks = random.below(8);
    for (std::uint64_t k = 0; k < blocks; ++k) {
        const std::uint64_t pick = random.below(3);
        chain = chain * 3 + pick + 1;
        ids.push_back((kind.chained ? chain : pick) << kind.shift);
    }
    TraceRow row;
    row.index = static_cast<std::uint32_t>(trace.rows.size());
    row.name_space = static_cast<std::uint32_t>(random.below(kind.name_spaces));
    row.input_length = static_cast<std::uint32_t>(1 + random.below(blocks * 16 + 20));
    row.output_length = 1;
    row.ids_begin = trace.ids.size();
    row.ids_count = static_cast<std::uint32_t>(ids.size());
    trace.ids.append(ids);
    trace.rows.push_back(row);
}

Trace make_trace(std::uint64_t seed, const Kind& kind) {
    Random random(seed);
    Trace trace;
    trace.block_size = 16;
    for (int i = 0; i < 120; ++i) {
        add_row(trace, random, kind);
    }
    const auto rows = static_cast<std::uint32_t>(trace.rows.size());
    trace.copy_rows = kind.copies > 1 ? rows : 0;
    for (std::uint32_t copy = 1; copy < kind.copies; ++copy) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            TraceRow row = trace.rows[i];
            row.index += copy * rows;
            row.name_space += copy * kind.name_spaces;
            trace.rows.push_back(row);
        }
    }
    trace.name_spaces = kind.name_spaces * kind.copies;
    return trace;
}

TEST(CacheForecast, IsAnInfinitePrefixCache) {
    const Kind kinds[] = {{},           {true},        {true, 40},      {false, 40},
                          {true, 0, 3}, {false, 0, 3}, {true, 0, 2, 3}, {false, 40, 2, 3}};
    for (const Kind& kind : kinds) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const Trace trace = make_trace(seed, kind);
            for (const std::uint32_t post : {0U, 1U, 5U, 16U, 40U}) {
                CacheForecast forecast(trace, post);
                Oracle oracle(trace, post);
                std::uint64_t sum = 0;
                for (const TraceRow& row : trace.rows) {
                    const std::uint32_t expected = oracle.next(row);
                    ASSERT_EQ(forecast.next(row), expected)
                        << "row " << row.index << " seed " << seed;
                    sum += expected;
                }
                EXPECT_GT(sum, 0U);
            }
        }
    }
}

}  // namespace
}  // namespace driftless
