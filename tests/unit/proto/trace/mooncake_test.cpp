// Mooncake rows are read as their publisher means them, and what contradicts that is refused with
// file, line, field, value and remedy.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

// Fixture 1: two rows at one instant, a tail of one token, an exact multiple of the block.
TEST(Mooncake, ReadsTailsAndExactMultiples) {
    const ReadTrace got =
        read({row("0", 513, 500, "0, 1"), row("0", 1024, 490, "0, 2"), row("3000", 1, 1, "7")});
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 3U);
    EXPECT_EQ(got.trace.format, "mooncake");
    EXPECT_EQ(got.trace.time_unit, "ms");
    EXPECT_EQ(got.trace.block_size, 512U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(plain_ids(got.trace.ids), (std::vector<std::uint64_t>{0, 1, 0, 2, 7}));
    const TraceRow& last = got.trace.rows[2];
    EXPECT_EQ(last.at_ns, 3'000'000'000);
    EXPECT_EQ(last.input_length, 1U);
    EXPECT_EQ(last.output_length, 1U);
    EXPECT_EQ(last.ids_begin, 4U);
    EXPECT_EQ(last.ids_count, 1U);
    EXPECT_EQ(last.index, 2U);
    EXPECT_EQ(last.line, 3U);
    EXPECT_EQ(last.name_space, 0U);
    EXPECT_EQ(last.session, no_session);
}

// Without times nothing says when a row is due; the remedy is a command that works.
TEST(Mooncake, RefusesRowsWithoutTimes) {
    const ReadTrace got = read({R"({"input_length":5,"output_length":2,"hash_ids":[1]})"});
    EXPECT_FALSE(got.usable);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:1: timestamp is missing; give every row its arrival time; if no row has "
              "one, use replay --rate R or --concurrency N, or add times 100 apart: jq -c "
              "'.timestamp = input_line_number * 100' FILE > NEW_FILE");
    const ReadTrace spelled =
        read({R"({"Timestamp":7,"Input-Length":5,"output_length":2,"hash_ids":[1]})"});
    ASSERT_EQ(spelled.errors.count, 2U) << "and no advice that would overwrite the true times";
    EXPECT_EQ(spelled.first_error(),
              "t.jsonl:1: timestamp is missing; the row has \"Timestamp\": rename it, or name all "
              "columns with --map time=KEY,in=KEY,out=KEY");
    EXPECT_TRUE(says(spelled.errors.list[1].remedy, "\"Input-Length\""));
}

// Fixture 2: a count that contradicts the length is refused, with what would fix it.
TEST(Mooncake, RefusesACountThatContradictsTheLength) {
    const ReadTrace few = read({row("0", 1025, 5, "0, 1")});
    EXPECT_FALSE(few.usable);
    EXPECT_EQ(
        few.first_error(),
        "t.jsonl:1: hash_ids \"2 ids\" contradicts input_length 1025, which at block size 512 "
        "needs 3; --block-size 1024 would fit; or use --lenient to ignore surplus ids and fill "
        "missing ones with private tokens");
    const ReadTrace many = read({row("0", 50, 5, "1, 2, 3")});
    EXPECT_TRUE(says(many.first_error(), "no block size of 16, 32, .. 1024 would fit"));
    EXPECT_TRUE(says(read({row("0", 512, 5, "")}).first_error(), "needs 1"));
    EXPECT_TRUE(read({row("0", 1024, 5, "0, 1")}).usable);
    EXPECT_FALSE(read({row("0", 1024, 5, "0, 1, 2")}).usable);
}

// --block-size overrides; the rule stays.
TEST(Mooncake, TakesABlockSize) {
    ReadOptions options;
    options.block_size = 16;
    const ReadTrace got = read({row("0", 33, 5, "0, 1, 2")}, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.block_size, 16U);
    EXPECT_FALSE(read({row("0", 33, 5, "0")}, options).usable);
}

// --lenient: surplus ids go, missing ones are left to private tokens; both are counted.
TEST(Mooncake, LenientFixesCounts) {
    ReadOptions options;
    options.lenient = true;
    const ReadTrace got = read({row("0", 512, 5, "1, 2, 3"), row("0", 2000, 5, "1, 2"),
                                R"({"timestamp": 0, "input_length": 9, "output_length": 1})"},
                               options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.surplus_ids, 2U);
    EXPECT_EQ(got.trace.rows_uncovered, 2U);
    EXPECT_EQ(plain_ids(got.trace.ids), (std::vector<std::uint64_t>{1, 1, 2}));
    EXPECT_EQ(got.trace.rows[0].ids_count, 1U);
    EXPECT_EQ(got.trace.rows[1].ids_begin, 1U);
    EXPECT_EQ(got.trace.rows[2].ids_count, 0U);
}

