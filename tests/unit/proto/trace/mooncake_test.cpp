// Mooncake's rows and those of its kin.

#include "proto/trace/formats.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {

namespace {

// Fixture 1: two rows at one instant, a tail of one token, an exact multiple of the block.
TEST(Mooncake, ReadsTailsAndExactMultiples) {
    const Trace trace =
        read({row("0", 513, 500, "0, 1"), row("0", 1024, 490, "0, 2"), row("3000", 1, 1, "7")})
            .sound();
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(std::tuple(trace.format, trace.time_unit), std::tuple("mooncake", "ms"));
    EXPECT_EQ(std::tuple(trace.block_size, trace.tail_rule), std::tuple(512U, TailRule::ceil));
    EXPECT_EQ(plain_ids(trace.ids), (std::vector<std::uint64_t>{0, 1, 0, 2, 7}));
    const TraceRow& last = trace.rows[2];
    EXPECT_EQ(std::tuple(last.at_ns, last.input_length), std::tuple(3'000'000'000, 1U));
    EXPECT_EQ(std::tuple(last.output_length, last.ids_begin), std::tuple(1U, 4U));
    EXPECT_EQ(std::tuple(last.ids_count, last.index, last.line), std::tuple(1U, 2U, 3U));
    EXPECT_EQ(std::tuple(last.name_space, last.session), std::tuple(0U, no_session));
}

// Without times nothing says when a row is due; the remedy is a command that works.
TEST(Mooncake, RefusesRowsWithoutTimesAndWrongCounts) {
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
    // Fixture 2: a count that contradicts the length is refused, with what would fix it.
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
    // --block-size overrides; the rule stays.
    ReadOptions options{.block_size = 16};
    EXPECT_EQ(read({row("0", 33, 5, "0, 1, 2")}, options).sound().block_size, 16U);
    EXPECT_FALSE(read({row("0", 33, 5, "0")}, options).usable);
}

// --lenient: surplus ids go, missing ones are left to private tokens; both are counted.
TEST(Mooncake, LenientFixesCountsAndIdsHave64Bits) {
    const Trace trace = read({row("0", 512, 5, "1, 2, 3"), row("0", 2000, 5, "1, 2"),
                              R"({"timestamp": 0, "input_length": 9, "output_length": 1})"},
                             {.lenient = true})
                            .sound();
    EXPECT_EQ(std::tuple(trace.surplus_ids, trace.rows_uncovered), std::tuple(2U, 2U));
    EXPECT_EQ(plain_ids(trace.ids), (std::vector<std::uint64_t>{1, 1, 2}));
    EXPECT_EQ(std::tuple(trace.rows[0].ids_count, trace.rows[1].ids_begin), std::tuple(1U, 1U));
    EXPECT_EQ(trace.rows[2].ids_count, 0U);
    // Fixture 7: ids are unsigned 64-bit numbers, also written as decimals; negative ones are
    // refused.
    EXPECT_EQ(plain_ids(read({row("0", 1500, 5, "18446744073709551615, 512.0, 0")}).sound().ids),
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
TEST(Mooncake, SortsStablyByTimesOfEveryDigit) {
    const Trace trace = read({row("30", 1, 1, "0"), row("10", 2, 1, "1"), row("30", 3, 1, "2"),
                              row("10", 4, 1, "3"), row("20", 5, 1, "4")})
                            .sound();
    using Numbers = std::vector<std::uint32_t>;
    EXPECT_EQ(members_of(trace.rows, &TraceRow::input_length), (Numbers{2, 4, 5, 1, 3}));
    EXPECT_EQ(members_of(trace.rows, &TraceRow::index), (Numbers{1, 3, 4, 0, 2}));
    EXPECT_EQ(trace.rows_unsorted, 2U);
    EXPECT_EQ(trace.rows[0].at_ns, 0) << "rebased to the earliest";
    EXPECT_EQ(trace.rows[4].at_ns, 20'000'000);
    // Fixture 10: negative times and what is no number are refused.
    EXPECT_EQ(read({row("-1", 1, 1, "0")}).first_error(),
              "t.jsonl:1: timestamp \"-1\" is negative; use times and delays of 0 or more");
    EXPECT_TRUE(says(read({row("\"NaN\"", 1, 1, "0")}).first_error(), "is not a decimal number"));
    EXPECT_TRUE(says(read({row("NaN", 1, 1, "0")}).first_error(), "JSON has no NaN"));
    EXPECT_TRUE(says(read({row("\"2025-01-01T00:00:00Z\"", 1, 1, "0")}).first_error(),
                     "is not a decimal number; for dates use --time-unit iso"));
    EXPECT_TRUE(says(read({row("true", 1, 1, "0")}).first_error(), "is not a decimal number"));
    EXPECT_TRUE(says(read({row("1e40", 1, 1, "0")}).first_error(), "--time-unit"));
    // Fixture 11: epoch nanoseconds that lose digits in a double keep them here.
    ReadOptions options{.time_unit = "ns"};
    const Trace other_trace =
        read({row("1732060800123456789", 1, 1, "0"), row("1732060800123456790", 1, 1, "1"),
              row("\"1732060800123456791\"", 1, 1, "2")},
             options)
            .sound();
    EXPECT_EQ(std::tuple(other_trace.rows[1].at_ns, other_trace.rows[2].at_ns), std::tuple(1, 2));
    EXPECT_EQ(other_trace.time_unit, "ns");
    options.time_unit = "ms";
    const ReadTrace floats = read({row("0.000001", 1, 1, "0"), row("1.5e0", 1, 1, "0")}, options);
    EXPECT_EQ(floats.trace.rows[1].at_ns, 1'499'999);
}

// The aliases of the Dynamo dialect; a null is an absent field.
TEST(Mooncake, ReadsAliasesAndTheLastOfEqualKeys) {
    const Trace trace = read({R"({"created_time": 5.5, "input_tokens": 3, "output_tokens": 4,
                                  "hash_ids": [1]})",
                              R"({"timestamp": null, "created_time": 6, "input_length": 3.0,
                                  "output_length": 4, "hash_ids": [1]})"})
                            .sound();
    EXPECT_EQ(std::tuple(trace.rows[0].input_length, trace.rows[1].at_ns), std::tuple(3U, 500'000));
    // Of two members with one name the last counts, as in the field's other readers; a null takes
    // the value away.
    const Trace twice = read({R"({"timestamp": 5, "input_length": 9, "output_length": 1})",
                              R"({"timestamp": 0, "timestamp": 25, "input_length": 7,)"
                              R"( "input_length": 8, "output_length": 1})"})
                            .sound();
    EXPECT_EQ(twice.rows[1].at_ns, 20'000'000);
    EXPECT_EQ(twice.rows[1].input_length, 8U);
    EXPECT_FALSE(
        read({R"({"timestamp": 5, "timestamp": null, "input_length": 9, "output_length": 1})"})
            .usable);
}

// Lengths at and beyond their bounds; an output of 0 is taken as 1 and counted.
TEST(Mooncake, BoundsLengthsAndListsAllErrors) {
    const Trace zero = read({row("0", 1, 0, "0")}).sound();
    EXPECT_EQ(std::tuple(zero.rows[0].output_length, zero.zero_outputs), std::tuple(1U, 1U));
    EXPECT_EQ(read({row("0", 0, 1, "")}).errors.list[0].field, "input_length");
    EXPECT_EQ(read({row("0", 5, -1, "0")}).errors.list[0].field, "output_length");
    const auto output_of = [](const std::string& text) {
        return read(
            {R"({"timestamp":0,"input_length":1,"hash_ids":[0],"output_length":)" + text + "}"});
    };
    EXPECT_TRUE(output_of(std::to_string(row_tokens_max)).usable);
    EXPECT_FALSE(output_of(std::to_string(row_tokens_max + 1)).usable || output_of("1.5").usable);
    EXPECT_FALSE(output_of("\"7\"").usable || output_of("99999999999999999999999").usable);
    // Every error of a file is listed, several in one row too, up to the cap; the rest is counted.
    const ReadTrace got =
        read({R"({"hash_ids": [], "timestamp": -4})", "{broken}", "[]", row("0", 1, 1, "0")});
    EXPECT_FALSE(got.usable);
    EXPECT_EQ(std::tuple(got.errors.count, got.errors.list[0].problem, got.errors.list[1].field),
              std::tuple(5U, "is negative", "input_length"));
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
TEST(Mooncake, SuggestsTheBlockSizeFirstAndReadsRequests) {
    for (const std::size_t count : {2U, 99U, 100U, 101U}) {
        const ReadTrace bad = read(std::vector<std::string>(count, row("0", 64, 1, "0, 1, 2, 3")));
        EXPECT_EQ(bad.errors.count, count + 1);
        EXPECT_EQ(bad.errors.list.size(), std::min<std::size_t>(count + 1, 100));
        EXPECT_TRUE(says(bad.first_error(), "use --block-size"));
    }
    // Fixture 9: rows that hold words instead of lengths. Nulls count as absent.
    const Trace trace =
        read({R"({"session_id":"a","messages":[{"role":"user","content":"q"}],"output_length":5,)"
              R"("tools":null,"timestamp":0})",
              R"({"text_input":"Hello","output_length":5,"timestamp":0})",
              R"({"input_text":"Hello","input_length":2,"timestamp":0,"extra":{"top_p":1}})",
              R"({"payload":{"prompt":"Hello"},"timestamp":1000})"})
            .sound();
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
    const auto request = [&](const std::string& line, std::uint32_t output = 0) {
        const ReadTrace got = read({line}, {.times_free = true});
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
    const Trace timed =
        read({R"({"timestamp":0,"prompt":"a"})", R"({"timestamp":250,"prompt":"b"})"}).sound();
    EXPECT_EQ(timed.rows[1].at_ns, 250'000'000);
    EXPECT_TRUE(says(read({"{" + hi + "}"}).first_error(), "use replay --rate R"));
}

// Messages that end with an answer are a conversation, whose questions are asked; so are named ones
// with an answer anywhere. A row that has more is a request, and what it ends with is said.
TEST(Mooncake, TellsConversationsFromRequestsAndToolsFromNone) {
    const std::string talk = R"("messages":[{"role":"user","content":"hi"},)"
                             R"({"role":"assistant","content":"yes?"}])";
    ReadOptions at_a_rate{.times_free = true};
    EXPECT_EQ(read({"{" + talk + "}"}, at_a_rate).trace.format, "vllm-multi-turn");
    EXPECT_EQ(read({R"({"id":1,)" + talk + "}"}, at_a_rate).trace.format, "vllm-multi-turn");
    const ReadTrace request = read({R"({"model":"m",)" + talk + "}"}, at_a_rate);
    EXPECT_EQ(request.trace.format, "mooncake");
    ASSERT_EQ(request.trace.remarks.size(), 1U);
    EXPECT_EQ(
        read({R"({"id":1,"messages":[{"role":"user","content":"hi"}]})"}, at_a_rate).trace.format,
        "mooncake");
    // `tools: []` takes back those that a delta row inherits.
    const std::string end = R"("assistant_responses":"live","output_length":1,)"
                            R"("messages":[{"role":"user","content":"q"}]})";
    const std::string first = R"({"session_id":"s","timestamp":0,"tools":[{"type":"f"}],)" + end;
    const std::string none = R"({"session_id":"s","timestamp":1,"tools":[],)" + end;
    const std::string silent = R"({"session_id":"s","timestamp":2,)" + end;
    const Trace trace = read({first, silent, none, silent}, closed_sessions()).sound();
    for (const TraceRow& one : trace.rows) {
        const bool tools = trace.body_of(one).find("tools") != std::string_view::npos;
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
    const Trace trace = read(lines, ReadOptions{.format = "mooncake"}).sound();
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"s", "7"}));
    EXPECT_EQ(std::tuple(trace.rows[2].session, trace.rows[2].turn), std::tuple(0U, 2U));
    EXPECT_EQ(trace.rows[2].at_ns, 800'000'000) << "arrival times go before delays";
    EXPECT_EQ(trace.rows_laid_out, 0U);
    ASSERT_EQ(trace.dependencies_of(trace.rows[2]).size(), 1U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].on, 0U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 4'503'332'000);
    EXPECT_TRUE(trace.dependencies_of(trace.rows[1]).empty());
}

// A row that has a delay instead of a time is refused until --sessions open lays it out.
TEST(Mooncake, LaysSessionsOutAndRefusesRowsWithoutIds) {
    const std::vector<std::string> lines = {
        R"({"session_id":"s","timestamp":100,"input_length":100,"output_length":50})",
        R"({"session_id":"s","delay":2000,"input_length":300,"output_length":40})"};
    EXPECT_TRUE(says(read(lines).first_error(), "--sessions open"));
    const Trace trace = read(lines, ReadOptions{.sessions = Sessions::open}).sound();
    EXPECT_EQ(trace.rows[1].at_ns, 2'000'000'000);
    EXPECT_EQ(trace.block_size, 0U) << "no ids, no blocks";
    // Block ids are for all rows or for none.
    const std::string without = R"({"timestamp": 0, "input_length": 9, "output_length": 1})";
    EXPECT_TRUE(read({without, without}).usable);
    EXPECT_EQ(read({row("0", 1, 1, "0"), without, without}).first_error(),
              "t.jsonl:2: hash_ids is missing here and in 1 more rows; other rows have it; use "
              "--lenient to fill these prompts with private tokens");
    // The two sample rows that circulate in tutorials contradict themselves.
    EXPECT_TRUE(says(read({row("1696000000123", 512, 128, "123, 456, 789")}).first_error(),
                     "needs 1; no block size of 16, 32, .. 1024 would fit; or use --len"));
    EXPECT_TRUE(says(read({row("0", 655, 52, "0, 1, 2")}).first_error(),
                     "needs 2; --block-size 256 would fit; or use --lenient"));
    ReadOptions options{.lenient = true};
    EXPECT_TRUE(read({row("0", 655, 52, "0, 1, 2")}, options).usable);
    options = {};
    options.block_size = 256;
    EXPECT_TRUE(read({row("0", 655, 52, "0, 1, 2")}, options).usable);
    // An error's value is cut at a code point.
    std::string text = "x";
    for (int i = 0; i < 60; ++i) {
        text += "\xC3\xA9";
    }
    EXPECT_EQ(read({row('"' + text + '"', 1, 1, "0")}).errors.list[0].value, text.substr(0, 79));
}

// Members for the body of one row stand beside its length, and --keep reads what is inside.
TEST(Mooncake, ARowsOwnMembersAndAnEmptySession) {
    ReadOptions options{.keep = {"m.k", "m"}};
    const Trace trace =
        read({R"({"timestamp":0,"input_length":5,"output_length":1,"extra":{"n":{"p":9}}})",
              R"({"timestamp":1,"input_length":5,"output_length":1,"m":{"k":2}})",
              R"({"timestamp":2,"input_length":5,"output_length":1,"extra_body":{"q":1},"m":3})"},
             options)
            .sound();
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
    // An empty name is no session: the rows do not wait for each other.
    const std::string line =
        R"({"timestamp":0,"input_length":10,"output_length":5,"session_id":""})";
    const Trace other_trace = read({line, line}).sound();
    EXPECT_TRUE(other_trace.sessions.empty() && other_trace.dependencies.empty());
    // Parameters of a window without requests are no trace either, and name what they are.
    EXPECT_TRUE(says(read({"0,0,0,,0,0", "600,0,0,,0,0"}).first_error(), "ServeGen's parameters"));
    EXPECT_TRUE(
        says(read({R"({"timestamp":1760587666509217,"input":"a","output":"b"})"}).first_error(),
             "--from-logs"));
}

// What Mooncake rows leave open is decided by the whole trace, or asked for: the unit of fractions,
// equal keys, a block size that loses most ids, outputs that are not recorded.

/// Rows with times of a tenth of a millisecond, `gap_ms` apart on average.
std::vector<std::string> tenths(int rows, int gap_ms, std::int64_t first_ms = 0) {
    std::vector<std::string> lines;
    for (int i = 0; i < rows; ++i) {
        lines.push_back(row(std::to_string(first_ms + std::int64_t{i} * gap_ms) + ".5", 9, 1, "1"));
    }
    return lines;
}

// Fractions are milliseconds where, as seconds, rows would come less than once a minute for more
// than eleven days (one row fewer is in doubt), or after the year 5000. Else the user says.
TEST(Mooncake, TakesFractionsAndAsksAboutEpochs) {
    const Trace sure = read(tenths(5001, 200)).sound();
    EXPECT_EQ(std::tuple(sure.time_unit, sure.rows[1].at_ns), std::tuple("ms", 200'000'000));
    EXPECT_FALSE(read(tenths(5000, 200)).usable) << "999,800: less than eleven days";
    EXPECT_FALSE(read(tenths(20'000, 59)).usable) << "a row a second, as seconds";
    EXPECT_TRUE(read(tenths(20'000, 61)).usable);
    EXPECT_TRUE(read(tenths(2, 100, 1'700'000'000'000)).usable) << "now, in ms";
    const ReadTrace epoch_s = read(tenths(2, 100, 1'700'000'000));
    EXPECT_EQ(epoch_s.first_error(),
              "t.jsonl:1: timestamp \"1700000000.5\" has a fraction: it may be in milliseconds, as "
              "in Mooncake traces, or in seconds; choose --time-unit s or --time-unit ms");
    EXPECT_EQ(epoch_s.errors.count, 1U);
    // Seconds since 1970 are not taken for milliseconds: a day of rows would be over in 86 s.
    const auto reads = [](std::int64_t first, const std::string& unit = "") {
        return read(
            {row(std::to_string(first), 9, 1, "1"), row(std::to_string(first + 1), 9, 1, "1")},
            {.time_unit = unit});
    };
    EXPECT_EQ(reads(1'732'060'801).first_error(),
              "the first time \"1732060801\" is read as milliseconds, and looks like seconds since "
              "1970; choose --time-unit s or --time-unit ms");
    EXPECT_EQ(reads(1'732'060'801).errors.count, 1U);
    EXPECT_EQ(reads(1'732'060'801, "s").trace.rows[1].at_ns, 1'000'000'000);
    EXPECT_EQ(reads(1'732'060'801, "ms").trace.rows[1].at_ns, 1'000'000);
    EXPECT_TRUE(reads(1'262'303'999).usable) << "2009";
    EXPECT_FALSE(reads(1'262'304'000).usable || reads(2'208'988'799).usable);
    EXPECT_TRUE(reads(2'208'988'800).usable) << "2040";
    EXPECT_TRUE(reads(1'732'060'801'000).usable) << "milliseconds since 1970";
    ReadOptions named;
    named.format = "mooncake";  // which says nothing of what the file has
    EXPECT_FALSE(read({row("1732060801", 9, 1, "1")}, named).usable);
    EXPECT_FALSE(read({R"({"timestamp": 1732060801, "requests": [{"prompt_length": 5,)"
                       R"( "output_length": 1}]})"})
                     .usable)
        << "every format whose times are in ms";
}

// Seconds from 0 on, read as milliseconds, come at a thousand times their rate: that is said.
TEST(Mooncake, SaysThatTimesAreDense) {
    const auto remarks = [](int rows, int gap, const std::string& unit = "", bool rate = false) {
        std::vector<std::string> lines;
        for (int i = 0; i < rows; ++i) {
            lines.push_back(row(std::to_string(i / 2 * gap), 9, 1, "1"));
        }
        const ReadTrace got = read(lines, {.time_unit = unit, .times_free = rate});
        EXPECT_TRUE(got.usable) << got.first_error();
        return got.trace.remarks.empty() ? 0 : got.trace.remarks[0].count;
    };
    EXPECT_EQ(remarks(6, 1), 6U) << "0, 0, 1, 1, 2, 2";
    EXPECT_EQ(remarks(4, 1), 0U) << "two instants say nothing";
    EXPECT_EQ(remarks(4000, 4), 4000U);
    EXPECT_EQ(remarks(4000, 5), 0U) << "200 instants a second";
    EXPECT_EQ(remarks(4000, 1, "ms"), 0U);
    EXPECT_EQ(remarks(4000, 1, "", true), 0U) << "a rate decides";
    EXPECT_EQ(remarks(4000, 1, "auto"), 4000U);
    EXPECT_EQ(remarks(200'000, 1), 200'000U) << "within 100 s";
    EXPECT_EQ(remarks(200'004, 1), 0U);
}

// A file with blocks of 32 tokens is not read as one with blocks of 512, --lenient or not, once
// more than one id in a hundred would be lost: the size that fits is named.
TEST(Mooncake, LenientKeepsTheSharingAndLengthsMayLack) {
    const auto lines = [](int rows_of_32, int rows_of_512) {
        std::vector<std::string> all(static_cast<std::size_t>(rows_of_32), row("0", 64, 5, "1, 2"));
        all.insert(all.end(), static_cast<std::size_t>(rows_of_512), row("0", 600, 5, "1, 2"));
        return all;
    };
    ReadOptions options{.lenient = true};
    EXPECT_EQ(read(lines(60, 1), options).first_error(),
              "t.jsonl: hash_ids would lose 60 of 122 ids at blocks of 512 tokens; --block-size 32 "
              "fits 60 of 61 rows, and best of all sizes");
    options.block_size = 32;
    EXPECT_TRUE(read(lines(60, 1), options).usable);
    options.block_size = 0;
    EXPECT_TRUE(read(lines(1, 49), options).usable) << "1 of 100";
    EXPECT_TRUE(read(lines(1, 48), options).usable) << "1 of 98, where 512 fits best";
    // Rows without an output length: refused with both ways out, filled, or sent without a limit.
    const std::vector<std::string> other_lines = {
        R"({"timestamp": 0, "input_length": 9, "hash_ids": [1]})",
        R"({"timestamp": 1, "input_length": 9, "output_length": 3, "hash_ids": [1]})"};
    EXPECT_EQ(read(other_lines).first_error(),
              "t.jsonl:1: output_length is missing; use --default-output N to ask such rows for N "
              "tokens, or replay --output free for no limit");
    ReadOptions filled{.default_output = 64};
    EXPECT_EQ(read(other_lines, filled).trace.rows[0].output_length, 64U);
    EXPECT_EQ(read(other_lines, filled).trace.rows[1].output_length, 3U);
    EXPECT_EQ(read(other_lines, ReadOptions{.output_free = true}).trace.rows[0].output_length, 0U);
}

// Qwen (Bailian) rows: seconds, blocks of 16, sessions by chains of parents.

std::string qwen_row(int chat, int parent, const std::string& time, int input, int turn,
                     const std::string& ids) {
    return R"({"chat_id": )" + std::to_string(chat) + R"(, "parent_chat_id": )" +
           std::to_string(parent) + R"(, "timestamp": )" + time + R"(, "input_length": )" +
           std::to_string(input) + R"(, "output_length": 132, "type": "text", "turn": )" +
           std::to_string(turn) + R"(, "hash_ids": [)" + ids + "]}";
}

// Fixture 3: an id at two positions; a child that shares all but its parent's last block.
TEST(Qwen, ReadsContentIdsAndKeepsOrphans) {
    const Trace trace =
        read({qwen_row(55, -1, "0.0", 33, 1, "7, 8, 7"), qwen_row(56, -1, "1.5", 16, 1, "8"),
              qwen_row(159, 55, "61.114", 50, 2, "7, 8, 9, 10")})
            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.time_unit), std::tuple("qwen", "s"));
    EXPECT_EQ(std::tuple(trace.block_size, trace.tail_rule), std::tuple(16U, TailRule::ceil));
    EXPECT_EQ(plain_ids(trace.ids), (std::vector<std::uint64_t>{7, 8, 7, 8, 7, 8, 9, 10}));
    const TraceRow& child = trace.rows[2];
    EXPECT_EQ(std::tuple(child.at_ns, child.turn), std::tuple(61'114'000'000, 2U));
    EXPECT_EQ(trace.sessions[child.session], "55");
    EXPECT_EQ(trace.sessions.size(), 2U);
    ASSERT_EQ(trace.dependencies_of(child).size(), 1U);
    EXPECT_EQ(trace.dependencies_of(child)[0].on, 0U);
    EXPECT_EQ(trace.unknown_keys, 0U);
    // A parent that is not in the file is counted; the row is kept.
    const Trace other_trace = read({qwen_row(55, 3, "0.0", 16, 2, "7")}).sound();
    ASSERT_EQ(other_trace.remarks.size(), 1U);
    EXPECT_EQ(other_trace.remarks[0].count, 1U);
    EXPECT_TRUE(says(read({qwen_row(1, -1, "0", 33, 1, "7, 8")}).first_error(), "needs 3"));
    ReadOptions options{.format = "bailian"};
    EXPECT_EQ(read({row("0", 16, 1, "0")}, options).errors.list[0].field, "chat_id");
    const std::string whole = qwen_row(1, -1, "0", 16, 1, "7");
    const std::string without = whole.substr(0, whole.find(R"(, "hash_ids")")) + "}";
    EXPECT_TRUE(says(read({whole, without}, options).first_error(), "hash_ids is missing here"));
    // AIPerf's tutorial has rows without block ids: they are conversations all the same.
    const Trace bare = read({R"({"chat_id":1,"parent_chat_id":-1,"timestamp":1.5,)"
                             R"("input_length":5,"output_length":1,"type":"text","turn":1})"})
                           .sound();
    EXPECT_EQ(bare.format, "qwen");
}

// Dynamo's two formats: the request trace in completion order, and the agentic one with its edges.

std::string ended(const std::string& id, std::int64_t received_ms, int input,
                  const std::string& ids, const std::string& more = "") {
    return R"({"timestamp":99,"event":{"schema":"dynamo.request.trace.v1","event_type":)"
           R"("request_end","agent_context":{"session_id":"s","trajectory_id":"t"},"request":{)"
           R"("request_id":")" +
           id + R"(","output_tokens":4,"input_tokens":)" + std::to_string(input) +
           R"(,"request_received_ms":)" + std::to_string(received_ms) + more +
           R"(,"replay":{"trace_block_size":64,"input_length":)" + std::to_string(input) +
           R"(,"input_sequence_hashes":[)" + ids + "]}}}}";
}

// Fixture 7: hashes above 2^63. Rows come in the order of completion and are sorted by arrival.
TEST(Dynamo, ReadsRequestTracesAndJoinsSegments) {
    const Trace trace =
        read({R"({"timestamp":0,"event":{"marker":"start"}})",
              ended("b", 1732060800500, 130, "18446744073709551615, 5", R"(,"total_time_ms":100)"),
              R"({"timestamp":5,"event":{"schema":"dynamo.request.trace.v1",)"
              R"("event_type":"tool_start","tool":{}}})",
              ended("a", 1732060800000, 100, "18446744073709551615")})
            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("dynamo", 64U));
    EXPECT_EQ(trace.tail_rule, TailRule::floor);
    ASSERT_EQ(trace.rows.size(), 2U);
    EXPECT_EQ(std::tuple(trace.rows[0].input_length, trace.rows[1].at_ns, trace.ids[0]),
              std::tuple(100U, 500'000'000, 18446744073709551615ULL));
    EXPECT_EQ(trace.rows_unsorted, 0U) << "that is how the log is written";
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"t"}));
    ASSERT_EQ(trace.remarks.size(), 1U);
    // Segments of one log are one namespace.
    Trace other_trace;
    InputErrors errors;
    TraceReader reader({}, other_trace, errors);
    reader.begin_file("log.000000.jsonl");
    EXPECT_TRUE(reader.add_line(1, ended("a", 1732060800000, 100, "7")));
    reader.begin_file("log.000001.jsonl");
    EXPECT_TRUE(reader.add_line(1, ended("b", 1732060801000, 100, "7")));
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(other_trace.rows[0].name_space, other_trace.rows[1].name_space);
    EXPECT_EQ(other_trace.rows[0].session, other_trace.rows[1].session);
    EXPECT_EQ(other_trace.rows[1].turn, 2U);
}

const std::string header =
    R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":16,"hash_id_scope":"local"})";

std::string agentic(const std::string& id, const std::string& play, const std::string& more) {
    return R"({"request_id":")" + id + R"(","play_id":")" + play +
           R"(","session_id":"s","input_length":20,"output_length":3,"hash_ids":[1,2])" + more +
           "}";
}

// Plays have ids of their own; an edge moves a row behind the one that it names.
TEST(AgenticMooncake, ReadsDependenciesThatItCanFollow) {
    const std::vector<std::string> lines = {
        header, agentic("a", "p", R"(,"not_before_ms":100)"),
        agentic("b", "p",
                R"(,"dependencies":[{"request_id":"a","trigger":"dispatch","delay_ms":7.5,)"
                R"("relation":"spawn"}])"),
        agentic("c", "q", R"(,"not_before_ms":null,"dependencies":[])"),
        agentic("d", "p",
                R"(,"not_before_ms":900,"dependencies":[{"request_id":"b","trigger":"completion",)"
                R"("delay_ms":1}])")};
    EXPECT_EQ(read(lines).errors.count, 1U) << "only under --sessions open";
    const Trace trace = read(lines, ReadOptions{.sessions = Sessions::open}).sound();
    EXPECT_EQ(std::tuple(trace.block_size, trace.tail_rule), std::tuple(16U, TailRule::ceil));
    EXPECT_EQ(members_of(trace.rows, &TraceRow::at_ns),
              (std::vector<std::int64_t>{0, 100'000'000, 107'500'000, 900'000'000}));
    EXPECT_EQ(std::tuple(trace.rows[0].name_space, trace.rows[3].name_space), std::tuple(1U, 0U));
    const auto edges = trace.dependencies_of(trace.rows[2]);
    ASSERT_EQ(edges.size(), 1U);
    EXPECT_EQ(edges[0].trigger, Trigger::dispatch);
    const ReadTrace dangling =
        read({header, agentic("b", "p", R"(,"dependencies":[{"request_id":"zz","delay_ms":1}])")},
             {.sessions = Sessions::open});
    EXPECT_EQ(dangling.errors.list[0].problem, "does not name a request of an earlier row");
    const ReadTrace version = read({R"({"schema":"dynamo.agentic_mooncake","version":1})"});
    EXPECT_EQ(version.errors.list[0].field, "version");
}

}  // namespace
}  // namespace driftless
