// Good requests of all rows in one line; of groups, each with its limits, below it.
#include "cmd/screen/goodput_lines.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

TEST(GoodputLines, SayWhatWasAskedFor) {
    SummaryFigures f;
    EXPECT_EQ(goodput_lines(f), Texts());
    f.request_goodput = 2.5;
    f.good = 30;
    f.goodput_rules = {{{}, "", {200'000'000, 50'500'000, std::nullopt}}};
    f.goodput_counts = {{40, 30}};
    EXPECT_EQ(goodput_lines(f),
              Texts{"2.50/s: 30 of 40 rows (75.00 %) within ttft:200 tpot:50.5 ms"});
}

TEST(GoodputLines, HaveALineForEachGroup) {
    SummaryFigures f;
    f.request_goodput = 2.5;
    f.good = 30;
    f.goodput_rules = {{{}, "", {std::nullopt, std::nullopt, 3'000'000'000}},
                       {parse_group_key("kept.tier").value(), "gold", {1'000'000, {}, {}}}};
    f.goodput_counts = {{38, 30}, {2, 0}};
    EXPECT_EQ(goodput_lines(f), (Texts{"2.50/s: 30 of 40 rows (75.00 %)",
                                       "others: 30 of 38 rows (78.95 %) within e2e:3000 ms",
                                       "kept.tier=gold: 0 of 2 rows (0.00 %) within ttft:1 ms"}));
}

}  // namespace
}  // namespace driftless