// Fixture 7: ids are unsigned 64-bit numbers, also written as decimals; negative ones are refused.
TEST(Mooncake, ReadsIdsOf64Bits) {
    const ReadTrace got = read({row("0", 1500, 5, "18446744073709551615, 512.0, 0")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(plain_ids(got.trace.ids),
              (std::vector<std::uint64_t>{18446744073709551615ULL, 512, 0}));
    for (const std::string id : {"-1", "18446744073709551616", "1.5", "\"a\"", "null", "[1]"}) {
        const ReadTrace bad = read({row("0", 512, 5, id)});
        ASSERT_FALSE(bad.usable) << id;
        EXPECT_EQ(bad.errors.list[0].field, "hash_ids");
        EXPECT_EQ(bad.errors.list[0].value, id);
        EXPECT_TRUE(bad.trace.ids.empty());
    }
}

// Fixture 10: unsorted rows are sorted stably and counted; the index stays that of the file.
TEST(Mooncake, SortsStably) {
    const ReadTrace got = read({row("30", 1, 1, "0"), row("10", 2, 1, "1"), row("30", 3, 1, "2"),
                                row("10", 4, 1, "3"), row("20", 5, 1, "4")});
    ASSERT_TRUE(got.usable) << got.first_error();
    std::vector<std::uint32_t> lengths;
    for (const TraceRow& one : got.trace.rows) {
        lengths.push_back(one.input_length);
        EXPECT_EQ(one.index + 1, one.input_length);
    }
    EXPECT_EQ(lengths, (std::vector<std::uint32_t>{2, 4, 5, 1, 3}));
    EXPECT_EQ(got.trace.rows_unsorted, 2U);
    EXPECT_EQ(got.trace.rows[0].at_ns, 0) << "rebased to the earliest";
    EXPECT_EQ(got.trace.rows[4].at_ns, 20'000'000);
}

// Fixture 10: negative times and what is no number are refused.
TEST(Mooncake, RefusesTimesThatAreNone) {
    EXPECT_EQ(read({row("-1", 1, 1, "0")}).first_error(),
              "t.jsonl:1: timestamp \"-1\" is negative; use times and delays of 0 or more");
    EXPECT_TRUE(says(read({row("\"NaN\"", 1, 1, "0")}).first_error(), "is not a decimal number"));
    EXPECT_TRUE(says(read({row("NaN", 1, 1, "0")}).first_error(), "JSON has no NaN"));
    EXPECT_TRUE(says(read({row("\"2025-01-01T00:00:00Z\"", 1, 1, "0")}).first_error(),
                     "is not a decimal number; for dates use --time-unit iso"));
    EXPECT_TRUE(says(read({row("true", 1, 1, "0")}).first_error(), "is not a decimal number"));
    EXPECT_TRUE(says(read({row("1e40", 1, 1, "0")}).first_error(), "--time-unit"));
}

// Fixture 11: epoch nanoseconds that lose digits in a double keep them here.
TEST(Mooncake, KeepsEveryDigitOfATime) {
    ReadOptions options;
    options.time_unit = "ns";
    const ReadTrace got =
        read({row("1732060800123456789", 1, 1, "0"), row("1732060800123456790", 1, 1, "1"),
              row("\"1732060800123456791\"", 1, 1, "2")},
             options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[1].at_ns, 1);
    EXPECT_EQ(got.trace.rows[2].at_ns, 2);
    EXPECT_EQ(got.trace.time_unit, "ns");
    options.time_unit = "ms";
    const ReadTrace floats = read({row("0.000001", 1, 1, "0"), row("1.5e0", 1, 1, "0")}, options);
    EXPECT_EQ(floats.trace.rows[1].at_ns, 1'499'999);
}

// The aliases of the Dynamo dialect; a null is an absent field.
TEST(Mooncake, ReadsAliases) {
    const ReadTrace got = read({R"({"created_time": 5.5, "input_tokens": 3, "output_tokens": 4,
                                  "hash_ids": [1]})",
                                R"({"timestamp": null, "created_time": 6, "input_length": 3.0,
                                  "output_length": 4, "hash_ids": [1]})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].input_length, 3U);
    EXPECT_EQ(got.trace.rows[1].at_ns, 500'000);
}

