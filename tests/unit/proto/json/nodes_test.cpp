// Arrays of integers are read packed, with the values that they have as values, and nothing else
// is.
#include "proto/json/nodes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"

namespace driftless {
namespace {

std::vector<std::uint64_t> packed(const std::string& array) {
    JsonDocument document(JsonArrays::packed);
    const Result<JsonValue> root = document.parse(R"({"a":)" + array + R"(,"b":7})");
    if (!root) {
        return {};
    }
    EXPECT_EQ(root.value().find("a").raw(), array);
    EXPECT_EQ(root.value().find("b").as_u64(), 7U);
    const auto list = root.value().find("a").integers();
    EXPECT_TRUE(!list || root.value().find("a").size() == list->size());
    return list ? std::vector<std::uint64_t>(list->begin(), list->end())
                : std::vector<std::uint64_t>();
}

// Every number of digits, blanks of all kinds, and the ends of the range.
TEST(PackedIntegers, AreRead) {
    EXPECT_EQ(packed("[0]"), (std::vector<std::uint64_t>{0}));
    EXPECT_EQ(packed("[ 1 ,\t22,\n333\r]"), (std::vector<std::uint64_t>{1, 22, 333}));
    EXPECT_EQ(packed("[4444,55555,666666,7777777,88888888,999999999]"),
              (std::vector<std::uint64_t>{4444, 55555, 666666, 7777777, 88888888, 999999999}));
    EXPECT_EQ(packed("[18446744073709551615, 9223372036854775808]"),
              (std::vector<std::uint64_t>{18446744073709551615U, 9223372036854775808U}));
}

// Everything else stays an array of values, or is refused as before.
TEST(PackedIntegers, AreNothingElse) {
    for (const char* array :
         {"[]", "[-1]", "[1.0]", "[1e3]", "[1,\"2\"]", "[[1]]", "[1,null]", "[1,2.5]",
          "[18446744073709551616]", "[123456789012345678901234567890]"}) {
        EXPECT_EQ(packed(array), std::vector<std::uint64_t>()) << array;
        JsonDocument document(JsonArrays::packed);
        EXPECT_TRUE(document.parse(array)) << array;
    }
    for (const char* broken : {"[01]", "[1,]", "[,1]", "[1 2]", "[1", "[1,2", "[1,2}", "[1,2]]"}) {
        JsonDocument document(JsonArrays::packed);
        EXPECT_TRUE(document.parse("[1,2,3,4,5,6,7,8,9]")) << "leaves bytes behind the next text";
        EXPECT_FALSE(document.parse(broken)) << broken;
    }
}

// The elements of a packed array are numbers only; without the option they are values.
TEST(PackedIntegers, AreAskedFor) {
    JsonDocument document(JsonArrays::packed);
    const JsonValue list = document.parse("[1,2]").value();
    EXPECT_FALSE(list.first().present());
    EXPECT_FALSE(list.at(1).present());
    JsonDocument plain;
    const JsonValue values = plain.parse("[1,2]").value();
    EXPECT_FALSE(values.integers());
    EXPECT_EQ(values.at(1).as_u64(), 2U);
}

// Lists in lists, and two lists one behind the other, keep their own numbers.
TEST(PackedIntegers, StandBesideEachOther) {
    JsonDocument document(JsonArrays::packed);
    const JsonValue root = document.parse(R"([[1,2],{"x":[3]},[4,"a"],[5]])").value();
    ASSERT_EQ(root.size(), 4U);
    EXPECT_EQ((*root.at(0).integers())[1], 2U);
    EXPECT_EQ((*root.at(1).find("x").integers())[0], 3U);
    EXPECT_FALSE(root.at(2).integers());
    EXPECT_EQ(root.at(2).first().as_u64(), 4U);
    EXPECT_EQ((*root.at(3).integers())[0], 5U);
}

// No room, no list: the caller's array is never left.
TEST(PackedIntegers, KeepToTheirRoom) {
    std::uint64_t out[3] = {};
    const std::string text = "1,2,3]" + std::string(16, ' ');
    EXPECT_EQ(read_integer_list(text.data(), out, 2).count, 0U);
    EXPECT_EQ(read_integer_list(text.data(), out, 3).count, 3U);
    EXPECT_EQ(*read_integer_list(text.data(), out, 3).end, ']');
}

}  // namespace
}  // namespace driftless
