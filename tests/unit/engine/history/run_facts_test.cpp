// What run.json says of a run comes back to those who resume, repeat or report it; what is missing
// is named.

#include "engine/history/run_facts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "engine/host/calibration.hpp"

namespace driftless {

namespace {

std::string run_json() {
    return R"({"schema":4,"arguments":["/t.jsonl","--speed=2"],"records":null,"labels":{"a":"b"},
      "segments":[
        {"run_id":"0badcafe","command":["t.jsonl"],"zero_monotonic_ns":5,
         "zero_utc_ns":1795258636606062515,"error_ns":40,"first_due_ns":0,"rows":9,
         "rows_interrupted":0},
        {"run_id":"0badcaff","command":["--resume","r"],"zero_monotonic_ns":-5,
         "zero_utc_ns":1795258635870072712,"error_ns":41,"first_due_ns":7,"rows":4,
         "rows_interrupted":2}],
      "trace":{"digest":"00000000000000ff","name":"t","dependencies":5},
      "plan":{"rows":9,"seed":7,"cache_salt":"s","schedule_digest":"8000000000000000","prompts_digest":null,
              "clamped_rows":null},
      "request":{"api":"openai-chat","model":"m","prompt":"text","words_digest":"0000000000000001",
                 "overhead_pre":3,"overhead_post":1,"max_concurrency":8,
                 "tokenizer":{"file":"/k.json"},
                 "goodput":{"ttft_ns":200,"tpot_ns":null,"e2e_ns":null,
                   "groups":[{"key":"kept.tier","value":"gold","ttft_ns":9,"tpot_ns":8,"e2e_ns":null}]}},
      "calibration":{"date":null,"why_not":"none","drift_ns":1,"rank_ns":2,"receive_delay_ns":3,
                     "wire_ns":4},
      "end":null})";
}

TEST(RunFacts, ReadsWhatLaterRunsNeed) {
    JsonDocument document;
    const Result<RunFacts> read = read_run_facts(document, run_json());
    ASSERT_TRUE(read) << read.error().doing;
    const RunFacts& facts = read.value();
    EXPECT_EQ(facts.arguments, (std::vector<std::string>{"/t.jsonl", "--speed=2"}));
    ASSERT_EQ(facts.segments.size(), 2u);
    EXPECT_EQ(facts.segments[1].clock.zero_monotonic_ns, -5);
    EXPECT_EQ(facts.segments[1].first_due_ns, 7);
    EXPECT_EQ(facts.segments[1].rows_interrupted, 2u);
    EXPECT_FALSE(facts.ended);
    EXPECT_EQ(facts.trace_digest, 255u);
    EXPECT_EQ(facts.schedule_digest, std::uint64_t{1} << 63);
    EXPECT_FALSE(facts.prompts_digest.has_value());
    EXPECT_EQ(facts.seed, 7u);
    EXPECT_EQ(facts.info.run.trace_dependencies, 5u);
    EXPECT_EQ(facts.cache_salt, "s");
    EXPECT_FALSE(facts.dataset_digest.has_value());
    EXPECT_EQ(facts.overhead.pre, 3u);
    ASSERT_EQ(facts.goodput.size(), 2u);
    EXPECT_EQ(facts.goodput[0].key->member, "tier");
    EXPECT_EQ(facts.goodput[0].value, "gold");
    EXPECT_EQ(facts.goodput[0].limits.tpot_ns, 8);
    EXPECT_FALSE(facts.goodput[1].key);
    EXPECT_EQ(facts.goodput[1].limits.ttft_ns, 200);
    EXPECT_FALSE(facts.goodput[1].limits.tpot_ns.has_value());
    EXPECT_EQ(facts.info.tokenizer_id, "/k.json");
    EXPECT_EQ(facts.info.max_concurrency, 8u);
    EXPECT_EQ(facts.info.date, "20261121-105716");
    EXPECT_EQ(facts.calibration.why_not, "none");
    EXPECT_EQ(facts.calibration.limits.rank_ns, 2);
    EXPECT_EQ(facts.calibration.limits.receive_delay_ns, 3);
    EXPECT_EQ(facts.calibration.limits.wire_ns, 4);
    EXPECT_EQ(judge_run(facts.calibration, {}, {}, {}).verdict, Verdict::uncalibrated);
}

TEST(RunFacts, SaysHowItWasCalibrated) {
    CalibrationFacts facts;
    facts.date = "2026-11-21T03:45:12Z";
    EXPECT_EQ(how_calibrated(facts), "calibrated at 2026-11-21T03:45:12Z");
    facts.measured_ns = 1'860'000'000;
    facts.taken_share = noise_max;
    EXPECT_EQ(how_calibrated(facts), "calibrated for 1.9 s before this run");
    facts.taken_share = 0.5;
    EXPECT_EQ(how_calibrated(facts),
              "calibrated for 1.9 s before this run, while others used 50.0 % of the CPU");
    EXPECT_EQ(judge_run(facts, {}, {}, {}).reasons.back(), how_calibrated(facts));
}

