// Flags that say how a trace is read give values, or a clause that says what to write.
#include "cmd/flags/option_values.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

// The model is the replay's to read; other commands say so.
TEST(TraceValues, TakeTheModelOutOfAMap) {
    auto map = parse_map("in=a,model=lora,out=b");
    ASSERT_TRUE(map);
    EXPECT_EQ(model_column_refusal(map.value()),
              "--map model=lora names the models of requests, but nothing is sent here; remove "
              "model=lora from --map");
    EXPECT_EQ(take_model_column(map.value()), "lora");
    ASSERT_EQ(map.value().size(), 2U);
    EXPECT_EQ(map.value()[1].column, "b");
    EXPECT_EQ(take_model_column(map.value()), "");
    EXPECT_EQ(model_column_refusal(map.value()), "");
}

TEST(TraceValues, ReadMaps) {
    const auto map = parse_map("time=timestamp,in=usage.prompt_tokens, out=o=p");
    ASSERT_TRUE(map);
    ASSERT_EQ(map.value().size(), 3U);
    EXPECT_EQ(map.value()[0].key, "time");
    EXPECT_EQ(map.value()[0].column, "timestamp");
    EXPECT_EQ(map.value()[1].column, "usage.prompt_tokens");
    EXPECT_EQ(map.value()[2].column, "o=p");
    for (const char* text :
         {"", "time", "time=", "=a", "tiem=a", "time=a,time=b", "time=a,,in=b"}) {
        EXPECT_FALSE(parse_map(text)) << text;
    }
}

TEST(TraceValues, ReadUnitsAndSessions) {
    for (const char* unit : {"s", "ms", "us", "ns", "iso", "auto"}) {
        EXPECT_EQ(parse_time_unit(unit).value(), unit);
    }
    EXPECT_FALSE(parse_time_unit("minutes"));
    for (const Sessions sessions : {Sessions::recorded, Sessions::open, Sessions::closed}) {
        EXPECT_EQ(parse_sessions(name_of(sessions)).value(), sessions);
    }
    EXPECT_FALSE(parse_sessions("shut"));
    EXPECT_EQ(parse_hash_scope("all").value(), IdScope::all);
    EXPECT_EQ(parse_hash_scope("session").value(), IdScope::session);
    EXPECT_FALSE(parse_hash_scope("global"));
}

}  // namespace
}  // namespace driftless
