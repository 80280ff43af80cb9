// Conversations with their words.

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"

namespace driftless {

// AIPerf's conversations of several turns: each turn a row of new messages, times in ms.

namespace {

/// Messages, each as speaker:words, with these names of both.
std::string messages_of(const std::vector<std::string>& messages, const std::string& speaker,
                        const std::string& words) {
    std::string list;
    for (const std::string& one : messages) {
        const std::size_t colon = one.find(':');
        list += list.empty() ? "" : ",";
        list += "{\"" + speaker + "\":\"" + one.substr(0, colon) + "\",\"" + words + "\":\"" +
                one.substr(colon + 1) + "\"}";
    }
    return list;
}

std::string session(const std::string& id, const std::string& turns) {
    return R"({"session_id":")" + id + R"(","turns":[)" + turns + "]}";
}

TEST(AiperfTurns, AreRowsOfNewMessages) {
    const Trace trace = read({session("s", R"({"text":"q1","delay":0},{"text":"q2","delay":2000.5,)"
                                           R"("output_length":50,"extra":{"k":1}})"),
                              R"({"turns":[{"texts":["a","b"]}],"type":"multi_turn"})",
                              session("s", R"({"texts":[{"name":"n","contents":["x","y"]}]})")},
                             closed_sessions())
                            .sound();
    EXPECT_EQ(trace.format, "aiperf-multi-turn");
    EXPECT_TRUE(trace.deltas);
    EXPECT_EQ(trace.unknown_keys, 0U);
    ASSERT_EQ(trace.rows.size(), 4U);
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"messages":[{"role":"user","content":"q1"}]})");
    EXPECT_EQ(trace.rows[2].at_ns, 2'000'500'000);
    EXPECT_EQ(trace.rows[2].output_length, 50U);
    EXPECT_EQ(trace.body_of(trace.rows[2]),
              R"({"messages":[{"role":"user","content":"q2"}],"extra":{"k":1}})");
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 2'000'500'000);
    EXPECT_EQ(trace.body_of(trace.rows[1]),
              R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
              R"({"type":"text","text":"b"}]}]})");
    EXPECT_EQ(trace.sessions[trace.rows[1].session], "t.jsonl:2");
    EXPECT_EQ(trace.rows[3].turn, 3U) << "objects of one name are one session";
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// A fixed schedule needs no closed sessions.
TEST(AiperfTurns, HaveTimesOrDelaysBehindASystemPrompt) {
    const Trace timed =
        read({session("s", R"({"text":"q1","timestamp":10},{"text":"q2","timestamp":1000})")})
            .sound();
    EXPECT_EQ(std::tuple(timed.rows[1].at_ns, timed.rows_laid_out), std::tuple(990'000'000, 0U));
    const ReadTrace delayed = read({session("s", R"({"text":"q1"},{"text":"q2","delay":5})")});
    EXPECT_FALSE(delayed.usable);
    EXPECT_EQ(delayed.errors.list[0].field, "turns[0].timestamp");
    EXPECT_TRUE(says(delayed.first_error(), "--sessions closed"));
    // A first turn of a system that is text alone asks nothing; one with a time is a turn.
    const Trace trace =
        read({session("s", R"({"role":"system","texts":["be","kind"]},{"text":"q"},)"
                           R"({"role":"system","text":"now be short"})"),
              session("t", R"({"role":"system","text":"x","delay":5})")},
             closed_sessions())
            .sound();
    ASSERT_EQ(trace.rows.size(), 3U);
    const TraceRow& first = trace.rows[0];
    EXPECT_EQ(trace.body_of(first),
              R"({"messages":[{"role":"system","content":"be\nkind"},{"role":"user",)"
              R"("content":"q"}]})");
    EXPECT_EQ(first.turn, 1U);
    EXPECT_EQ(trace.body_of(trace.rows[1]),
              R"({"messages":[{"role":"system","content":"now be short"}]})");
    const Trace pictures =
        read({session("s", R"({"text":"q","image":"a.png"})")}, closed_sessions()).sound();
    ASSERT_EQ(pictures.remarks.size(), 2U);
    EXPECT_STREQ(pictures.remarks[0].one, "turn with images, audio or video, which are not sent");
}

TEST(AiperfTurns, AreRefused) {
    const auto refused = [](const std::string& turns, const std::string& field,
                            const std::string& what) {
        ReadOptions options = closed_sessions();
        options.format = "multi_turn";
        expect_refused(read({R"({"session_id":"s","turns":)" + turns + "}"}, options), field, what);
    };
    refused("[]", "turns", "is empty");
    refused("5", "turns", "is not a list of objects");
    refused(R"([{"image":"a.png"}])", "turns[0].text",
            "is missing, and the rest of the turn cannot be sent");
    refused(R"([{"text":""}])", "turns[0].text", "is missing");
    refused(R"([{"texts":[]}])", "turns[0].text", "is missing");
    refused(R"([{"text":"a","texts":["b"]}])", "turns[0].texts", "is given together with text");
    refused(R"([{"text":["a"]}])", "turns[0].texts", "is not text");
    refused(R"([{"texts":[{"contents":[{}]}]}])", "turns[0].texts", "is not text");
    refused(R"([{"role":"assistant","text":"a"}])", "turns[0].role", "does not ask");
    refused(R"([{"text":"a","extra":[]}])", "turns[0].extra", "is not an object");
    refused(R"([{"text":"a","extra":{"messages":[]}}])", "turns[0].extra", "has messages");
    refused(R"([{"text":"a","delay":-1}])", "turns[0].delay", "is negative");
    refused(R"([{"role":"system","text":"a"}])", "turns", "no question");
    const ReadTrace graph =
        read({R"({"session_id":"s","turns":[{"messages":[],"forks":["t"]}]})"}, closed_sessions());
    EXPECT_TRUE(says(graph.first_error(), "with forks (dag_jsonl)"));
}

// ShareGPT's conversations and vLLM's: a row for each answered question, with all said before it.

/// Read as closed sessions, where the format is not named.
ReadTrace read_closed(const std::vector<std::string>& lines, const std::string& format = "") {
    ReadOptions options = closed_sessions();
    options.format = format;
    return read(lines, options);
}

/// A conversation of messages, each as speaker:words.
std::string talk(const std::string& id, const std::vector<std::string>& messages) {
    return R"({"id":")" + id + R"(","conversations":[)" + messages_of(messages, "from", "value") +
           "]}";
}

/// What a row says, as role:words with bars between.
std::string said(const Trace& trace, std::size_t row) {
    JsonDocument document;
    std::string text;
    const Result<JsonValue> request = document.parse(trace.body_of(trace.rows[row]));
    for (JsonValue one = request.value().find("messages").first(); one.present();
         one = one.next()) {
        text += text.empty() ? "" : "|";
        text += std::string(*one.find("role").as_string()) + ":" +
                std::string(*one.find("content").as_string());
    }
    return text;
}

TEST(ShareGpt, IsReadAsTurns) {
    const Trace trace =
        read_closed({"[" + talk("a", {"system:s", "human:q1", "gpt:r1", "user:q2", "chatgpt:r2"}) +
                     "," + talk("b", {"human:q", "gpt:r"}) + "]"})
            .sound();
    EXPECT_EQ(trace.format, "sharegpt");
    EXPECT_FALSE(trace.deltas);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(said(trace, 0), "system:s|user:q1");
    EXPECT_EQ(said(trace, 1), "system:s|user:q1|assistant:r1|user:q2");
    EXPECT_EQ(said(trace, 2), "user:q");
    EXPECT_EQ(std::tuple(trace.rows[1].turn, trace.rows[1].input_length), std::tuple(2U, 0U));
    EXPECT_EQ(trace.rows[1].output_length, 0U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].on, 0U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].delay_ns, 0);
    EXPECT_TRUE(trace.dependencies_of(trace.rows[2]).empty());
    EXPECT_EQ(trace.sessions[trace.rows[2].session], "b");
    EXPECT_TRUE(trace.remarks.empty());
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// What published files hold beside questions and answers: each is counted.
TEST(ShareGpt, CountsWhatItLeavesOutAndRefusesTheRest) {
    const Trace trace =
        read_closed(
            {talk("a", {"gpt:r0", "gpt:r1", "human:q", "gpt:", "gpt:r2", "gpt:r3", "human:x",
                        "human:y", "bing:r4", "human:z"}),
             talk("b", {"human:q"}), talk("b", {"human:q", "gpt:r"}),
             talk("b", {"human:q", "bard:r"}),
             R"({"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":null},)"
             R"({"from":"gpt","value":"r"}],"system":"s"})"},
            "sharegpt")
            .sound();
    ASSERT_EQ(trace.rows.size(), 5U);
    EXPECT_EQ(said(trace, 0), "user:q");
    EXPECT_EQ(said(trace, 1), "user:q|assistant:r2\n\nr3|user:x\n\ny");
    EXPECT_EQ(said(trace, 4), "system:s|user:q");
    EXPECT_NE(trace.rows[2].session, trace.rows[3].session) << "two conversations of one name";
    EXPECT_EQ(trace.sessions[trace.rows[2].session], trace.sessions[trace.rows[3].session]);
    EXPECT_EQ(trace.sessions[trace.rows[4].session], "t.jsonl:5");
    const std::map<std::string, std::uint64_t> expected{
        {"answer before the first question of its conversation, left out", 2},
        {"empty message, left out", 2},
        {"message merged with the one before it, of the same speaker", 2},
        {"question without an answer, not sent", 2},
        {"conversation without an answered question, left out", 1}};
    std::map<std::string, std::uint64_t> remarks;
    for (const Remark& remark : trace.remarks) {
        remarks[remark.one] = remark.count;
    }
    EXPECT_EQ(remarks, expected);
    EXPECT_EQ(canonical_round_trip(trace), "");
    const auto refused = [](const std::string& line, const std::string& field,
                            const std::string& what) {
        expect_refused(read_closed({line}, "sharegpt"), field, what);
    };
    refused(talk("a", {"human:q", "function_call:f"}), "conversations[1].from", "speaker");
    refused(R"({"conversations":[{"value":"q"}]})", "conversations[0].role", "is missing");
    refused(R"({"conversations":[{"from":"human","value":5}]})", "conversations[0].value",
            "is not text");
    refused(R"({"conversations":[5]})", "conversations", "is not a list of objects");
    refused(R"({"conversations":5})", "conversations", "is not a list of messages");
    refused(R"({"id":"a"})", "conversations", "is missing");
    const std::string roles =
        R"({"conversations":[{"role":"user","content":"q"},{"role":"assistant","content":"r"}]})";
    EXPECT_TRUE(says(read_closed({roles}).first_error(), "--format sharegpt"));
    EXPECT_TRUE(read_closed({roles}, "sharegpt").usable);
    EXPECT_TRUE(says(read({talk("a", {"human:q", "gpt:r"})}).first_error(), "--dataset FILE"))
        << "no times";
}

TEST(VllmMultiTurn, IsReadAsTurns) {
    const std::string line =
        R"([{"id":"c1","messages":[{"role":"user","content":"q1"},{"role":"assistant",)"
        R"("content":"r1"},{"role":"user","content":"q2"},{"role":"assistant","content":"r2"}]}])";
    const Trace trace = read_closed({line}).sound();
    EXPECT_EQ(trace.format, "vllm-multi-turn");
    ASSERT_EQ(trace.rows.size(), 2U);
    EXPECT_EQ(said(trace, 1), "user:q1|assistant:r1|user:q2");
    EXPECT_EQ(trace.sessions[0], "c1");
    EXPECT_EQ(canonical_round_trip(trace), "");
    EXPECT_TRUE(says(read({line}).first_error(), "--sessions closed"));
    EXPECT_FALSE(
        read_closed({R"({"id":"c","messages":[{"role":"user","content":"q"}],"n":1})"}).usable)
        << "a log of requests, perhaps";
    EXPECT_TRUE(
        says(read_closed({R"({"filetype":"generate_conversations","num_conversations":24})"})
                 .first_error(),
             "describes a generator"));
}

// MLPerf's agentic rows: a message each, a request for each row of a user or a tool.

std::string message(int turn, const std::string& role, const std::string& rest,
                    const std::string& id = "c") {
    return R"({"conversation_id":")" + id + R"(","turn":)" + std::to_string(turn) + R"(,"role":")" +
           role + "\"," + rest + "}";
}