TEST(RunFacts, ReadsTheBarOfARun) {
    std::string text = run_json();
    const std::size_t at = text.find("\"drift_ns\"");
    text.insert(at, R"("measured_ns":7,"taken_share":0.25,"drift_most_ns":9,)");
    JsonDocument document;
    const Result<RunFacts> read = read_run_facts(document, text);
    ASSERT_TRUE(read) << read.error().doing;
    EXPECT_EQ(read.value().calibration.measured_ns, 7);
    EXPECT_EQ(read.value().calibration.taken_share, 0.25);
    EXPECT_EQ(read.value().calibration.limits.drift_most_ns, 9);
}

// A run is judged by the limits that it had; one of before there was a limit on the wire has none.
TEST(RunFacts, ReadsRunsWithoutAWireLimit) {
    std::string text = run_json();
    const std::size_t at = text.find("\"wire_ns\"");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 9, "\"other\"");
    JsonDocument document;
    const Result<RunFacts> read = read_run_facts(document, text);
    ASSERT_TRUE(read) << read.error().doing;
    EXPECT_EQ(read.value().calibration.limits.wire_ns, 0);
}

// Runs of before there were templates have no such key.
TEST(RunFacts, ReadsTheTemplate) {
    const auto template_of = [](std::string_view json) {
        std::string text = run_json();
        text.insert(text.find("\"model\""), json);
        JsonDocument document;
        const Result<RunFacts> read = read_run_facts(document, text);
        EXPECT_TRUE(read);
        return read.value().template_digest.value_or(0);
    };
    EXPECT_EQ(template_of(""), 0u);
    EXPECT_EQ(template_of("\"template\":null,"), 0u);
    EXPECT_EQ(template_of("\"template\":{\"file\":\"t\",\"digest\":\"00000000000000fe\"},"), 254u);
}

TEST(RunFacts, ReadsTheDataset) {
    std::string text = run_json();
    text.insert(text.find("\"model\""),
                "\"dataset\":{\"file\":\"d\",\"digest\":\"00000000000000fd\"},");
    JsonDocument document;
    const Result<RunFacts> read = read_run_facts(document, text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read.value().dataset_digest, 253u);
}

TEST(RunFacts, NamesTheKey) {
    const auto error_with = [](std::string_view from, std::string_view to) {
        std::string text = run_json();
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        JsonDocument document;
        const Result<RunFacts> read = read_run_facts(document, text);
        EXPECT_FALSE(read) << to;
        return read ? Error{} : read.error();
    };
    EXPECT_STREQ(error_with("\"arguments\"", "\"x\"").doing, "arguments");
    EXPECT_STREQ(error_with("00000000000000ff", "ff").doing, "digest");
    EXPECT_EQ(error_with("8000000000000000", "800000000000000g").code, ErrorCode::out_of_range);
    EXPECT_STREQ(error_with("\"model\":\"m\"", "\"model\":7").doing, "model");
    EXPECT_STREQ(error_with("\"overhead_pre\":3", "\"overhead_pre\":4294967296").doing,
                 "overhead_pre");
    EXPECT_STREQ(error_with("\"seed\":7", "\"seed\":-7").doing, "seed");
    EXPECT_EQ(error_with("\"rows\":4", "\"rows\":-4").code, ErrorCode::bad_json);
    EXPECT_EQ(error_with("{\"schema\"", "[{\"schema\"").code, ErrorCode::bad_json);
    EXPECT_STREQ(error_with("[\"/t.jsonl\"", "[7").doing, "arguments");
    EXPECT_STREQ(error_with("\"segments\":[", "\"segments\":[],\"x\":[").doing, "segments");
    EXPECT_STREQ(error_with("\"date\":null", "\"date\":7").doing, "date");
    EXPECT_STREQ(error_with("\"records\":null", "\"records\":7").doing, "records");
}

// Cut anywhere, it is refused and not misread.
TEST(RunFacts, EveryPrefixIsRefused) {
    const std::string text = run_json();
    JsonDocument document;
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        EXPECT_FALSE(read_run_facts(document, text.substr(0, cut))) << cut;
    }
}

// What a merged run says of its shards is read back as it was written; what is no shard is refused.

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
    MergedRun run{.count = 2, .rows = 9, .rows_missing = 4, .clock_error_max_ns = 1'000};
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
