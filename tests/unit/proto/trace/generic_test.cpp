// Any columns by --map: CSV and JSON lines, units that show themselves or are asked for, block
// sizes found on the data.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

ReadOptions mapped(std::vector<MappedColumn> map, const std::string& unit = "") {
    ReadOptions options;
    options.map = std::move(map);
    options.time_unit = unit;
    return options;
}

const std::vector<MappedColumn> serve_gen = {
    {"time", "timestamp"}, {"in", "input_tokens"}, {"out", "output_tokens"}};

// The output of ServeGen, which people ask how to run: relative seconds, so the unit must be said.
TEST(Generic, ReadsCsvByMap) {
    const std::vector<std::string> lines = {"request_id,timestamp,input_tokens,output_tokens",
                                            "0,0.25,100,20", "1,1.75,200,30"};
    const ReadTrace unsaid = read(lines, mapped(serve_gen));
    EXPECT_EQ(unsaid.errors.count, 1U);
    EXPECT_EQ(unsaid.first_error(),
              "t.jsonl:2: timestamp \"0.25\" does not show its unit; use --time-unit s, ms, us, ns "
              "or iso");
    const ReadTrace got = read(lines, mapped(serve_gen, "s"));
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "generic");
    EXPECT_EQ(got.trace.time_unit, "s");
    EXPECT_EQ(got.trace.rows[1].at_ns, 1'500'000'000);
    EXPECT_EQ(got.trace.rows[1].input_length, 200U);
    EXPECT_EQ(got.trace.block_size, 0U);
    EXPECT_EQ(got.trace.unknown_keys, 2U) << "request_id";
}

// A map goes by the spelling of the file, also where the columns are those of a known format but
// for upper and lower case.
TEST(Generic, KeepsTheSpellingOfTheFile) {
    const std::vector<std::string> lines = {"timestamp,contexttokens,generatedtokens,numimages",
                                            "0.25,100,20,3"};
    ReadOptions options =
        mapped({{"time", "timestamp"}, {"in", "contexttokens"}, {"out", "generatedtokens"}}, "s");
    options.keep = {"numimages"};
    const ReadTrace got = read(lines, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "generic");
    EXPECT_EQ(got.trace.rows[0].input_length, 100U);
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[0]), R"({"numimages":3})");
}

// Where no column is spelled as the map has it, one that differs in upper and lower case is meant.
TEST(Generic, FindsColumnsInAnyCase) {
    const std::vector<std::string> lines = {"TS,in,IN,Out,Blocks", "0.25,100,5,20,1 2"};
    const ReadTrace got = read(
        lines, mapped({{"time", "ts"}, {"in", "in"}, {"out", "OUT"}, {"hashes", "blocks"}}, "s"));
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].input_length, 100U) << "the exact name goes before the other";
    EXPECT_EQ(got.trace.rows[0].output_length, 20U);
    EXPECT_EQ(got.trace.rows[0].ids_count, 2U);
    EXPECT_EQ(got.trace.unknown_keys, 1U) << "IN";
    EXPECT_EQ(read(lines, mapped({{"time", "t"}, {"in", "in"}, {"out", "out"}}, "s")).first_error(),
              "t.jsonl:2: --map \"time=t\" does not name a column; columns are TS, in, IN, Out, "
              "Blocks");
}

// Wall clocks and epochs show their unit; every row is held to the first one's.
TEST(Generic, GuessesUnitsThatShow) {
    const auto unit_of = [](const std::string& time) {
        const ReadTrace got = read({"time,in,out", time + ",1,1"}, mapped({}, "auto"));
        return got.usable ? got.trace.time_unit : got.first_error();
    };
    ReadOptions named;
    named.format = "generic";
    EXPECT_TRUE(read({"time,in,out", "2024-01-01T00:00:00Z,1,1"}, named).usable);
    EXPECT_TRUE(says(unit_of("5"), "a known format"));
    const auto with = [&](const std::string& time, const std::string& second) {
        return read({"time,in,out", time + ",1,1", second + ",1,1"}, named);
    };
    EXPECT_EQ(with("1732060800123", "1732060800124").trace.time_unit, "ms");
    EXPECT_EQ(with("1732060800123", "1732060800124").trace.rows[1].at_ns, 1'000'000);
    EXPECT_EQ(with("2024-01-01 00:00:00", "2024-01-01 00:00:01").trace.time_unit, "iso");
    EXPECT_FALSE(with("1732060800", "2024-01-01 00:00:01").usable);
}

// JSON lines: a column may be a path; sessions, turns and delays come along.
TEST(Generic, ReadsJsonByMap) {
    const std::vector<MappedColumn> map = {{"time", "at"},         {"in", "usage.prompt_tokens"},
                                           {"out", "usage.out"},   {"session", "user"},
                                           {"turn", "n"},          {"delay", "think"},
                                           {"hashes", "block_ids"}};
    const std::vector<std::string> lines = {
        R"({"at":1,"usage":{"prompt_tokens":40,"out":5},"user":"u","n":1,"block_ids":["aa","bb","x"]})",
        R"({"at":2,"usage":{"prompt_tokens":33,"out":5},"user":"u","n":2,"think":0.5,)"
        R"("block_ids":["aa","bb","y"]})"};
    const ReadTrace got = read(lines, mapped(map, "s"));
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.block_size, 16U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(got.trace.ids[0], got.trace.ids[3]) << "equal strings, equal ids";
    EXPECT_NE(got.trace.ids[2], got.trace.ids[5]);
    EXPECT_EQ(got.trace.sessions, (std::vector<std::string>{"u"}));
    EXPECT_EQ(got.trace.rows[1].turn, 2U);
    EXPECT_EQ(got.trace.dependencies_of(got.trace.rows[1])[0].delay_ns, 500'000'000);
    EXPECT_EQ(got.trace.unknown_keys, 0U);
}