const std::string ask = R"("content":"q")";
const std::string tool_call =
    R"("tool_calls":[{"id":"f:0","type":"function","function":{"name":"f","arguments":{"a":1}}}])";
const std::string result = R"("tool_results":[{"tool_call_id":"f:0","content":"r"}])";

ReadTrace closed(const std::vector<std::string>& lines, std::uint32_t default_output = 0) {
    ReadOptions options = closed_sessions();
    options.default_output = default_output;
    return read(lines, options);
}

TEST(MlPerf, AsksWithAllThatWasSaidOrADefault) {
    const Trace trace =
        closed(
            {R"({"_type":"dataset_metadata","x":1})",
             message(1, "user",
                     ask + R"(,"system":"s","tools":[{"type":"function"}],"delay_seconds":2)"),
             message(2, "assistant", tool_call + R"(,"reasoning_content":"think")"),
             message(3, "tool", result + R"(,"delay_seconds":0.25,"max_new_tokens":9,"top_p":0.5)"),
             message(4, "assistant", R"("content":"a")"), message(1, "user", ask, "d")})
            .sound();
    EXPECT_EQ(trace.format, "mlperf-agentic");
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"c", "d"}));
    ASSERT_EQ(trace.rows.size(), 3U);
    const TraceRow& first = trace.rows[1];
    const TraceRow& second = trace.rows[2];
    EXPECT_EQ(trace.rows[0].index, 2U) << "the other conversation, which starts at once";
    EXPECT_EQ(std::tuple(first.at_ns, second.at_ns), std::tuple(2'000'000'000, 2'250'000'000));
    EXPECT_EQ(second.turn, 2U) << "of requests";
    ASSERT_EQ(trace.dependencies.size(), 1U);
    EXPECT_EQ(trace.dependencies[0].on, first.index);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 250'000'000);
    EXPECT_EQ(first.input_length + first.output_length, 0U) << "unknown";
    EXPECT_EQ(trace.body_of(second),
              R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},)"
              R"({"role":"assistant","content":null,"tool_calls":[{"id":"f:0","type":"function",)"
              R"("function":{"name":"f","arguments":{"a":1}}}],"reasoning_content":"think"},)"
              R"({"role":"tool","tool_call_id":"f:0","content":"r"}],)"
              R"("tools":[{"type":"function"}],)"
              R"("extra":{"max_completion_tokens":9,"top_p":0.5}})");
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"messages":[{"role":"user","content":"q"}]})");
    EXPECT_EQ(canonical_round_trip(trace), "");
    // The format records no lengths; the user may give one.
    const Trace other_trace = closed({message(1, "user", ask)}, 40).sound();
    EXPECT_EQ(other_trace.rows[0].output_length, 40U);
    ASSERT_EQ(other_trace.remarks.size(), 1U);
    EXPECT_EQ(std::string(other_trace.remarks[0].one), "row without an output length");
    EXPECT_TRUE(says(read({message(1, "user", ask)}).first_error(), "--sessions closed"));
}

