// What a merged run says of its shards is read back as it was written; what is no shard is refused.
#include "engine/history/shard_facts.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

Result<std::optional<ShardFacts>> shard_of(const std::string& shard, const std::string& meeting) {
    static JsonDocument document;
    const Result<JsonValue> root =
        document.parse("{\"shard\":" + shard + ",\"meeting\":" + meeting + "}");
    EXPECT_TRUE(root) << shard << meeting;
    return read_shard(root.value().find("shard"), root.value().find("meeting"));
}

constexpr const char* shard = R"({"index":1,"count":2,"from":"--shard","plan_rows":9})";

TEST(ShardFacts, Read) {
    EXPECT_FALSE(shard_of("null", "null").value());
    const ShardFacts facts = *shard_of(shard, "null").value();
    EXPECT_EQ(facts.index, 1U);
    EXPECT_EQ(facts.count, 2U);
    EXPECT_EQ(facts.plan_rows, 9U);
    EXPECT_FALSE(facts.clock);
}

// Clocks move against each other during a run: what holds both exchanges is what is known.
TEST(ShardFacts, TheClockIsKnownToWhatHoldsBothExchanges) {
    const auto clock_of = [](const std::string& clock) {
        return shard_of(shard, "{\"clock\":" + clock + "}").value()->clock;
    };
    const std::string before = R"({"offset_ns":100,"error_ns":10,"round_trip_ns":20})";
    EXPECT_EQ(clock_of("{\"before\":" + before + ",\"after\":null}")->error_ns, 10);
    const ShardClock both =
        *clock_of("{\"before\":" + before + R"(,"after":{"offset_ns":140,"error_ns":20}})");
    EXPECT_EQ(both.offset_ns, 125);  // 90 to 160
    EXPECT_EQ(both.error_ns, 35);
    const std::optional<ShardClock> kernel = clock_of(R"({"before":null,"kernel_error_ns":7})");
    EXPECT_EQ(kernel->error_ns, 7);
    EXPECT_EQ(kernel->offset_ns, 0);
    EXPECT_FALSE(clock_of(R"({"before":null,"after":null,"kernel_error_ns":null})"));
    // Shard 0 is what all others are compared with.
    const std::string host = R"({"role":"host","clock":{"before":null,"after":null,)"
                             R"("kernel_error_ns":9000000}})";
    EXPECT_EQ(shard_of(shard, host).value()->clock->error_ns, 0);
}

TEST(ShardFacts, WhatIsNoShard) {
    for (const char* const wrong :
         {"[]", "7", "true", R"({"index":0,"count":2})", R"({"index":2,"count":2,"plan_rows":9})",
          R"({"index":0,"count":0,"plan_rows":9})", R"({"index":0,"count":65537,"plan_rows":9})",
          R"({"index":-1,"count":2,"plan_rows":9})", R"({"index":0.5,"count":2,"plan_rows":9})",
          R"({"index":0,"count":2,"plan_rows":4294967296})"}) {
        EXPECT_FALSE(shard_of(wrong, "null")) << wrong;
    }
    for (const char* const wrong : {R"({"offset_ns":9223372036854775807,"error_ns":1})",
                                    R"({"offset_ns":1,"error_ns":-1})", R"({"offset_ns":1})"}) {
        EXPECT_FALSE(shard_of(shard, std::string("{\"clock\":{\"before\":") + wrong + "}}"))
            << wrong;
    }
}

TEST(ShardFacts, AMergedRunIsReadBack) {
    MergedRun run;
    run.count = 2;
    run.rows = 9;
    run.rows_missing = 4;
    run.clock_error_max_ns = 1'000;
    run.shards.resize(2);
    run.shards[0].folder = "a \"b\"";
    run.shards[0].run_id = "12345678";
    run.shards[0].ended = false;
    run.shards[0].rows = 5;
    run.shards[0].not_reported = 2;
    run.shards[0].rows_left = 1;
    run.shards[0].all_known = false;
    run.shards[0].verdict = "host-noisy";
    run.shards[0].reasons = {"one", "two"};
    run.shards[0].zero_utc_ns = 77;
    run.shards[0].clock = ShardClock{-3, 4};
    run.shards[1].index = 1;
    run.shards[1].verdict = "";
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_merged(json, run);
    json.end_object();
    JsonDocument document;
    const Result<std::optional<MergedRun>> read =
        read_merged(document.parse(text).value().find("merged"));
    ASSERT_TRUE(read);
    std::string again;
    JsonWriter second(again);
    second.begin_object();
    write_merged(second, *read.value());
    second.end_object();
    EXPECT_EQ(again, text);
    EXPECT_TRUE(read.value()->shards[1].is_missing());
    EXPECT_EQ(read.value()->not_reported(), 6U);
}

}  // namespace
}  // namespace driftless
