// ISB-1 bundles: the first cell of each conversation, its messages as the bundles' client sends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string bundle(const std::string& adapter, const std::string& cells) {
    return R"({"schema_version":"0.1.0","adapter_id":"inferencex_)" + adapter + R"(","exports":[)" +
           cells + "]}";
}

/// A cell of a conversation with one turn for each of these lists of messages.
std::string cell(const std::string& trace, const std::string& session,
                 const std::vector<std::string>& turns) {
    std::string list;
    for (const std::string& messages : turns) {
        list += list.empty() ? "" : ",";
        list += R"({"messages":[)" + messages +
                R"(],"expected_output_tokens":8,"wait_before_ms":)" +
                (list.empty() ? "0" : "1500") + "}";
    }
    return R"({"trace_id":")" + trace +
           R"(","support_status":"supported","session":{"session_id":)" + session +
           R"(,"turns":[)" + list + "]}}";
}

const std::string hello = R"({"role":"user","content":"hi"})";

TEST(Isb1, ReadsSessions) {
    const ReadTrace got = read({bundle("multiturn", cell("t1", R"("s1")", {hello, hello}) + "," +
                                                        cell("t2", "null", {hello}))},
                               closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "isb1");
    EXPECT_FALSE(trace.deltas);
    EXPECT_EQ(trace.unknown_keys, 0U);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"s1", "t2"}));
    EXPECT_EQ(trace.rows[2].at_ns, 1'500'000'000);
    EXPECT_EQ(trace.rows[2].output_length, 8U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 1'500'000'000);
    EXPECT_EQ(trace.body_of(trace.rows[2]), R"({"messages":[)" + hello + "]}");
    EXPECT_EQ(trace.rows_laid_out, 1U);
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// Offsets are recorded starts: what stands between two of them is the wait.
TEST(Isb1, ReadsEvents) {
    const auto event = [](const std::string& ms) {
        return R"({"arrival_time_offset_ms":)" + ms + R"(,"input_messages":[)" + hello +
               R"(],"target_output_tokens":16})";
    };
    const ReadTrace got =
        read({bundle("trace_replay",
                     R"({"trace_id":"t1","trace_metadata":{"session_id":"s1"},"events":[)" +
                         event("5") + "," + event("30") + "," + event("20") + "]}")},
             closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.sessions[0], "s1");
    EXPECT_EQ(trace.rows[1].at_ns, 25'000'000);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].delay_ns, 25'000'000);
    EXPECT_EQ(trace.rows[2].at_ns, 25'000'000) << "time does not go back";
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 0);
    EXPECT_EQ(trace.rows_laid_out, 0U);
    EXPECT_EQ(trace.rows[2].output_length, 16U);
}

// One cell a stack and GPU: the first is read, also where cells stand in lines of their own.
TEST(Isb1, ReadsAConversationOnce) {
    const std::string one = cell("t1", R"("s1")", {hello});
    const std::string other = cell("t1", R"("s1")", {hello, hello});
    const ReadTrace got = read({bundle("multiturn", one + "," + one + "," + other),
                                bundle("multiturn", one), bundle("multiturn", other)},
                               closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 1U);
    ASSERT_EQ(got.trace.remarks.size(), 2U);
    EXPECT_EQ(got.trace.remarks[0].count, 2U);
    EXPECT_EQ(got.trace.remarks[1].count, 2U);
    EXPECT_TRUE(says(std::string(got.trace.remarks[1].many), "other versions"));
}