struct Bad {
    std::vector<std::string> lines;
    std::uint64_t line;
    const char* said;  ///< behind file and line
};

TEST(MlPerf, NamesWhatIsWrong) {
    const std::string user = message(1, "user", ask);
    const std::string answer = message(2, "assistant", R"("content":"a")");
    const std::string caller = message(2, "assistant", tool_call);
    const Bad all[] = {
        {{user, message(3, "assistant", R"("content":"a")")}, 2, "turn \"3\" is not 2"},
        {{user, answer, answer}, 3, "turn \"2\" is not 3"},
        {{message(4, "user", ask)}, 1, "put a conversation in one file, from turn 1"},
        {{R"({"conversation_id":"c","turn":"one","role":"user"})"},
         1,
         "turn \"\\\"one\\\"\" is not 1"},
        {{R"({"conversation_id":"c","turn":null,"role":"user"})"}, 1, "turn is missing"},
        {{user, message(2, "user", ask)}, 2, "follows a user's row without an answer"},
        {{user, caller, message(3, "user", ask)}, 3, "follows tool calls without their results"},
        {{user, answer, message(3, "tool", result)}, 3, "follows an answer that called no tool"},
        {{user, caller, message(3, "tool", result), message(4, "tool", result)},
         4,
         "follows another row of tool results"},
        {{message(1, "tool", result)}, 1, "begins a conversation; only a user can"},
        {{user, message(2, "judge", ask)}, 2, "is not user, assistant or tool"},
        {{message(1, "user", R"("content":"")")}, 1, "content \"\\\"\\\"\" is not text"},
        {{user, message(2, "assistant", R"("content":null)")}, 2, "content is missing"},
        {{user, message(2, "assistant", R"("tool_calls":[])")}, 2, "tool_calls \"[]\" is empty"},
        {{user, message(2, "assistant", R"("tool_calls":[{"id":1}])")},
         2,
         "is not a function call"},
        {{user, caller, message(3, "tool", R"("tool_results":"r")")}, 3, "not a list of objects"},
        {{user, caller, message(3, "tool", R"("content":"r")")}, 3, "tool_results is missing"},
        {{user, caller, message(3, "tool", R"("tool_results":[{"tool_call_id":"f:0"}])")},
         3,
         "lacks tool_call_id or content"},
        {{message(1, "user", ask + R"(,"delay_seconds":-1)")},
         1,
         "delay_seconds \"-1\" is negative"},
        {{message(1, "user", ask + R"(,"max_new_tokens":0)")}, 1, "max_new_tokens \"0\""},
        {{message(1, "user", ask + R"(,"tools":{})")}, 1, "tools \"{}\" is not a list"},
        {{message(1, "user", ask + R"(,"system":7)")}, 1, "system \"7\" is not text"},
        {{user, answer, message(3, "user", ask + R"(,"system":"s")")},
         3,
         "put it on the row of turn 1"},
        {{message(1, "user", ask, "\\u00e9")}, 1, "is not printable ASCII"},
        {{user, message(1, "user", ask, "d"), answer}, 3, "rows of one conversation together"},
    };
    for (const Bad& one : all) {
        const ReadTrace got = closed(one.lines);
        ASSERT_EQ(got.errors.count, 1U) << one.said << ": " << got.first_error();
        EXPECT_EQ(got.errors.list[0].line, one.line) << one.said;
        EXPECT_TRUE(says(got.first_error(), one.said));
        EXPECT_TRUE(says(got.first_error(), "; ")) << "no remedy";
    }
}

