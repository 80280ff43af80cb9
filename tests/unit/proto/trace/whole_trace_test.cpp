// An id that names blocks of two lengths is noticed, once, in its namespace.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/reader.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

std::uint64_t uneven(const std::vector<std::string>& lines) {
    const ReadTrace got = read(lines);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.remarks.empty(), uneven_tails(got.trace) == 0);
    return uneven_tails(got.trace);
}

TEST(Tails, OfOneLengthAreFine) {
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 513, 1, "0, 1")}), 0U);
    EXPECT_EQ(uneven({row("0", 512, 1, "0"), row("1", 1024, 1, "0, 1")}), 0U);
}

TEST(Tails, OfTwoLengthsCountOnce) {
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 514, 1, "0, 1")}), 1U);
    EXPECT_EQ(
        uneven({row("0", 513, 1, "0, 1"), row("1", 514, 1, "0, 1"), row("2", 600, 1, "2, 1")}), 1U);
}

// A tail in one row, a full block in another.
TEST(Tails, ThatAreFullBlocksCount) {
    EXPECT_EQ(uneven({row("0", 513, 1, "0, 1"), row("1", 1025, 1, "0, 1, 2")}), 1U);
    EXPECT_EQ(uneven({row("0", 1024, 1, "0, 1"), row("1", 1000, 1, "5, 1")}), 1U);
}

}  // namespace
}  // namespace driftless