TEST(Isb1, SendsBlocksAsItsClientDoes) {
    const auto content = [](const std::string& message) {
        const ReadTrace got =
            read({bundle("multiturn", cell("t", R"("s")", {message}))}, closed_sessions());
        EXPECT_TRUE(got.usable) << got.first_error();
        std::string body(got.trace.body_of(got.trace.rows[0]));
        return body.substr(13, body.size() - 15);
    };
    const auto blocks = [&](const std::string& role, const std::string& list) {
        return content(R"({"role":")" + role + R"(","content_blocks":[)" + list + "]}");
    };
    EXPECT_EQ(blocks("assistant", R"({"type":"text","text":" a\n"})"),
              R"({"role":"assistant","content":"a"})");
    EXPECT_EQ(blocks("user", R"({"type":"code","text":"x=1"},{"text":"b"},{"type":"text"})"),
              R"({"role":"user","content":[{"type":"text","text":"[CODE]\nx=1"},)"
              R"({"type":"text","text":"b"}]})");
    EXPECT_EQ(blocks("tool", R"({"type":"log","text":"failed"})"),
              R"({"role":"user","content":[{"type":"text","text":"[TOOL RESULT]"},)"
              R"({"type":"text","text":"[LOG]\nfailed"}]})");
    EXPECT_EQ(blocks("retrieval", R"({"type":"text","text":""})"),
              R"({"role":"user","content":"[RETRIEVAL RESULT]"})");
    EXPECT_EQ(blocks("user", R"({"type":"document","text":"d","uri":"u"},)"
                             R"({"type":"document","asset_path":"p"},{"type":"table","text":"t"})"),
              R"({"role":"user","content":[{"type":"text","text":"[DOCUMENT: u]\nd"},)"
              R"({"type":"text","text":"[DOCUMENT: p]"},{"type":"text","text":"[TABLE]\nt"}]})");
    EXPECT_EQ(blocks("user", R"({"type":"image","uri":"http://i"})"),
              R"({"role":"user","content":[{"type":"image_url","image_url":{"url":"http://i"}}]})");
    EXPECT_EQ(blocks("user", R"({"type":"image"},{"type":"image","text":"cat"},{"type":"odd"})"),
              R"({"role":"user","content":[{"type":"text","text":"[IMAGE: image]"},)"
              R"({"type":"text","text":"[IMAGE: cat]"},{"type":"text","text":"[ODD]"}]})");
    EXPECT_EQ(content(R"({"role":"execution","content":"ok"})"),
              R"({"role":"user","content":"[EXECUTION RESULT]\nok"})");
    EXPECT_EQ(content(R"({"content":[{"type":"text","text":"a"}]})"),
              R"({"role":"user","content":"a"})");
    EXPECT_EQ(content(R"({"role":"tool","content":[{"text":" a "},{"type":"image_url"},{}]})"),
              R"({"role":"user","content":"[TOOL RESULT]\na\n\n[IMAGE: image]"})");
    EXPECT_EQ(content(R"({"role":"critic","content":"no"})"), R"({"role":"user","content":"no"})");
    EXPECT_EQ(content(R"({"role":"user"})"), R"({"role":"user","content":""})");
}

// What is not words is not sent as words, in silence.
TEST(Isb1, RefusesMessagesThatAreNone) {
    const auto of = [](const std::string& message) {
        return read({bundle("multiturn", cell("t", R"("s")", {message}))}, closed_sessions());
    };
    const auto refused = [&](const std::string& message, const std::string& field,
                             const std::string& value) {
        const ReadTrace got = of(message);
        ASSERT_EQ(got.errors.count, 1U) << message;
        EXPECT_EQ(got.errors.list[0].field, "exports[0].turns[0].messages[0]." + field);
        EXPECT_EQ(got.errors.list[0].value, value);
    };
    for (const std::string role : {"5", "null", "\"\"", "[]"}) {
        refused(R"({"role":)" + role + R"(,"content":"hi"})", "role", role);
    }
    for (const std::string content : {"1.5", "true", "{}"}) {
        refused(R"({"role":"user","content":)" + content + "}", "content", content);
    }
    refused(R"({"role":"user","content":[5]})", "content", "[5]");
    refused(R"({"content_blocks":[{"text":"a"},{"text":7}]})", "content_blocks[1].text", "7");
    refused(R"({"content_blocks":[{"type":7,"text":"a"}]})", "content_blocks[0].type", "7");
    for (const std::string none : {R"("content":null)", R"("content":"")", R"("role":"user")",
                                   R"("content_blocks":[{"type":"text"}])"}) {
        const ReadTrace got = of("{" + none + "}");
        ASSERT_TRUE(got.usable) << got.first_error();
        ASSERT_EQ(got.trace.remarks.size(), 1U) << none;
        EXPECT_TRUE(says(std::string(got.trace.remarks[0].one), "sent empty"));
    }
    EXPECT_TRUE(of(hello).trace.remarks.empty());
}

TEST(Isb1, RefusesWhatItCannotPlace) {
    const auto refused = [](const std::string& line, const std::string& field,
                            const std::string& what) {
        ReadOptions options = closed_sessions();
        options.format = "isb1";
        const ReadTrace got = read({line}, options);
        ASSERT_EQ(got.errors.count, 1U) << line;
        EXPECT_EQ(got.errors.list[0].field, field);
        EXPECT_TRUE(says(got.first_error(), what));
    };
    const std::string beside = R"({"trace_id":"t1","prefix_ref":"p1"})";
    const std::string within = R"({"trace_id":"t2","events":[{"input_messages":[{}]}]})";
    refused(bundle("trace_replay", beside), "prefix_ref", "isb1_to_kvcache_tester.py");
    refused(bundle("trace_replay", beside + "," + within), "prefix_ref", "cells also have events");
    refused(bundle("other", within), "adapter_id", "is not a supported kind of bundle");
    refused(R"({"exports":[]})", "adapter_id", "is missing");
    refused(bundle("multiturn", "5"), "exports", "is not a list of objects");
    refused(bundle("multiturn", R"({"session":{"turns":[{}]}})"), "exports[0].trace_id",
            "is missing, and so is session_id");
    refused(bundle("multiturn", R"({"trace_id":"t"})"), "exports[0].turns", "is missing");
    refused(bundle("trace_replay", R"({"trace_id":"t","events":[]})"), "exports[0].events",
            "is empty");
    refused(bundle("multiturn", R"({"trace_id":"t","session":{"turns":[{}]}})"),
            "exports[0].turns[0].messages", "is missing");
    refused(bundle("multiturn", cell("t", R"("s")", {R"({"content_blocks":[5]})"})),
            "exports[0].turns[0].messages[0].content_blocks", "is not a list of objects");
    EXPECT_TRUE(says(read({bundle("multiturn", cell("t", R"("s")", {hello}))}).first_error(),
                     "--sessions closed"));
}

}  // namespace
}  // namespace driftless