ReadTrace with_blocks(const std::vector<std::string>& rows, std::uint32_t size = 0,
                      bool lenient = false) {
    std::vector<std::string> lines = {"time,in,out,hashes"};
    lines.insert(lines.end(), rows.begin(), rows.end());
    ReadOptions options;
    options.format = "generic";
    options.time_unit = "ms";
    options.block_size = size;
    options.lenient = lenient;
    return read(lines, options);
}

// Block size and rule are those that all rows follow.
TEST(Generic, FindsBlockSizeAndRule) {
    const ReadTrace ceil = with_blocks({"0,65,1,1 2", "1,128,1,1 2", "2,200,1,1 2 3 4"});
    ASSERT_TRUE(ceil.usable) << ceil.first_error();
    EXPECT_EQ(ceil.trace.block_size, 64U);
    EXPECT_EQ(ceil.trace.tail_rule, TailRule::ceil);
    const ReadTrace floor = with_blocks({"0,65,1,[1]", "1,128,1,\"[1, 2]\"", "2,255,1,1;2;3"});
    ASSERT_TRUE(floor.usable) << floor.first_error();
    EXPECT_EQ(floor.trace.block_size, 64U);
    EXPECT_EQ(floor.trace.tail_rule, TailRule::floor);
    EXPECT_EQ(plain_ids(floor.trace.ids), (std::vector<std::uint64_t>{1, 1, 2, 1, 2, 3}));
}

// Exact multiples follow both rules: ceil. What fits several sizes is the user's to say.
TEST(Generic, RefusesAmbiguousBlocks) {
    const ReadTrace exact = with_blocks({"0,64,1,1 2", "1,128,1,1 2 3 4"}, 32);
    ASSERT_TRUE(exact.usable) << exact.first_error();
    EXPECT_EQ(exact.trace.tail_rule, TailRule::ceil);
    const ReadTrace unclear = with_blocks({"0,10,1,1"});
    EXPECT_EQ(unclear.first_error(),
              "t.jsonl: has block ids that fit several block sizes equally well: 16, 32, 64, 128, "
              "256, 512, 1024; choose one with --block-size");
}

// Where no size fits all rows, those that the best one leaves out are listed.
TEST(Generic, ListsRowsThatBreakTheRule) {
    const std::vector<std::string> rows = {"0,65,1,1 2", "1,200,1,1 2 3 4", "2,300,1,1 2"};
    const ReadTrace got = with_blocks(rows);
    ASSERT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.errors.list[0].line, 4U);
    EXPECT_TRUE(says(got.errors.list[0].problem, "at block size 64 needs 5"));
    const ReadTrace fixed = with_blocks(rows, 64, true);
    ASSERT_TRUE(fixed.usable) << fixed.first_error();
    EXPECT_EQ(fixed.trace.rows_uncovered, 1U);
}

// A mapped column may have a dot in its name.
TEST(Generic, KnowsColumnsWithDots) {
    const ReadOptions map = mapped({{"time", "a.b"}}, "s");
    const ReadTrace csv = read({"a.b,in,out", "1,1,1"}, map);
    ASSERT_TRUE(csv.usable) << csv.first_error();
    EXPECT_EQ(csv.trace.unknown_keys, 0U);
    const ReadTrace json = read({R"({"a.b":1,"in":1,"out":1})"}, map);
    ASSERT_TRUE(json.usable) << json.first_error();
    EXPECT_EQ(json.trace.unknown_keys, 0U);
}

// A map that names what is not there is one error, not one a row.
TEST(Generic, ChecksTheMap) {
    const std::vector<std::string> lines = {"when,in,out,user", "1,1,1,a", "2,1,1,a"};
    const ReadTrace got = read(lines, mapped({{"time", "wen"}}, "s"));
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(
        got.first_error(),
        "t.jsonl:2: --map \"time=wen\" does not name a column; columns are when, in, out, user");
    const ReadTrace screen = read({"wh\x1b[2Jen,in,out", "1,1,1"}, mapped({{"time", "x"}}, "s"));
    EXPECT_EQ(
        screen.first_error(),
        "t.jsonl:2: --map \"time=x\" does not name a column; columns are wh\\u001b[2Jen, in, out");
    const ReadTrace untimed = read({"in,out", "1,1"}, mapped({{"in", "in"}, {"out", "out"}}, "s"));
    EXPECT_EQ(untimed.first_error(),
              "t.jsonl:2: --map does not say which column has the arrival times; add time=COLUMN "
              "to it; columns are in, out; if none has times, use replay --rate R");
    const ReadTrace endless = read({"when,in", "1,1"}, mapped({{"time", "when"}}, "s"));
    EXPECT_EQ(endless.first_error(),
              "t.jsonl:2: --map does not say which column has the output tokens; add out=COLUMN "
              "to it; columns are when, in; if none has them, use --default-output N");
    ReadOptions given = mapped({{"time", "when"}, {"in", "in"}}, "s");
    given.default_output = 7;
    const ReadTrace filled = read({"when,in", "1,1"}, given);
    ASSERT_TRUE(filled.usable) << filled.first_error();
    EXPECT_EQ(filled.trace.rows[0].output_length, 7U);
    const ReadTrace session = read(lines, mapped({{"time", "when"}, {"session", "usr"}}, "s"));
    EXPECT_EQ(session.first_error(),
              "--map \"session=usr\" names a column that no row has; other columns are user");
}

}  // namespace
}  // namespace driftless
