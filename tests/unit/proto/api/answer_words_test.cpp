#include <gtest/gtest.h>

#include "proto/api/request_body.hpp"

namespace driftless {
namespace {

void take(SaidCalls& calls, const std::string& json) {
    JsonDocument document;
    calls.take(document.parse(json).value());
}

// As servers stream them: name and id first, arguments in pieces, calls side by side.
TEST(SaidCalls, PutsPartsTogetherByTheirIndex) {
    SaidCalls calls;
    take(calls,
         R"([{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}])");
    take(calls, R"([{"index":0,"function":{"arguments":"{\"x\""}}])");
    take(calls, R"([{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}])");
    take(calls, R"([{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}])");
    ASSERT_EQ(calls.all().size(), 2u);
    EXPECT_EQ(calls.all()[0].id, "a");
    EXPECT_EQ(calls.all()[0].name, "f");
    EXPECT_EQ(calls.all()[0].arguments, R"({"x":1})");
    EXPECT_EQ(calls.all()[1].name, "g");
    EXPECT_FALSE(calls.is_cut());
}

// Of a whole answer, whose calls have no index.
TEST(SaidCalls, CountsPlacesWhereThereIsNoIndex) {
    SaidCalls calls;
    take(calls, R"([{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g"}}, 3])");
    ASSERT_EQ(calls.all().size(), 2u);
    EXPECT_EQ(calls.all()[1].name, "g");
}

// What servers do beside the rules.
TEST(SaidCalls, TellsCallsApartByTheirIds) {
    SaidCalls calls;
    take(calls, R"([{"index":0,"id":"a","function":null}])");
    take(calls, R"([{"index":0,"function":{"name":"fo","arguments":"{"}}])");
    take(calls, R"([{"index":0,"function":{"name":"o","arguments":"}"}}])");
    take(calls, R"([{"index":0,"id":"b","function":{"name":"g","arguments":{"x":[1]}}}])");
    take(calls, R"([{"id":"c","function":{"name":"h","arguments":"1"}}])");
    take(calls, R"([{"function":{"arguments":"2"}}])");
    take(calls, R"([{"function":{"name":"k","arguments":"3"}}])");
    ASSERT_EQ(calls.all().size(), 4u);
    EXPECT_EQ(calls.all()[0].id, "a");
    EXPECT_EQ(calls.all()[0].name, "foo");
    EXPECT_EQ(calls.all()[0].arguments, "{}");
    EXPECT_EQ(calls.all()[1].arguments, R"({"x":[1]})");
    EXPECT_EQ(calls.all()[2].arguments, "12");
    EXPECT_EQ(calls.all()[3].name, "k");
}

TEST(SaidCalls, AreInTheOrderOfTheirIndices) {
    SaidCalls calls;
    take(
        calls,
        R"([{"index":1,"id":"b","function":{"name":"g"}},{"index":0,"id":"a","function":{"name":"f"}}])");
    std::string message;
    append_answer_message(message, "", "", calls.all(), {});
    EXPECT_LT(message.find("\"a\""), message.find("\"b\""));
}

TEST(SaidCalls, AreBounded) {
    SaidCalls calls;
    std::string many = "[";
    for (int i = 0; i < 300; ++i) {
        many += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i) + "}";
    }
    take(calls, many + "]");
    EXPECT_EQ(calls.all().size(), 256u);
    EXPECT_TRUE(calls.is_cut());
    calls.clear();
    EXPECT_FALSE(calls.is_cut());
    const std::string large(std::size_t{3} << 20, 'x');
    take(calls, R"([{"index":0,"function":{"arguments":")" + large + "\"}}]");
    EXPECT_FALSE(calls.is_cut());
    take(calls, R"([{"index":0,"function":{"arguments":")" + large + "\"}}]");
    EXPECT_TRUE(calls.is_cut());
    EXPECT_EQ(calls.all()[0].arguments.size(), std::size_t{4} << 20);
}

}  // namespace
}  // namespace driftless