// One error a conversation: what comes behind it means nothing. Other conversations are read.
TEST(MlPerf, GoesOnWithTheNextConversationAndFile) {
    const ReadTrace got =
        closed({message(1, "user", ask), message(5, "assistant", ask), message(6, "user", ask),
                message(1, "user", "\"content\":5", "d"), message(1, "user", ask, "e")});
    EXPECT_EQ(std::tuple(got.errors.count, got.trace.rows.size()), std::tuple(2U, 2U));
    // The same names in another file are other conversations.
    ReadOptions options = closed_sessions();
    Trace trace;
    InputErrors errors;
    TraceReader reader(options, trace, errors);
    for (const char* file : {"a.jsonl", "b.jsonl"}) {
        reader.begin_file(file);
        EXPECT_TRUE(reader.add_line(1, message(1, "user", ask)));
    }
    reader.begin_file("c.jsonl");
    EXPECT_TRUE(reader.add_line(1, message(2, "assistant", ask)));
    EXPECT_FALSE(reader.finish());
    ASSERT_EQ(errors.count, 1U);
    EXPECT_EQ(std::tuple(errors.list[0].file, trace.rows.size()), std::tuple("c.jsonl", 2U));
    EXPECT_NE(trace.rows[0].session, trace.rows[1].session);
}