// Lengths at and beyond their bounds; an output of 0 is taken as 1 and counted.
TEST(Mooncake, BoundsLengths) {
    const ReadTrace zero = read({row("0", 1, 0, "0")});
    ASSERT_TRUE(zero.usable);
    EXPECT_EQ(zero.trace.rows[0].output_length, 1U);
    EXPECT_EQ(zero.trace.zero_outputs, 1U);
    EXPECT_EQ(read({row("0", 0, 1, "")}).errors.list[0].field, "input_length");
    EXPECT_EQ(read({row("0", 5, -1, "0")}).errors.list[0].field, "output_length");
    const auto output_of = [](const std::string& text) {
        return read(
            {R"({"timestamp":0,"input_length":1,"hash_ids":[0],"output_length":)" + text + "}"});
    };
    EXPECT_TRUE(output_of(std::to_string(row_tokens_max)).usable);
    EXPECT_FALSE(output_of(std::to_string(row_tokens_max + 1)).usable);
    EXPECT_FALSE(output_of("1.5").usable);
    EXPECT_FALSE(output_of("\"7\"").usable);
    EXPECT_FALSE(output_of("99999999999999999999999").usable);
}

// Every error of a file is listed, several in one row too, up to the cap; the rest is counted.
TEST(Mooncake, ListsAllErrors) {
    std::vector<std::string> lines = {R"({"hash_ids": [], "timestamp": -4})", "{broken}", "[]",
                                      row("0", 1, 1, "0")};
    const ReadTrace got = read(lines);
    EXPECT_FALSE(got.usable);
    EXPECT_EQ(got.errors.count, 5U);
    EXPECT_EQ(got.errors.list[0].problem, "is negative");
    EXPECT_EQ(got.errors.list[1].field, "input_length");
    EXPECT_EQ(got.errors.list[1].problem, "is missing");
    EXPECT_EQ(got.errors.list[2].field, "output_length");
    EXPECT_EQ(got.errors.list[3].line, 2U);
    EXPECT_EQ(got.errors.list[3].problem, "is not JSON, at byte 2");
    EXPECT_EQ(got.errors.list[4].problem, "is not a JSON object");
    for (const std::size_t count : {99U, 100U, 101U}) {
        const ReadTrace bad = read(std::vector<std::string>(count, row("-1", 1, 1, "0")));
        EXPECT_EQ(bad.errors.count, count);
        EXPECT_EQ(bad.errors.list.size(), std::min<std::size_t>(count, 100));
    }
}

// The line that explains all others stands first, also where there are more than are listed.
TEST(Mooncake, SuggestsTheBlockSizeFirst) {
    for (const std::size_t count : {2U, 99U, 100U, 101U}) {
        const ReadTrace bad = read(std::vector<std::string>(count, row("0", 64, 1, "0, 1, 2, 3")));
        EXPECT_EQ(bad.errors.count, count + 1);
        EXPECT_EQ(bad.errors.list.size(), std::min<std::size_t>(count + 1, 100));
        EXPECT_TRUE(says(bad.first_error(), "use --block-size"));
    }
}

// Fixture 9: rows that hold words instead of lengths. Nulls count as absent.
TEST(Mooncake, ReadsRecordedRequests) {
    const ReadTrace got =
        read({R"({"session_id":"a","messages":[{"role":"user","content":"q"}],"output_length":5,)"
              R"("tools":null,"timestamp":0})",
              R"({"text_input":"Hello","output_length":5,"timestamp":0})",
              R"({"input_text":"Hello","input_length":2,"timestamp":0,"extra":{"top_p":1}})",
              R"({"payload":{"prompt":"Hello"},"timestamp":1000})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_TRUE(trace.recorded);
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"messages":[{"role":"user","content":"q"}]})");
    EXPECT_EQ(trace.rows[0].input_length, 0U) << "unknown";
    EXPECT_EQ(trace.rows[0].output_length, 5U);
    EXPECT_EQ(trace.body_of(trace.rows[2]), R"({"text_input":"Hello","extra":{"top_p":1}})");
    EXPECT_EQ(trace.rows[2].input_length, 2U);
    EXPECT_EQ(trace.rows[2].output_length, 0U) << "unknown";
    EXPECT_EQ(trace.body_of(trace.rows[3]), R"({"payload":{"prompt":"Hello"}})");
}

