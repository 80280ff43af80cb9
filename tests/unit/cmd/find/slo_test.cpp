// SLOs as people type them, and what is refused.
#include "cmd/find/slo.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::string refusal(std::string_view text) {
    const Result<Slos> slos = parse_slos(text);
    return slos ? "" : slos.error().doing;
}

TEST(Slo, IsTheOppositeOfAThreshold) {
    const Result<Slos> slos = parse_slos("ttft:p99<2s, tpot:p95 <= 50ms errors<0.1 % good > 95%");
    ASSERT_TRUE(slos) << slos.error().doing;
    const std::vector<Slo>& list = slos.value().list;
    ASSERT_EQ(list.size(), 4U);
    EXPECT_EQ(list[0].text, "ttft:p99<2s");
    EXPECT_EQ(list[0].fail_if, "ttft:p99>=2s");
    EXPECT_EQ(list[0].threshold.bound, 2e9);
    EXPECT_EQ(list[0].threshold.compare, Compare::at_least);
    EXPECT_EQ(list[1].fail_if, "tpot:p95>50ms");
    EXPECT_EQ(list[2].text, "errors<0.1%");
    EXPECT_EQ(list[2].fail_if, "errors>=0.1%");
    EXPECT_EQ(list[3].fail_if, "good<=95%");
    EXPECT_EQ(slos.value().rows_min, 662U);
}

TEST(Slo, BoundsErrorsWhereNobodyDid) {
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().list.back().text, "errors<1%");
    EXPECT_EQ(parse_slos("ttft:p50<1s").value().rows_min, 11U);
    EXPECT_EQ(parse_slos("e2e:max<1s failed<=0").value().list.size(), 2U);
    EXPECT_EQ(parse_slos("e2e:mean<1s errors<=5%").value().rows_min, 1U);
}

TEST(Slo, RefusesWhatSaysNothing) {
    EXPECT_NE(refusal("").find("is empty"), std::string::npos);
    EXPECT_NE(refusal("fast").find("has no comparison"), std::string::npos);
    EXPECT_NE(refusal("ttft:p99>2s").find("wrong way round"), std::string::npos);
    EXPECT_NE(refusal("good<95%").find("wrong way round"), std::string::npos);
    EXPECT_NE(refusal("ttft:p98<2s").find("statistic"), std::string::npos);
    EXPECT_NE(refusal("ttft:p99<2").find("unit"), std::string::npos);
    EXPECT_NE(refusal("request_throughput>5").find("cannot be in an SLO"), std::string::npos)
        << refusal("request_throughput>5");
    EXPECT_NE(refusal("ttft:p99 <= =2s").find("unit"), std::string::npos);
    EXPECT_NE(refusal("speed<2").find("is not a known figure"), std::string::npos);
}

}  // namespace
}  // namespace driftless
