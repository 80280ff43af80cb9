// The client's sums: unknown until a sample knows, and costs per request and per chunk.
#include <gtest/gtest.h>

#include "proto/figures/taint.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

std::string json_of(const ClientTotals* totals) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_client(json, totals);
    json.end_object();
    return text;
}

TEST(ClientTotals, SumsWhatIsKnown) {
    ClientTotals totals;
    ClientSample first{.rows_fired = 3, .wake_error_max_ns = 70};
    ClientSample second{.rows_fired = 4, .wake_error_max_ns = 50, .user_ns = 5, .minor_faults = 0};
    totals.add(first);
    EXPECT_EQ(totals.minor_faults, -1);
    totals.add(second);
    totals.add(second);
    EXPECT_EQ(totals.rows_fired, 11);
    EXPECT_EQ(totals.minor_faults, 0);
    EXPECT_EQ(totals.user_ns, 10);
    EXPECT_EQ(totals.wake_error_max_ns, 70);
    EXPECT_EQ(totals.system_ns, -1);
}

// The writer's rate is that of the second in which it read most for its CPU time, of those that say
// something; what it was busy with is a share of what others left of the second.
TEST(ClientTotals, TheWritersRateIsOfItsBusySeconds) {
    ClientTotals totals;
    ClientSample sample;
    sample.to_ns = 1'000'000'000;
    totals.add(sample);  // nobody measured it
    EXPECT_EQ(totals.writer_chunks, -1);
    JsonDocument unmeasured;
    const JsonValue untold = unmeasured.parse(json_of(&totals)).value().find("client");
    EXPECT_TRUE(untold.find("writer_busy_share_max").is(JsonType::null));
    sample.writer_chunks = 99'000;
    sample.writer_cpu_ns = 99'999'999;
    sample.writer_run_delay_ns = 0;
    totals.add(sample);
    EXPECT_EQ(totals.writer_chunks_per_cpu_s, -1) << "it has slept";
    sample.writer_cpu_ns = 100'000'000;
    totals.add(sample);
    EXPECT_EQ(totals.writer_chunks_per_cpu_s, 990'000);
    sample.writer_chunks = 250'000;
    sample.writer_cpu_ns = 400'000'000;
    sample.writer_run_delay_ns = 500'000'000;
    totals.add(sample);
    EXPECT_EQ(totals.writer_chunks_per_cpu_s, 990'000);
    EXPECT_EQ(totals.writer_chunks, 448'000);
    EXPECT_DOUBLE_EQ(totals.writer_busy_max, 0.8);
    sample.writer_run_delay_ns = 700'000'000;  // some of it before the second began
    totals.add(sample);
    EXPECT_DOUBLE_EQ(totals.writer_busy_max, 1.0);
    JsonDocument document;
    const JsonValue client = document.parse(json_of(&totals)).value().find("client");
    EXPECT_EQ(client.find("writer_chunks_per_cpu_s").as_i64(), 990'000);
    EXPECT_EQ(client.find("writer_busy_share_max").as_double(), 1.0);
}

TEST(ClientTotals, JsonDividesByRequestsAndChunks) {
    ClientTotals totals;
    ClientSample sample;
    sample.rows_fired = 4;
    sample.bytes_sent = 1000;
    sample.system_calls = 10;
    sample.to_ns = 1'000'000'000;
    totals.add(sample);
    JsonDocument document;
    const JsonValue client = document.parse(json_of(&totals)).value().find("client");
    EXPECT_EQ(client.find("bytes_sent").as_i64(), 1000);
    EXPECT_TRUE(client.find("user_ns").is(JsonType::null));
    EXPECT_TRUE(client.find("writer_chunks_per_cpu_s").is(JsonType::null));
    EXPECT_EQ(client.find("per_request").find("bytes_sent").as_double(), 250.0);
    EXPECT_EQ(client.find("per_request").find("system_calls").as_double(), 2.5);
    EXPECT_TRUE(client.find("per_request").find("user_ns").is(JsonType::null));
    EXPECT_TRUE(client.find("per_chunk").find("system_calls").is(JsonType::null));
    EXPECT_EQ(json_of(nullptr), R"({"client":null})");
}

}  // namespace
}  // namespace driftless
