// Rows without sessions: lengths, groups and what they share.
#include "engine/synth/flat_rows.hpp"

#include <cmath>
#include <map>
#include <set>

#include "engine/plan/plan.hpp"
#include "tests/unit/engine/synth/made.hpp"

namespace driftless {
namespace {

TEST(RandomRows, HaveTheRangeOfVllmBench) {
    std::map<std::uint32_t, int> inputs;
    std::map<std::uint32_t, int> outputs;
    for (const SynthRow& row :
         made_rows("random --rows 5000 --in 10 --out-tokens 5 --range-ratio 0.25")) {
        ++inputs[row.input_length];
        ++outputs[row.output_length];
        EXPECT_TRUE(row.ids.empty());
    }
    // floor(7.5) .. ceil(12.5), and floor(3.75) .. ceil(6.25)
    EXPECT_EQ(inputs.begin()->first, 7U);
    EXPECT_EQ(inputs.rbegin()->first, 13U);
    EXPECT_EQ(outputs.begin()->first, 3U);
    EXPECT_EQ(outputs.rbegin()->first, 7U);
    for (const auto& [length, count] : inputs) {
        EXPECT_NEAR(count, 5000 / 7.0, 5 * std::sqrt(5000 / 7.0)) << length;
    }
    EXPECT_EQ(made_rows("random --rows 3 --in 10")[2].input_length, 10U);
}

TEST(RandomRows, ArriveByTheirRate) {
    const auto constant = made_rows("random --rows 5 --rate 10 --arrivals constant");
    EXPECT_EQ(constant[4].at_ns, 400'000'000);
    const auto all_at_once = made_rows("random --rows 5 --rate inf");
    EXPECT_EQ(all_at_once[4].at_ns, 0);
    const auto poisson = made_rows("random --rows 10001 --rate 600/m");
    std::vector<double> gaps;
    for (std::size_t i = 1; i < poisson.size(); ++i) {
        gaps.push_back(static_cast<double>(poisson[i].at_ns - poisson[i - 1].at_ns));
    }
    std::sort(gaps.begin(), gaps.end());
    double greatest = 0;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        const double share = static_cast<double>(i + 1) / static_cast<double>(gaps.size());
        greatest = std::max(greatest, std::abs(share - (1 - std::exp(-gaps[i] / 1e8))));
    }
    EXPECT_LT(greatest, 1.628 / std::sqrt(1e4));  // Kolmogorov-Smirnov at 1 %
}

/// Rows of each group, by the first id.
std::map<std::uint64_t, int> groups_of(const std::vector<SynthRow>& rows) {
    std::map<std::uint64_t, int> groups;
    for (const SynthRow& row : rows) {
        ++groups[row.ids[0]];
    }
    return groups;
}

TEST(PrefixRows, ShareTheirPrefixAndNothingElse) {
    const auto rows = made_rows("prefix --rows 103 --groups 10 --prefix 64 --suffix 40");
    std::set<std::uint64_t> suffixes;
    for (const SynthRow& row : rows) {
        ASSERT_EQ(row.input_length, 104U);
        ASSERT_EQ(row.ids.size(), 6U);  // 104 / 16
        for (std::size_t i = 1; i < 4; ++i) {
            EXPECT_EQ(row.ids[i], row.ids[0] + i);
        }
        EXPECT_TRUE(suffixes.insert(row.ids[4]).second);
        EXPECT_TRUE(suffixes.insert(row.ids[5]).second);
        EXPECT_GE(row.ids[4], 40U);
    }
    const auto groups = groups_of(rows);
    ASSERT_EQ(groups.size(), 10U);
    for (const auto& [first, count] : groups) {
        EXPECT_EQ(count, first / 4 < 3 ? 11 : 10);  // 103 rows: three groups have one more
    }
}

TEST(PrefixRows, HitWhatTheirGroupsAllow) {
    // vllm's prefix repetition: all rows of a group but the first hit its prefix.
    const Trace trace = made_trace("prefix --rows 1000 --groups 10 --prefix 256 --suffix 256");
    const Result<Plan> plan = make_plan(trace, {});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan.value().foretold.cached_tokens, 990U * 256);
}

TEST(PrefixRows, GoGroupAfterGroup) {
    const auto rows = made_rows("prefix --rows 9 --groups 3 --prefix 16 --popularity ordered");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].ids[0], i / 3);
    }
}

TEST(PrefixRows, AreDrawnByZipf) {
    constexpr int count = 20'000;
    const auto rows =
        made_rows("prefix --rows 20000 --groups 50 --prefix 16 --suffix 1 --popularity zipf:1.1");
    auto groups = groups_of(rows);
    double sum = 0;
    for (int rank = 1; rank <= 50; ++rank) {
        sum += std::pow(rank, -1.1);
    }
    double drawn = 0;
    double wanted = 0;
    double greatest = 0;
    for (int rank = 1; rank <= 50; ++rank) {
        drawn += groups[static_cast<std::uint64_t>(rank - 1)];
        wanted += std::pow(rank, -1.1) / sum;
        greatest = std::max(greatest, std::abs(drawn / count - wanted));
    }
    EXPECT_LT(greatest, 1.628 / std::sqrt(double{count}));
}

}  // namespace
}  // namespace driftless
