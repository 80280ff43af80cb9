// Where a JSON text ends: behind the bracket that closes it, and brackets in strings do not count.
#include "proto/json/text_end.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

constexpr std::size_t open = std::string_view::npos;

TEST(JsonTextEnd, IsBehindTheClosingBracket) {
    JsonTextEnd end;
    EXPECT_EQ(end.find("  "), open);
    EXPECT_EQ(end.find(R"({"a": [1, "]}", "\"}", "\\"], )"), open);
    EXPECT_EQ(end.find(R"("b": {} }{"c":)"), 9U);
    EXPECT_EQ(end.find(R"({"c":1})"), 7U) << "the next text begins anew";
    EXPECT_EQ(end.find("}"), 1U) << "a bracket that closes nothing is a text that is not JSON";
}

// A string that is open at the end of a line ends a text that is broken.
TEST(JsonTextEnd, IsTheEndOfALineWithAnOpenString) {
    JsonTextEnd end;
    for (const std::string line : {R"({"a)", R"({"a\")", R"({"a\)"}) {
        EXPECT_EQ(end.find(line), line.size()) << line;
    }
    EXPECT_EQ(end.find("{}"), 2U);
}

}  // namespace
}  // namespace driftless
