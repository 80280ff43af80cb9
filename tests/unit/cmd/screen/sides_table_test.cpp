// The table of the two sides: no line is wider than 80 columns, both drifts are told, and the
// differences have signs and units.
#include "cmd/screen/sides_table.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace driftless {
namespace {

Distribution of(std::uint64_t count, double value) {
    Distribution d;
    d.count = count;
    d.mean = d.min = d.max = value;
    d.at.fill(value);
    return d;
}

SideFigures figures() {
    SideFigures sides;
    sides.a.url = "http://first:8000/v1/chat/completions";
    sides.b.url = "http://second:8000/v1/chat/completions";
    for (OneSideFigures* side : {&sides.a, &sides.b}) {
        side->completed = 12'031;
        side->ttft = of(12'031, 20.25e6);
        side->tpot = of(12'031, 10e6);
        side->e2e = of(12'031, 660.5e6);
        side->drift = of(12'031, 1'250);
    }
    sides.b.failed = 7;
    sides.b.drift = of(12'031, 11'500);
    sides.pairs.ttft = of(12'024, 12'340);
    sides.pairs.a_first = of(6'000, -2.5e6);
    sides.pairs.b_first = of(6'024, 9'000);
    sides.pairs.unpaired = 7;
    return sides;
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(SidesTable, TellsOfBothSidesAndOfTheirDifference) {
    const std::string table = sides_table(figures());
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_TRUE(says(table, "http://first:8000")) << table;
    EXPECT_TRUE(says(table, "http://second:8000")) << table;
    EXPECT_TRUE(says(table, "12,031       7    20.25    20.25    10.00   660.50    11.50    11.50"))
        << table;
    EXPECT_TRUE(says(table, "12,031       0    20.25    20.25    10.00   660.50     1.25     1.25"))
        << table;
    EXPECT_TRUE(says(table, "p50 +12.3 us over 12,024 rows")) << table;
    EXPECT_TRUE(says(table, "-2.50 ms")) << table;
    EXPECT_TRUE(says(table, "+9.0 us")) << table;
    EXPECT_TRUE(says(table, "7 rows without a first token on both sides left out")) << table;
}

TEST(SidesTable, IsEmptyWithoutSides) {
    EXPECT_EQ(sides_table(std::nullopt), "");
}

TEST(SidesTable, SaysNothingOfWhatNobodyMeasured) {
    SideFigures sides;
    sides.pairs.unpaired = 2;
    const std::string table = sides_table(sides);
    EXPECT_TRUE(says(table, "2 rows without a first token")) << table;
    EXPECT_FALSE(says(table, "p50 +")) << table;
}

}  // namespace
}  // namespace driftless