// Rows of messages that hold only what is new: AIPerf's delta rows in Mooncake traces, SGLang's
// turns; and how the canonical format carries them.

/// A row of the session with these messages, as role:words; members stand behind. One without any
/// has the length of its answer.
std::string row_of(const std::string& session, const std::vector<std::string>& messages,
                   const std::string& members) {
    return R"({"session_id":")" + session + R"(","messages":[)" +
           messages_of(messages, "role", "content") + "]" +
           (members.empty() ? R"(,"output_length":9)" : "," + members) + "}";
}

const std::string live = R"("assistant_responses":"live")";

std::uint64_t count_of(const Trace& trace, const std::string& part) {
    for (const Remark& remark : trace.remarks) {
        if (std::string(remark.many).find(part) != std::string::npos) {
            return remark.count;
        }
    }
    return 0;
}

constexpr const char* looks_fresh = "may have only new messages";

// The spellings of both of AIPerf's keys; turns wait for the answer and the delay.
TEST(Deltas, AreReadFromMooncakeRows) {
    for (const std::string mode :
         {R"("assistant_responses":"live")", R"("assistant_responses":"LIVE")",
          R"("message_mode":"delta")"}) {
        const Trace trace =
            read({row_of("a", {"system:s", "user:q1"}, mode + R"(,"output_length":50)"),
                  row_of("b", {"user:q2"}, mode),
                  row_of("a", {"tool:r"}, mode + R"(,"delay":1500.5,"output_length":8)")},
                 closed_sessions())
                .sound();
        EXPECT_TRUE(trace.deltas && trace.recorded);
        ASSERT_EQ(trace.rows.size(), 3U);
        const TraceRow& last = trace.rows[2];
        EXPECT_EQ(trace.body_of(last), R"({"messages":[{"role":"tool","content":"r"}]})");
        EXPECT_EQ(std::tuple(last.at_ns, last.turn), std::tuple(1'500'500'000, 2U));
        EXPECT_EQ(last.output_length, 8U);
        ASSERT_EQ(trace.dependencies_of(last).size(), 1U);
        EXPECT_EQ(trace.dependencies_of(last)[0].on, 0U);
        EXPECT_EQ(trace.dependencies_of(last)[0].delay_ns, 1'500'500'000);
        EXPECT_EQ(count_of(trace, "answers of the run go between them"), 3U);
        EXPECT_EQ(count_of(trace, looks_fresh), 0U);
        EXPECT_EQ(canonical_round_trip(trace), "");
    }
}

// History is what rows hold without the key, and by its own words.
TEST(Deltas, AreSaidByTheRowAndInheritTools) {
    for (const std::string mode :
         {R"("assistant_responses":"recorded")", R"("assistant_responses":"Recorded")",
          R"("message_mode":"history")", R"("message_mode":null)"}) {
        const Trace trace = read({row_of("a", {"user:q"}, R"("timestamp":1,)" + mode)}).sound();
        EXPECT_FALSE(trace.deltas);
        EXPECT_EQ(canonical_round_trip(trace), "");
    }
    // Without arrival times they are refused under recorded sessions; with some they are not.
    const ReadTrace without =
        read({row_of("a", {"user:q"}, live), row_of("a", {"user:r"}, live + R"(,"delay":5)")});
    EXPECT_EQ(without.errors.count, 2U);
    EXPECT_TRUE(says(without.first_error(), "--sessions closed"));
    const Trace with = read({row_of("a", {"user:q"}, live + R"(,"timestamp":10)"),
                             row_of("a", {"user:r"}, live + R"(,"timestamp":30,"delay":5)")})
                           .sound();
    EXPECT_EQ(with.rows[1].at_ns, 20'000'000);
    EXPECT_EQ(with.dependencies_of(with.rows[1])[0].delay_ns, 5'000'000);
    // Tools hold inside their session until others come.
    const auto tools = [](const std::string& name) {
        return R"("tools":[{"type":"function","function":{"name":")" + name + R"("}}])";
    };
    const Trace trace =
        read({row_of("a", {"user:1"}, live + "," + tools("x")), row_of("b", {"user:2"}, live),
              row_of("a", {"user:3"}, live + R"(,"tools":null)"),
              row_of("a", {"user:4"}, live + "," + tools("y")), row_of("a", {"user:5"}, live)},
             closed_sessions())
            .sound();
    const char* expected[] = {"x", "", "x", "y", "y"};
    for (const TraceRow& row : trace.rows) {
        const std::string body(trace.body_of(row));
        const std::string name = expected[row.index];
        EXPECT_EQ(body.find("tools") == std::string::npos, name.empty()) << body;
        EXPECT_TRUE(name.empty() || body.ends_with("," + tools(name) + "}")) << body;
    }
    EXPECT_EQ(canonical_round_trip(trace), "");
    const Trace history = read({row_of("a", {"user:1"}, R"("output_length":9,)" + tools("x")),
                                row_of("a", {"user:1", "assistant:2", "user:3"}, "")},
                               closed_sessions())
                              .sound();
    EXPECT_FALSE(says(history.body_of(history.rows[1]), "tools"));
}

// Rows of a session are of one kind, and so are all messages of a trace.
TEST(Deltas, DoNotMixAndRefuseOthers) {
    const std::string delta = row_of("a", {"user:q"}, live);
    const auto refused = [&](const std::vector<std::string>& lines, const std::string& what) {
        const ReadTrace got = read(lines, closed_sessions());
        EXPECT_FALSE(got.usable);
        EXPECT_TRUE(says(got.first_error(), what));
        EXPECT_TRUE(says(got.first_error(),
                         "assistant_responses live in all rows of messages, or in none"));
    };
    refused({delta, row_of("a", {"user:q"}, "")}, "of its session that have only new messages");
    refused({row_of("a", {"user:q"}, ""), delta}, "session that have more than new messages");
    refused({delta, R"({"session_id":"a","input_length":5,"output_length":1})"},
            "of its session that have only new messages");
    refused({delta, row_of("b", {"user:q"}, "")}, "while other rows have only new messages");
    refused({row_of("b", {"user:q"}, ""), delta}, "while other rows have whole conversations");
    const ReadTrace beside = read(
        {delta, R"({"session_id":"b","text_input":"x"})",
         R"({"messages":[{"role":"user","content":"q"}],"timestamp":0,"message_mode":"delta"})"},
        closed_sessions());
    EXPECT_TRUE(beside.usable) << beside.first_error();
    const auto other_refused = [&](const std::string& line, const std::string& field,
                                   const std::string& what) {
        expect_refused(read_closed({line}), field, what);
    };
    other_refused(row_of("a", {"user:q"}, live + R"(,"extra":{"messages":[]})"), "extra",
                  "has messages, instead of the conversation");
    other_refused(row_of("a", {"user:q"}, live + R"(,"extra":{"input":""})"), "extra", "has input");
    other_refused(R"({"session_id":"a","text_input":"x",)" + live + "}", "assistant_responses",
                  "a row without messages");
    other_refused(R"({"session_id":"a","payload":{"prompt":"x"},"message_mode":"delta"})",
                  "message_mode", "a row without messages");
    other_refused(R"({"session_id":"a","input_length":1,"output_length":1,"message_mode":"delta"})",
                  "message_mode", "a row without messages");
    other_refused(row_of("a", {"user:q"}, R"("message_mode":"deltas")"), "message_mode",
                  "assistant_responses recorded");
    other_refused(row_of("a", {"user:q"}, R"("assistant_responses":5)"), "assistant_responses",
                  "older traces message_mode");
}

// A session that does not say so and looks like it is counted once, and sent as it stands.
TEST(Deltas, AreSuspectedAndSurviveWriting) {
    const auto suspected = [](const std::vector<std::string>& lines) {
        const ReadTrace got = read(lines, closed_sessions());
        EXPECT_TRUE(got.usable) << got.first_error();
        EXPECT_FALSE(got.trace.deltas);
        return count_of(got.trace, looks_fresh);
    };
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"user:r"}, ""),
                         row_of("a", {"user:s"}, "")}),
              1U);
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"user:q", "user:r"}, "")}), 1U)
        << "no answer";
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"assistant:x", "user:r"}, "")}),
              1U)
        << "the first question is gone";
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""),
                         row_of("a", {"user:q", "assistant:x", "user:r"}, ""),
                         row_of("b", {"user:q"}, "")}),
              0U);
    const ReadTrace odd = read({row_of("a", {"user:q"}, live), row_of("a", {"assistant:x"}, live)},
                               closed_sessions());
    EXPECT_EQ(count_of(odd.trace, "after the server's own"), 1U);
    // To Mooncake and back; and canonical files of both kinds are not one trace.
    const Trace trace = read({row_of("a", {"user:q"}, live + R"(,"timestamp":0)"),
                              row_of("a", {"user:r"}, live + R"(,"delay":5,"output_length":2)"),
                              R"({"timestamp":9,"text_input":"x"})"},
                             closed_sessions())
                            .sound();
    TraceWriter mooncake(trace, mooncake_target, all_rows(trace));
    const std::vector<std::string> lines = lines_of(mooncake);
    EXPECT_EQ(lines[1], R"({"timestamp":5,"assistant_responses":"live","messages":[{"role":"user",)"
                        R"("content":"r"}],"output_length":2,"session_id":"a","delay":5})");
    EXPECT_EQ(lines[2], R"({"timestamp":9,"text_input":"x"})");
    EXPECT_EQ(difference(trace, read(lines).sound()), "");

    const std::string header = R"({"schema":"driftless.trace","version":1,"block_size":0})";
    const std::string row = R"({"at_ns":0,"recorded":{"messages":[{"role":"user"}]}})";
    const std::string fresh = header.substr(0, header.size() - 1) + R"(,"deltas":true})";
    EXPECT_TRUE(read({fresh, row}).trace.deltas);
    EXPECT_EQ(read({fresh, row, header, row}).errors.list[0].field, "deltas");
}

