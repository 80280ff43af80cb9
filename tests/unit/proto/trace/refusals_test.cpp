// What each format refuses is told with line, field, value and what would fix it; and a row that
// contradicts its trace ends no more than it must.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Lines = std::vector<std::string>;

ReadOptions open(const std::string& format = "") {
    return {.format = format, .sessions = Sessions::open};
}

void refuses(const Lines& lines, const ReadOptions& options, const std::string& said) {
    const ReadTrace got = read(lines, options);
    EXPECT_FALSE(got.usable) << said;
    EXPECT_EQ(got.errors.count, 1U) << said;
    EXPECT_EQ(got.first_error(), said);
}

std::string header(const std::string& more) {
    return R"({"schema":"driftless.trace","version":1)" + more + "}";
}

std::string canonical_row(const std::string& more) {
    return R"({"at_ns":0,"input_length":20,"output_length":1)" + more + "}";
}

std::string some_without_ids(int line) {
    return "t.jsonl:" + std::to_string(line) +
           ": hash_ids is missing here; other rows have it; use --lenient to fill these prompts "
           "with private tokens";
}

const char* const one_size = "a trace has one block size; make --block-size agree with it";

TEST(Refusals, OfCanonicalHeaders) {
    ReadOptions sized = open();
    sized.block_size = 32;
    refuses({header(R"(,"block_size":16)")}, sized,
            std::string("t.jsonl:1: block_size \"16\" differs from 32; ") + one_size);
    refuses(
        {header(R"(,"block_size":-1)")}, open(),
        "t.jsonl:1: block_size \"-1\" is not a whole number of tokens from 0 to 134217728; correct "
        "the row");
    refuses({header(R"(,"block_size":16,"tail_rule":"round")"), canonical_row("")}, open(),
            "t.jsonl:1: tail_rule \"round\" is not ceil or floor; correct the header");
    refuses({header(R"(,"block_size":16,"body_api":"openai-chat")"),
             header(R"(,"block_size":16,"body_api":"openai-completions")")},
            open(),
            "t.jsonl:2: body_api \"openai-completions\" differs from that of the files before; "
            "replay files of one API at a time");
}

TEST(Refusals, OfCanonicalRows) {
    const std::string sixteen = header(R"(,"block_size":16)");
    refuses({sixteen, canonical_row(R"(,"hash_ids":{})")}, open(),
            "t.jsonl:2: hash_ids \"{}\" is not a list of block ids; correct the row");
    refuses({sixteen, canonical_row(R"(,"turn":4294967295)")}, open(),
            "t.jsonl:2: turn \"4294967295\" is not a whole number below 2^32 - 1; correct the row");
    refuses({sixteen, canonical_row(""), canonical_row(R"(,"after":[{"row":-1}])")}, open(),
            "t.jsonl:3: row \"-1\" is not a whole number below 2^32 - 1; correct the row");
    refuses({sixteen, canonical_row(""), canonical_row(R"(,"after":[{"row":0,"delay_ns":-5}])")},
            open(),
            "t.jsonl:3: after.delay_ns \"-5\" is negative; use times and delays of 0 or more");
    refuses({sixteen, canonical_row(R"(,"after":[5])")}, open(),
            "t.jsonl:2: after \"[5]\" is not a list of objects; correct the row");
    refuses({sixteen, canonical_row(R"(,"body":{"a":1})")}, open(),
            "t.jsonl:2: body \"{\\\"a\\\":1}\" is below a header without body_api; save the "
            "prompts again (replay --save-prompts)");
    const std::string of_bodies = header(R"(,"block_size":16,"body_api":"openai-chat")");
    refuses({of_bodies, canonical_row(R"(,"body":[1])")}, open(),
            "t.jsonl:2: body \"[1]\" is not a JSON object; save the prompts again "
            "(replay --save-prompts)");
    refuses({of_bodies, canonical_row(R"(,"recorded":{"text_input":"a"})")}, open(),
            "t.jsonl:2: recorded \"{\\\"text_input\\\":\\\"a\\\"}\" is below a header with "
            "body_api; a trace has bodies or recorded requests, not both; remove one");
}