// The files that everybody has: bodies one a line, messages or prompts alone. No row has a time.
TEST(Mooncake, ReadsBodiesAndBareRequests) {
    ReadOptions at_a_rate;
    at_a_rate.times_free = true;
    const auto request = [&](const std::string& line, std::uint32_t output = 0) {
        const ReadTrace got = read({line}, at_a_rate);
        EXPECT_TRUE(got.usable) << line << got.first_error();
        EXPECT_EQ(got.trace.format, "mooncake") << line;
        EXPECT_EQ(got.trace.rows[0].output_length, output) << line;
        EXPECT_EQ(got.trace.unknown_keys, 0U) << line;
        return std::string(got.trace.body_of(got.trace.rows[0]));
    };
    const std::string hi = R"("messages":[{"role":"user","content":"hi"}])";
    EXPECT_EQ(request("{" + hi + "}"), "{" + hi + "}");
    EXPECT_EQ(request("{" + hi + R"(,"tools":[]})"), "{" + hi + "}");
    EXPECT_EQ(request(R"({"prompt":"hi"})"), R"({"text_input":"hi"})");
    EXPECT_EQ(request(R"({"prompt":"hi","output_tokens":7})", 7), R"({"text_input":"hi"})");
    const std::string body = R"({"model":"m",)" + hi + R"(,"max_tokens":5,"top_p":0.5})";
    EXPECT_EQ(request(body), R"({"payload":)" + body + "}") << "a limit is not a length";
    EXPECT_EQ(request(R"({"id":"a","timestamp":5,"session_id":"",)" + body.substr(1)),
              R"({"payload":)" + body + "}");
    EXPECT_EQ(request(R"({"prompt":[{"role":"user","content":"hi"}]})"), "{" + hi + "}");
    const std::string exact = R"({"prompt":[1,2],"max_tokens":5,"ignore_eos":true})";
    EXPECT_EQ(request(exact, 5), R"({"payload":)" + exact + "}");
    EXPECT_EQ(request(R"({"prompt":"a","min_tokens":9,"max_tokens":9})", 9).substr(0, 11),
              R"({"payload":)");
    const ReadTrace timed =
        read({R"({"timestamp":0,"prompt":"a"})", R"({"timestamp":250,"prompt":"b"})"});
    ASSERT_TRUE(timed.usable) << timed.first_error();
    EXPECT_EQ(timed.trace.rows[1].at_ns, 250'000'000);
    EXPECT_TRUE(says(read({"{" + hi + "}"}).first_error(), "use replay --rate R"));
}

// Messages that end with an answer are a conversation, whose questions are asked; so are named ones
// with an answer anywhere. A row that has more is a request, and what it ends with is said.
TEST(Mooncake, TellsConversationsFromRequests) {
    const std::string talk = R"("messages":[{"role":"user","content":"hi"},)"
                             R"({"role":"assistant","content":"yes?"}])";
    ReadOptions at_a_rate;
    at_a_rate.times_free = true;
    EXPECT_EQ(read({"{" + talk + "}"}, at_a_rate).trace.format, "vllm-multi-turn");
    EXPECT_EQ(read({R"({"id":1,)" + talk + "}"}, at_a_rate).trace.format, "vllm-multi-turn");
    const ReadTrace request = read({R"({"model":"m",)" + talk + "}"}, at_a_rate);
    EXPECT_EQ(request.trace.format, "mooncake");
    ASSERT_EQ(request.trace.remarks.size(), 1U);
    EXPECT_EQ(
        read({R"({"id":1,"messages":[{"role":"user","content":"hi"}]})"}, at_a_rate).trace.format,
        "mooncake");
}