// SGLang's turns say how long their prompts were; conversations are named by their number.
TEST(Deltas, AreReadFromSglang) {
    const std::string turns =
        R"({"metadata":{"k":1},"conversations":[[{"messages":[{"role":"system","content":"s"},)"
        R"({"role":"user","content":"q"}],"prompt_tokens":73},{"messages":[],"prompt_tokens":80},)"
        R"({"messages":[{"role":"user","content":"r"}],"prompt_tokens":90}],[],)"
        R"([{"messages":[{"role":"user","content":"t"}]}]]})";
    EXPECT_TRUE(says(read({turns}).first_error(), "--sessions closed"));
    ReadOptions options = closed_sessions();
    options.default_output = 220;
    const Trace trace = read({turns}, options).sound();
    EXPECT_EQ(trace.format, "sglang-agentic");
    EXPECT_TRUE(trace.deltas);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.rows[0].input_length, 73U);
    EXPECT_EQ(trace.rows[1].input_length, 90U);
    EXPECT_EQ(std::tuple(trace.rows[1].output_length, trace.rows[1].turn), std::tuple(220U, 2U));
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].on, 0U);
    EXPECT_EQ(trace.rows[2].input_length, 0U);
    EXPECT_EQ(trace.sessions[trace.rows[2].session], "2");
    EXPECT_EQ(count_of(trace, "turns without messages"), 1U);
    EXPECT_EQ(canonical_round_trip(trace), "");
    const auto refused = [&](const std::string& conversations, const std::string& field) {
        options.format = "sglang-agentic";
        const ReadTrace bad = read({R"({"conversations":)" + conversations + "}"}, options);
        ASSERT_EQ(bad.errors.count, 1U) << conversations;
        EXPECT_EQ(bad.errors.list[0].field, field);
    };
    refused("5", "conversations");
    refused("[5]", "");
    refused("[[5]]", "conversations[0]");
    refused(R"([[{"messages":[5]}]])", "conversations[0].turns[0].messages");
    refused(R"([[{"messages":[{"role":"user"}],"prompt_tokens":-1}]])",
            "conversations[0].turns[0].prompt_tokens");
}