TEST(Refusals, OfAgenticMooncake) {
    const std::string head = R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":16})";
    const auto line = [](const std::string& more, const std::string& name = "b") {
        return R"({"request_id":")" + name + R"(","input_length":20,"output_length":3)" + more +
               "}";
    };
    ReadOptions sized = open();
    sized.block_size = 32;
    refuses({head}, sized,
            std::string("t.jsonl:1: block_size \"16\" differs from 32; ") + one_size);
    refuses({head, line(R"(,"hash_ids":[1,2],"dependencies":7)")}, open(),
            "t.jsonl:2: dependencies \"7\" is not a list of objects; correct the row");
    refuses({head, line(R"(,"hash_ids":[1,2],"not_before_ms":-1)")}, open(),
            "t.jsonl:2: not_before_ms \"-1\" is negative; use times and delays of 0 or more");
    refuses(
        {head, line(R"(,"hash_ids":[1,2])"),
         line(R"(,"hash_ids":[1,2],"dependencies":[{"request_id":"b","delay_ms":"x"}])")},
        open(),
        "t.jsonl:3: dependencies.delay_ms \"x\" is not a decimal number; write the time this way");
    const std::string edge = R"({"request_id":"b","trigger":"start"})";
    refuses({head, line(R"(,"hash_ids":[1,2])"),
             line(R"(,"hash_ids":[1,2],"dependencies":[)" + edge + "]", "c")},
            open(),
            R"(t.jsonl:3: dependencies "{\"request_id\":\"b\",\"trigger\":\"start\"}" has a )"
            "trigger that is not completion or dispatch; correct the row");
    refuses({head, line(R"(,"hash_ids":[1,2])"), line(R"(,"hash_ids":[3,4])")}, open(),
            "t.jsonl:3: request_id \"b\" already names an earlier row; give each row its own name, "
            "so that others can wait for it");
    refuses({head, line(R"(,"hash_ids":[1,2])"), line("", "c")}, open(), some_without_ids(3));
    ReadOptions lenient = open();
    lenient.lenient = true;
    const ReadTrace filled = read({head, line(R"(,"hash_ids":[1,2])"), line("", "c")}, lenient);
    ASSERT_TRUE(filled.usable) << filled.first_error();
    EXPECT_EQ(filled.trace.rows[1].ids_count, 0U) << "as long, and nobody's prefix";
}

TEST(Refusals, OfConversations) {
    const auto of_size = [](const std::string& size, const std::string& requests) {
        return R"({"id":"c","block_size":)" + size + R"(,"requests":[)" + requests + "]}";
    };
    refuses({of_size("0", "")}, open(),
            std::string("t.jsonl:1: block_size \"0\" is not a block size; ") + one_size);
    refuses({of_size("64", R"({"t":0,"in":64,"out":1,"hash_ids":[1]})"), of_size("16", "")}, open(),
            std::string("t.jsonl:2: block_size \"16\" differs from 64; ") + one_size);
    refuses({of_size("64", R"({"t":0,"in":64,"out":1,"hash_ids":4})")}, open(),
            "t.jsonl:1: requests[0].hash_ids \"4\" is not a list of block ids; correct the row");
    refuses({of_size("64", R"({"t":0,"type":"subagent","requests":{}})")}, open(),
            "t.jsonl:1: requests[0].requests \"{}\" is not a list of objects; correct the row");
    refuses(
        {of_size(
            "64",
            R"({"t":0,"type":"subagent","requests":[{"t":1,"type":"subagent","requests":4}]})")},
        open(),
        "t.jsonl:1: requests[0].requests[0].requests \"4\" is not a list of objects; correct "
        "the row");
}

