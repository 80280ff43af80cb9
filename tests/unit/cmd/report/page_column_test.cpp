// A column of the page, read back by a decoder of this test's own: every value is exact, and near
// columns cost little.
#include <gtest/gtest.h>

#include <map>

#include "cmd/report/page.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/cmd/report/read_back.hpp"

namespace driftless {
namespace {

PageColumn column_of(const char* name, bool holds_numbers, const Texts& values) {
    Figure figure;
    figure.name = name;
    figure.holds_numbers = holds_numbers;
    PageColumn column(figure);
    for (const std::string& value : values) {
        const CellKind kind = value.empty()   ? CellKind::empty
                              : holds_numbers ? CellKind::number
                                              : CellKind::text;
        column.add({kind, value});
    }
    return column;
}

Texts read_back(bool holds_numbers, const Texts& values) {
    return ReadBack({column_of("one", holds_numbers, values)}, values.size())["one"];
}

TEST(PageColumn, KeepsEveryNumber) {
    const Texts whole{"0", "-1",  "1",  "",  "9007199254740993", "-9223372036854775807",
                      "",  "127", "63", "64"};
    EXPECT_EQ(read_back(true, whole), whole);
    EXPECT_EQ(read_back(true, {}), Texts{});
    EXPECT_EQ(read_back(true, {"", ""}), (Texts{"", ""}));
    EXPECT_EQ(read_back(true, {"7", "7", "7"}), (Texts{"7", "7", "7"}));
}

// One fraction makes it a column of doubles, the whole numbers before it, too.
TEST(PageColumn, KeepsEveryFraction) {
    const Texts values{"3", "", "10003423.548387097", "0.1", "-2.5e-07", "12"};
    EXPECT_EQ(read_back(true, values), values);
}

TEST(PageColumn, KeepsEveryText) {
    const Texts values{"ok", "", "ok", "</script>", "\xE2\x82\xAC \"quoted\"", "ok"};
    EXPECT_EQ(read_back(false, values), values);
}

TEST(PageColumn, KeepsStampsThatAreNearEachOther) {
    Random random(7);
    std::map<std::string, Texts> stamps;
    for (std::size_t row = 0; row < 1000; ++row) {
        const auto due = static_cast<std::int64_t>(row * 1'000'000 + random.below(900'000));
        const auto fired = due + static_cast<std::int64_t>(random.below(2000));
        const bool left = random.below(10) > 0;
        stamps["due_ns"].push_back(std::to_string(due));
        stamps["fired_ns"].push_back(left ? std::to_string(fired) : "");
        stamps["drift_ns"].push_back(left ? std::to_string(fired - due) : "");
    }
    std::vector<PageColumn> columns;
    for (const char* name : {"due_ns", "fired_ns", "drift_ns"}) {
        columns.push_back(column_of(name, true, stamps[name]));
    }
    ReadBack read(columns, 1000);
    for (const auto& [name, values] : stamps) {
        EXPECT_EQ(read[name], values) << name;
    }
    // 4 digits of base64 or less for a due, 3 for a drift; its second column is a byte.
    EXPECT_LT(read.bytes(), 1000U * (4 + 3 + 2) + 400);
}

}  // namespace
}  // namespace driftless