// Traces of recorded requests: LMCache's calls of agents, evalscope's logs of bodies.

ReadOptions open_sessions() {
    return ReadOptions{.sessions = Sessions::open};
}

std::string call(const std::string& session, const std::string& rest) {
    return R"({"session_id":")" + session + R"(","input":[{"role":"user","content":"q"}],)" + rest +
           "}";
}

// The gap is from the answer before: laid out open, answers take no time.
TEST(LmCache, ReadsCallsThatItCanPlace) {
    const Trace trace = read({call("a", R"("output_length":3,"pre_gap":0,"session_timestamp":2.5)"),
                              call("b", R"("output_length":0,"pre_gap":9,"model":"m")"),
                              call("a", R"("output_length":4,"pre_gap":0.25,"tools":null)")},
                             open_sessions())
                            .sound();
    EXPECT_EQ(trace.format, "lmcache");
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.rows[0].index, 1U) << "a session without a start begins at 0";
    EXPECT_EQ(trace.rows[1].at_ns, 2'500'000'000);
    EXPECT_EQ(std::tuple(trace.rows[2].at_ns, trace.rows[2].turn), std::tuple(2'750'000'000, 2U));
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 250'000'000);
    EXPECT_EQ(std::tuple(trace.rows[0].output_length, trace.zero_outputs), std::tuple(1U, 1U));
    EXPECT_EQ(trace.rows_laid_out, 1U) << "the second call of session a";
    EXPECT_EQ(trace.body_of(trace.rows[2]), R"({"messages":[{"role":"user","content":"q"}]})");
    EXPECT_EQ(canonical_round_trip(trace), "");
    EXPECT_TRUE(says(read({call("a", R"("output_length":3,"pre_gap":1)")}).first_error(),
                     "--sessions open"));
    const ReadTrace got =
        read({call("a", R"("output_length":3,"pre_gap":1)"),
              call("a", R"("output_length":3,"pre_gap":-1)"),
              R"({"session_id":"a","input":"q","pre_gap":1})", R"({"session_id":"a","pre_gap":1})",
              R"({"input":[{"role":"user"}],"pre_gap":1})"},
             open_sessions());
    ASSERT_EQ(got.errors.count, 4U);
    EXPECT_EQ(got.errors.list[0].field, "pre_gap");
    EXPECT_EQ(got.errors.list[1].field, "input");
    EXPECT_EQ(got.errors.list[2].field, "input");
    EXPECT_EQ(got.errors.list[3].field, "session_id");
    EXPECT_EQ(read({call("a", R"("output_length":3,"pre_gap":1,"session_timestamp":"soon")")},
                   open_sessions())
                  .errors.list[0]
                  .field,
              "session_timestamp");
}

// Numbers, numbers as text and wall clocks; bodies as objects and as text of their own.
TEST(WorkloadLog, ReadsBodiesAndLinesOrRefuses) {
    const Trace trace =
        read({R"({"body":{"messages":[{"role":"user","content":"a"}]},"timestamp":1732060801.5,)"
              R"("completion_tokens":3})",
              R"({"body":"{\"prompt\": \"b\",\n\"n\": 1}","timestamp":"1732060801.25"})",
              R"({"body":{"prompt":"c"},"timestamp":"2024-11-20T00:00:02Z","headers":{"k":"v"}})"})
            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.rows[0].index), std::tuple("workload", 1U));
    EXPECT_EQ(trace.rows[0].output_length, 0U) << "unknown";
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"payload":{"prompt": "b","n": 1}})");
    EXPECT_EQ(std::tuple(trace.rows[1].at_ns, trace.rows[1].output_length, trace.rows[2].at_ns),
              std::tuple(250'000'000, 3U, 750'000'000));
    EXPECT_EQ(canonical_round_trip(trace), "");
    // Lines of OpenAI's Batch have no times: a rate says when they are sent.
    const std::string body = R"({"model":"m","messages":[{"role":"user","content":"a"}],)"
                             R"("max_tokens":5})";
    const std::string line =
        R"({"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":)" + body + "}";
    const Trace batch = read({line, line}, {.times_free = true}).sound();
    EXPECT_EQ(batch.format, "workload");
    EXPECT_EQ(batch.body_of(batch.rows[1]), R"({"payload":)" + body + "}");
    EXPECT_EQ(batch.unknown_keys, 0U);
    EXPECT_TRUE(says(read({line}).first_error(), "use replay --rate R"));
    const std::string good = R"({"body":{"prompt":"c"},"timestamp":1})";
    for (const char* other_body : {R"("{")", R"("[]")", R"("{}")", "{}", "5", "null"}) {
        const ReadTrace got =
            read({good, R"({"timestamp":2,"body":)" + std::string(other_body) + "}"});
        EXPECT_EQ(got.errors.count, 1U) << other_body;
        EXPECT_EQ(got.errors.list[0].line, 2U) << other_body;
    }
    EXPECT_EQ(read({good, R"({"body":{"prompt":"c"}})"}).errors.count, 1U) << "no time";
    EXPECT_EQ(read({good, R"({"timestamp":2})"}).first_error(),
              "t.jsonl:2: body is missing; give every row its request's body");
}

// To Mooncake and back: the words stay; a length beside them is named as lost.
TEST(RecordedRequests, SurviveMooncake) {
    const Trace trace = read({R"({"timestamp":0,"text_input":"a","input_length":3})",
                              R"({"timestamp":1,"payload":{"prompt":"b"},"extra":{"k":1},)"
                              R"("output_length":2})"})
                            .sound();
    TraceWriter writer(trace, mooncake_target, all_rows(trace));
    const std::vector<std::string> lines = lines_of(writer);
    EXPECT_EQ(lines[0], R"({"timestamp":0,"text_input":"a"})");
    EXPECT_EQ(lines[1], R"({"timestamp":1,"payload":{"prompt":"b"},"extra":{"k":1},)"
                        R"("output_length":2})");
    ASSERT_EQ(writer.losses().size(), 1U);
    EXPECT_EQ(writer.losses()[0], "1 length besides a prompt with text");
    EXPECT_EQ(read(lines).sound().body_bytes, trace.body_bytes);
}

}  // namespace
}  // namespace driftless