TEST(Refusals, OfMappedColumns) {
    ReadOptions mapped;
    mapped.map = {{"time", "t"}, {"in", "i"}, {"out", "o"}, {"hashes", "h"}, {"turn", "n"}};
    mapped.time_unit = "s";
    const auto line = [](const std::string& more) { return R"({"t":1,"i":20,"o":2)" + more + "}"; };
    refuses({R"({"t":1,"i":5,"answer":2,"h":[1],"n":1})"}, mapped,
            "t.jsonl:1: --map \"out=o\" does not name a column; columns are t, i, answer, h, n");
    refuses({line(R"(,"h":7,"n":1)")}, mapped,
            "t.jsonl:1: h \"7\" is not a list of block ids; correct the row");
    refuses(
        {line(R"(,"h":[1.5],"n":1)")}, mapped,
        "t.jsonl:1: h \"1.5\" is not a block id; use strings, or whole numbers from 0 to 2^64 - 1");
    refuses({line(R"(,"h":[1],"n":"x")")}, mapped,
            "t.jsonl:1: n \"x\" is not a turn number; use numbers from 1");
    mapped.block_size = 16;
    const ReadTrace numbers = read({line(R"(,"h":[7,18446744073709551615],"n":1)")}, mapped);
    ASSERT_TRUE(numbers.usable) << numbers.first_error();
    EXPECT_EQ(numbers.trace.ids_of(numbers.trace.rows[0])[1], 18446744073709551615U);
}

TEST(Refusals, OfDynamo) {
    const auto event = [](const std::string& request) {
        return R"({"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end",)"
               R"("request":{"request_received_ms":1,)" +
               request + "}}}";
    };
    const auto replay = [](const std::string& size) {
        return R"("output_tokens":1,"replay":{"input_length":16,"trace_block_size":)" + size +
               R"(,"input_sequence_hashes":[1]})";
    };
    refuses(
        {event(replay("0"))}, open(),
        "t.jsonl:1: event.request.trace_block_size \"0\" is not a whole number of tokens from 1 to "
        "134217728; correct the row");
    refuses({event(replay("16")), event(replay("8"))}, open(),
            std::string("t.jsonl:2: event.request.trace_block_size \"8\" differs from 16; ") +
                one_size);
    const ReadTrace dropped = read({event(replay("16")), event(R"("input_tokens":3)")}, open());
    ASSERT_TRUE(dropped.usable) << dropped.first_error();
    EXPECT_EQ(dropped.trace.rows.size(), 1U);
    ASSERT_EQ(dropped.trace.remarks.size(), 1U);
    EXPECT_STREQ(dropped.trace.remarks[0].one, "request without output tokens dropped");
    refuses({event(replay("16")), event(R"("output_tokens":1,"input_tokens":3)")}, open(),
            some_without_ids(2));
}

TEST(Refusals, OfAIBrix) {
    refuses({R"({"timestamp":0})"}, open("aibrix"),
            "t.jsonl:1: requests is missing; give every row its list of requests");
    for (const char* const wrong : {"7", "null", "[7]"}) {
        refuses({R"({"timestamp":0,"requests":)" + std::string(wrong) + "}"}, open("aibrix"),
                "t.jsonl:1: requests \"" + std::string(wrong) +
                    "\" is not a list of objects; correct the row");
    }
}

// A text that is none of the format that was named, and a time far outside of the clock.
TEST(Refusals, OfTheWrongKindOfFile) {
    const ReadTrace json = read({R"({"timestamp":1})"}, open("burstgpt"));
    EXPECT_FALSE(json.usable);
    EXPECT_TRUE(says(json.first_error(),
                     "is JSON; the format burstgpt is CSV; choose another with --format"));
    ReadOptions iso;
    iso.map = {{"time", "t"}, {"in", "i"}, {"out", "o"}};
    iso.time_unit = "iso";
    refuses({R"({"t":"2300-01-01T00:00:00Z","i":5,"o":2})"}, iso,
            "t.jsonl:1: t \"2300-01-01T00:00:00Z\" is not within 1970 and 2115; correct the row");
}

}  // namespace
}  // namespace driftless