// `tools: []` takes back those that a delta row inherits.
TEST(Mooncake, AnEmptyListOfToolsMeansNone) {
    const std::string end = R"("assistant_responses":"live","output_length":1,)"
                            R"("messages":[{"role":"user","content":"q"}]})";
    const std::string first = R"({"session_id":"s","timestamp":0,"tools":[{"type":"f"}],)" + end;
    const std::string none = R"({"session_id":"s","timestamp":1,"tools":[],)" + end;
    const std::string silent = R"({"session_id":"s","timestamp":2,)" + end;
    const ReadTrace got = read({first, silent, none, silent}, closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    for (const TraceRow& one : got.trace.rows) {
        const bool tools = got.trace.body_of(one).find("tools") != std::string_view::npos;
        EXPECT_EQ(tools, one.index < 2) << one.index;
    }
}

// What contradicts itself is named, field by field.
TEST(Mooncake, RefusesMalformedRequests) {
    const auto refused = [](const std::string& members, const char* field, const char* problem) {
        const ReadTrace got = read({row("0", 512, 1, "1"), R"({"timestamp":0,)" + members + "}"});
        EXPECT_FALSE(got.usable) << members;
        ASSERT_EQ(got.errors.count, 1U) << members;
        EXPECT_EQ(got.errors.list[0].line, 2U);
        EXPECT_EQ(got.errors.list[0].field, field) << members;
        EXPECT_TRUE(says(got.errors.list[0].problem, problem));
        EXPECT_FALSE(got.errors.list[0].remedy.empty());
    };
    refused(R"("messages":"hi")", "messages", "not a list of objects");
    refused(R"("messages":[])", "messages", "is empty");
    refused(R"("messages":[{"content":"hi"}])", "messages", "without a role");
    refused(R"("messages":[{"role":"","content":"hi"}])", "messages", "without a role");
    refused(R"("messages":[{"role":"user","content":{}}])", "messages", "not text or a list");
    refused(R"("messages":[{"role":"user","content":1.5}])", "messages", "not text or a list");
    refused(R"("messages":[{"role":"user"}],"tools":{})", "tools", "not a list of objects");
    refused(R"("text_input":"a","tools":[{}])", "tools", "is given without messages");
    refused(R"("input_length":1,"output_length":1,"tools":[{}])", "tools", "without messages");
    refused(R"("payload":[1])", "payload", "is not an object with members");
    refused(R"("text_input":"a","input_length":-3)", "input_length", "");
    refused(R"("text_input":"a","output_length":-3)", "output_length", "");
    refused(R"("payload":{})", "payload", "is not an object with members");
    refused(R"("payload":{"prompt":"a"},"text_input":"b")", "text_input", "another prompt");
    refused(R"("text_input":"")", "text_input", "is not text");
    refused(R"("text_input":5)", "text_input", "is not text");
    refused(R"("text_input":"a","extra":[])", "extra", "is not an object");
    refused(R"("text_input":"a","hash_ids":[1])", "hash_ids",
            "are given together with a prompt with text");
    refused(R"("text_input":"a","message_mode":"delta")", "message_mode", "a row without messages");
    refused(R"("text_input":"a","output_length":-1)", "output_length", "not a whole number");
}

// AIPerf's sessions: rows of one name are turns, each waiting for the one before and its delay.
TEST(Mooncake, ReadsSessions) {
    const std::vector<std::string> lines = {
        R"({"session_id":"s","timestamp":100,"input_length":512,"output_length":1,"hash_ids":[1],)"
        R"("delay":null})",
        R"({"session_id":7,"timestamp":150,"input_length":512,"output_length":1,"hash_ids":[2]})",
        R"({"session_id":"s","timestamp":900,"delay":4503.332,"input_length":512,)"
        R"("output_length":1,"hash_ids":[3],"tools":null})"};
    ReadOptions whole_prompts;
    whole_prompts.format = "mooncake";
    const ReadTrace got = read(lines, whole_prompts);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.sessions, (std::vector<std::string>{"s", "7"}));
    EXPECT_EQ(got.trace.rows[2].session, 0U);
    EXPECT_EQ(got.trace.rows[2].turn, 2U);
    EXPECT_EQ(got.trace.rows[2].at_ns, 800'000'000) << "arrival times go before delays";
    EXPECT_EQ(got.trace.rows_laid_out, 0U);
    ASSERT_EQ(got.trace.dependencies_of(got.trace.rows[2]).size(), 1U);
    EXPECT_EQ(got.trace.dependencies_of(got.trace.rows[2])[0].on, 0U);
    EXPECT_EQ(got.trace.dependencies_of(got.trace.rows[2])[0].delay_ns, 4'503'332'000);
    EXPECT_TRUE(got.trace.dependencies_of(got.trace.rows[1]).empty());
}

// A row that has a delay instead of a time is refused until --sessions open lays it out.
TEST(Mooncake, LaysSessionsOutWhenAsked) {
    const std::vector<std::string> lines = {
        R"({"session_id":"s","timestamp":100,"input_length":100,"output_length":50})",
        R"({"session_id":"s","delay":2000,"input_length":300,"output_length":40})"};
    EXPECT_TRUE(says(read(lines).first_error(), "--sessions open"));
    ReadOptions options;
    options.sessions = Sessions::open;
    const ReadTrace got = read(lines, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[1].at_ns, 2'000'000'000);
    EXPECT_EQ(got.trace.block_size, 0U) << "no ids, no blocks";
}

// Block ids are for all rows or for none.
TEST(Mooncake, RefusesRowsWithoutIdsAmongOthers) {
    const std::string without = R"({"timestamp": 0, "input_length": 9, "output_length": 1})";
    EXPECT_TRUE(read({without, without}).usable);
    const ReadTrace got = read({row("0", 1, 1, "0"), without, without});
    EXPECT_EQ(got.first_error(),
              "t.jsonl:2: hash_ids is missing here and in 1 more rows; other rows have it; use "
              "--lenient to fill these prompts with private tokens");
}

// The two sample rows that circulate in tutorials contradict themselves.
TEST(Mooncake, RefusesTheSamplesOfTutorials) {
    const ReadTrace first = read({row("1696000000123", 512, 128, "123, 456, 789")});
    EXPECT_TRUE(says(first.first_error(),
                     "needs 1; no block size of 16, 32, .. 1024 would fit; or use --len"));
    const ReadTrace second = read({row("0", 655, 52, "0, 1, 2")});
    EXPECT_TRUE(
        says(second.first_error(), "needs 2; --block-size 256 would fit; or use --lenient"));
    ReadOptions options;
    options.lenient = true;
    EXPECT_TRUE(read({row("0", 655, 52, "0, 1, 2")}, options).usable);
    options = {};
    options.block_size = 256;
    EXPECT_TRUE(read({row("0", 655, 52, "0, 1, 2")}, options).usable);
}

// An error's value is cut at a code point.
TEST(Mooncake, CutsLongValues) {
    std::string text = "x";
    for (int i = 0; i < 60; ++i) {
        text += "\xC3\xA9";
    }
    const ReadTrace got = read({row('"' + text + '"', 1, 1, "0")});
    EXPECT_EQ(got.errors.list[0].value, text.substr(0, 79));
}

// Members for the body of one row stand beside its length, and --keep reads what is inside.
TEST(Mooncake, ARowsOwnMembersStandBesideItsLength) {
    ReadOptions options;
    options.keep = {"m.k", "m"};
    const ReadTrace got =
        read({R"({"timestamp":0,"input_length":5,"output_length":1,"extra":{"n":{"p":9}}})",
              R"({"timestamp":1,"input_length":5,"output_length":1,"m":{"k":2}})",
              R"({"timestamp":2,"input_length":5,"output_length":1,"extra_body":{"q":1},"m":3})"},
             options);
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.extra_of(trace.rows[0]), R"({"n":{"p":9}})");
    EXPECT_EQ(trace.extra_of(trace.rows[1]), "");
    EXPECT_EQ(trace.extra_of(trace.rows[2]), R"({"q":1})");
    EXPECT_EQ(trace.kept_of(trace.rows[1]), R"({"m.k":2,"m":{"k":2}})");
    EXPECT_EQ(trace.kept_of(trace.rows[2]), R"({"m.k":null,"m":3})");
    EXPECT_EQ(trace.unknown_keys, 0U);
    const ReadTrace bad =
        read({R"({"timestamp":0,"input_length":5,"output_length":1,"extra":[1]})"});
    EXPECT_TRUE(says(bad.first_error(), "extra \"[1]\" is not an object"));
    options.keep = {"m.z"};
    EXPECT_FALSE(read({row("0", 5, 1, "")}, options).usable);
}

// An empty name is no session: the rows do not wait for each other.
TEST(Mooncake, AnEmptySessionIsNone) {
    const std::string line =
        R"({"timestamp":0,"input_length":10,"output_length":5,"session_id":""})";
    const ReadTrace got = read({line, line});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_TRUE(got.trace.sessions.empty());
    EXPECT_TRUE(got.trace.dependencies.empty());
}

// Parameters of a window without requests are no trace either, and name what they are.
TEST(Mooncake, NamesServeGensQuietWindows) {
    EXPECT_TRUE(says(read({"0,0,0,,0,0", "600,0,0,,0,0"}).first_error(), "ServeGen's parameters"));
    EXPECT_TRUE(
        says(read({R"({"timestamp":1760587666509217,"input":"a","output":"b"})"}).first_error(),
             "--from-logs"));
}

}  // namespace
}  // namespace driftless
