// Keys that rows are told apart by: what each finds in a row, and what is refused.
#include "engine/stats/group_key.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::string value_in(const char* key, const Record& record) {
    JsonDocument document;
    return group_value(parse_group_key(key).value(), record, document);
}

TEST(GroupKey, FindsWhatARowHas) {
    Record record;
    record.phase = Phase::warmup;
    record.turn = 7;
    record.api = "openai-chat";
    record.url = "http://a/";
    record.model = "m";
    record.outcome = Outcome::ok;
    record.kept = R"({"tier":"gold","n":1.50,"gone":null})";
    record.headers = {{"target-pod", "pod-1"}, {"x", std::nullopt}};
    record.input_length = 512;
    EXPECT_EQ(value_in("phase", record), "warmup");
    EXPECT_EQ(value_in("turn", record), "7");
    EXPECT_EQ(value_in("api", record), "openai-chat");
    EXPECT_EQ(value_in("url", record), "http://a/");
    EXPECT_EQ(value_in("model", record), "m");
    EXPECT_EQ(value_in("outcome", record), "ok");
    EXPECT_EQ(value_in("kept.tier", record), "gold");
    EXPECT_EQ(value_in("kept.n", record), "1.50");
    EXPECT_EQ(value_in("kept.gone", record), "-");
    EXPECT_EQ(value_in("kept.other", record), "-");
    EXPECT_EQ(value_in("header.target-pod", record), "pod-1");
    EXPECT_EQ(value_in("header.x", record), "-");
    EXPECT_EQ(value_in("input:4", record), "512");
    EXPECT_EQ(value_in("turn", Record()), "-");
    EXPECT_EQ(value_in("kept.tier", Record()), "-");
}

TEST(GroupKey, RefusesOthers) {
    for (const char* text : {"", "foo", "kept.", "header.", "input", "input:", "input:1",
                             "input:21", "input:x", "Phase"}) {
        EXPECT_FALSE(parse_group_key(text)) << text;
    }
    EXPECT_TRUE(parse_group_key("input:2"));
    EXPECT_TRUE(parse_group_key("input:20"));
}

TEST(GroupKey, CutsLengthsIntoEqualParts) {
    std::vector<std::uint32_t> lengths = {8, 1, 7, 2, 6, 3, 5, 4};
    EXPECT_EQ(length_bounds(lengths, 4), (std::vector<std::uint32_t>{2, 4, 6, 8}));
    EXPECT_EQ(length_bounds(lengths, 3), (std::vector<std::uint32_t>{2, 5, 8}));
    std::vector<std::uint32_t> equal(10, 512);
    EXPECT_EQ(length_bounds(equal, 4), (std::vector<std::uint32_t>{512}));
    std::vector<std::uint32_t> none;
    EXPECT_TRUE(length_bounds(none, 4).empty());
}

}  // namespace
}  // namespace driftless
