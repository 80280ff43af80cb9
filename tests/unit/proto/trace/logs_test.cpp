// Logs of services as requests.

#include "proto/trace/logs.hpp"

#include "tests/unit/proto/trace/log_reading.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Every shape in which services write what was asked and answered gives the text that was there:
// parts, results of tools, items of the responses API, and JSON within a string.

namespace {

LogReading call(const std::string& request, const std::string& response) {
    return read_log(R"({"timestamp":"2026-01-05T10:00:00Z","request":)" + request +
                    R"(,"response":)" + response + "}\n");
}

std::string prompt_of(const std::string& request) {
    const LogReading got = call(request, R"({"content":"x"})");
    EXPECT_EQ(got.calls.size(), 1U) << got.first_error();
    std::string out;
    for (const LogMessage& message :
         got.calls.empty() ? std::vector<LogMessage>{} : got.calls[0].prompt) {
        out += message.role + ":" + message.text + "|";
    }
    return out;
}

std::string answer_of(const std::string& response) {
    const LogReading got = call(R"({"messages":[{"role":"user","content":"q"}]})", response);
    EXPECT_EQ(got.calls.size(), 1U) << got.first_error();
    return got.calls.empty() ? "" : got.calls[0].answer.value_or("-");
}

std::string user(const std::string& content) {
    return R"({"messages":[{"role":"user","content":)" + content + "}]}";
}

TEST(LogMessages, HoldTheTextOfEveryPart) {
    expect_each(
        prompt_of,
        gives(user(R"(["a",{"type":"text","text":"b"},{"thinking":"c"}])"), "user:a\nb\nc|"),
        gives(user(R"({"type":"text","text":"one part"})"), "user:one part|"),
        gives(user(R"([{"type":"tool_use","name":"f","input":{"a":1}}])"), "user:f\n{\"a\":1}|"),
        gives(user(R"([{"type":"tool_result","content":"plain"}])"), "user:plain|"),
        gives(user(R"([{"type":"tool_result","content":[{"text":"x"},"y"]}])"), "user:x\ny|"),
        gives(user("7"), "user:7|"), gives(user("null"), "user:|"));
    // What is no text is there all the same: equal parts have equal marks, others have others.
    const auto marks_of = [](const std::string& content) {
        const LogReading got = call(user(content), R"({"content":"x"})");
        EXPECT_EQ(got.count("not text (image"), 1U);
        return got.calls.empty() ? "" : got.calls[0].prompt[0].text;
    };
    const std::string image = marks_of(R"([{"type":"image","data":"QQ=="}])");
    EXPECT_EQ(std::tuple(image.substr(0, 6), image.size()), std::tuple("[part ", 23U));
    EXPECT_EQ(image,
              marks_of(R"([{"type":"tool_result","content":[{"type":"image","data":"QQ=="}]}])"));
    EXPECT_NE(image, marks_of(R"([{"type":"image","data":"Qg=="}])"));
}

TEST(LogMessages, HoldInstructionsToolsAndOneAnswer) {
    EXPECT_EQ(prompt_of(R"({"tools":[{"name":"f"}],"system":[{"type":"text","text":"s"}],)"
                        R"("messages":[{"role":"user","content":"q"}]})"),
              "tools:[{\"name\":\"f\"}]|system:s|user:q|");
    EXPECT_EQ(prompt_of(R"({"prompt":"as it stands"})"), ":as it stands|");
    EXPECT_EQ(prompt_of(R"({"prompt":{"role":"user","content":"alone"}})"), "user:alone|");
    EXPECT_EQ(prompt_of(R"({"prompt":"{\"messages\":[{\"role\":\"user\",\"content\":\"in\"}]}"})"),
              "user:in|");
    EXPECT_EQ(call(R"({"prompt":[1,2,3],"n":2})", R"({"content":"x"})").count("list of token ids"),
              1U);
    EXPECT_EQ(prompt_of(R"({"instructions":"be kind","input":[{"type":"message","role":"user",)"
                        R"("content":[{"type":"input_text","text":"q"}]},{"type":"function_call",)"
                        R"("name":"f","arguments":"{}"},{"type":"function_call_output",)"
                        R"("output":"r"}]})"),
              "system:be kind|user:q|assistant:f\n{}|tool:r|");
    EXPECT_EQ(answer_of(R"({"output":[{"type":"message","content":[{"type":"output_text",)"
                        R"("text":"a"}]},{"type":"function_call","name":"g","arguments":"{}"}]})"),
              "a\ng\n{}");
    expect_each(answer_of, gives(R"("bare")", "bare"), gives(R"({"choices":[]})", "-"),
                gives(R"([{"message":{"content":"a"}},{"message":{"content":"b"}}])", "a"),
                gives(R"({"choices":[{"message":{"content":"a","reasoning":"why"}}]})", "a\nwhy"));
    const std::string calls =
        R"({"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f",)"
        R"("arguments":"{}"}}]}},{"message":{"content":"b"}}]})";
    EXPECT_EQ(answer_of(calls), "f\n{}");
    const LogReading got = call(user("\"q\""), calls);
    EXPECT_EQ(got.count("answer calls tools"), 1U);
    EXPECT_EQ(got.count("several answers"), 1U);
}

std::string litellm(const std::string& more) {
    return R"({"call_type":"completion","startTime":1767607200.5,"endTime":1767607201.25)" + more +
           "}\n";
}

TEST(LiteLlm, LeavesOutWhatNoServerSawAndNeedsItsTime) {
    const LogReading got =
        read_log(litellm(R"(,"cache_hit":true,"messages":"x")") +
                 litellm(R"(,"cache_hit":"True","messages":"x")") +
                 R"({"call_type":"aembedding","startTime":1767607200,"input":"x"})"
                 "\n");
    EXPECT_TRUE(got.calls.empty() && got.errors.empty());
    EXPECT_EQ(got.count("answered by the proxy's cache"), 2U);
    EXPECT_EQ(got.count("call of another kind"), 1U);
    const LogReading redacted = read_log(litellm(
        R"(,"prompt_tokens":9,"completion_tokens":3,"messages":[{"role":"user","content":"redacted-by-litellm"}],)"
        R"("response":{"text":"redacted-by-litellm"})"));
    ASSERT_EQ(redacted.calls.size(), 1U);
    EXPECT_TRUE(redacted.calls[0].prompt.empty());
    EXPECT_FALSE(redacted.calls[0].answer);
    EXPECT_EQ(redacted.calls[0].input_tokens, 9U);
    EXPECT_EQ(redacted.count("redacted"), 1U);
    const LogReading spent = read_log(
        R"({"request_id":"r","call_type":"acompletion","startTime":"2026-01-05T10:00:00.500Z",)"
        R"("endTime":"2026-01-05 10:00:01.250+00:00","session_id":"s","trace_id":"t",)"
        R"("messages":"[{\"role\": \"user\", \"content\": \"hi\"}]","response":"{\"choices\": [)"
        R"({\"message\": {\"content\": \"ho\"}}]}","prompt_tokens":"12","completion_tokens":1})"
        "\n");
    ASSERT_EQ(spent.calls.size(), 1U) << spent.first_error();
    EXPECT_EQ(as_text(spent), "1767607200500000000..1767607201250000000|user:hi|=ho|12+1|s\n");
    const LogReading other_got = read_log(R"({"call_type":"completion","startTime":"soon"})"
                                          "\n" +
                                          litellm("") +
                                          R"({"call_type":"completion"})"
                                          "\n");
    EXPECT_EQ(std::tuple(other_got.calls.size(), other_got.errors.count), std::tuple(1U, 2U));
    EXPECT_TRUE(says(to_text(other_got.errors.list[0]), "log:1: startTime"));
    EXPECT_FALSE(says(to_text(other_got.errors.list[0]), "soon"));
    EXPECT_TRUE(says(to_text(other_got.errors.list[1]), "log:3: startTime is missing"));
}

TEST(Langfuse, TakesApiPagesTracesAndNamedArguments) {
    const std::string one =
        R"({"type":"GENERATION","traceId":"t","startTime":"2026-01-05T10:00:00.500Z",)"
        R"("input":{"messages":[{"role":"user","content":"hi"}]},"output":"ho",)"
        R"("usage":{"input":7,"output":2,"total":9,"unit":"TOKENS","inputCost":1}})";
    const LogReading page = read_log("{\"data\":[" + one + "," + one + "],\n\"meta\":{}}");
    ASSERT_EQ(page.calls.size(), 2U) << page.first_error();
    EXPECT_EQ(page.calls[1].place, "data[1].");
    EXPECT_EQ(std::tuple(page.calls[0].session, page.calls[0].input_tokens), std::tuple("t", 7U));
    EXPECT_EQ(page.calls[0].output_tokens, 2U);
    EXPECT_FALSE(page.calls[0].end_ns);
    const LogReading trace =
        read_log(R"({"id":"t","sessionId":"whole","observations":[)" + one + "]}\n");
    ASSERT_EQ(trace.calls.size(), 1U) << trace.first_error();
    EXPECT_EQ(trace.calls[0].session, "whole");
    EXPECT_EQ(trace.calls[0].prompt[0].text, "hi");
    // Its decorators log the arguments of a call: the prompt may be a named one. As JSON and as
    // text.
    const std::string messages = R"({"messages":[{"role":"user","content":"q"}]})";
    const auto prompt = [](const std::string& input) {
        const auto got = read_log(R"({"type":"GENERATION","traceId":"t","startTime":1767607200,)"
                                  R"("input":)" +
                                  input + R"(,"output":"a"})");
        return got.calls.size() == 1 && got.calls[0].prompt.size() == 1
                   ? got.calls[0].prompt[0].role + ":" + got.calls[0].prompt[0].text
                   : std::string("none");
    };
    EXPECT_EQ(prompt(R"({"args":[],"kwargs":)" + messages + "}"), "user:q");
    EXPECT_EQ(prompt(R"({"kwargs":)" + messages + "}"), "user:q");
    EXPECT_EQ(prompt(R"({"args":[],"kwargs":{"model":"m","contents":"q"}})"), "user:q");
    EXPECT_EQ(prompt(R"("{\"args\":[],\"kwargs\":{\"prompt\":\"q\"}}")"), "user:q");
    EXPECT_EQ(prompt(R"({"args":["q"],"kwargs":{}})"), "user:q");
}

TEST(Langfuse, AddsUpUsageAndTakesThatOfOpenAi) {
    const auto with = [](const std::string& usage) {
        return read_log(R"({"type":"GENERATION","trace_id":"t","start_time":"2026-01-05 10:00:00",)"
                        R"("input":"x","usage_details":)" +
                        usage + "}\n");
    };
    const LogReading cached = with(R"({"input":5,"input_cached_tokens":32,"output":4,)"
                                   R"("output_reasoning_tokens":60,"total":101})");
    EXPECT_EQ(cached.calls[0].input_tokens, 37U);
    EXPECT_EQ(cached.calls[0].output_tokens, 64U);
    const LogReading claude =
        with(R"("{\"input\": 5, \"cache_read_input_tokens\": 100, \"output\": 1}")");
    EXPECT_EQ(claude.calls[0].input_tokens, 105U);
    EXPECT_FALSE(with(R"({"input":0,"output":0,"total":0})").calls[0].input_tokens);
    EXPECT_FALSE(with("null").calls[0].input_tokens);
    // Its older shape names them as OpenAI does.
    for (const char* usage :
         {R"({"promptTokens":7,"completionTokens":2,"totalTokens":9})",
          R"({"prompt_tokens":7,"completion_tokens":2,"input":1000,"output":1000})"}) {
        const LogReading got =
            read_log(R"({"type":"GENERATION","traceId":"t","startTime":1767607200,"input":"x",)"
                     R"("output":["y"],"usage":)" +
                     std::string(usage) + "}\n");
        ASSERT_EQ(got.calls.size(), 1U) << got.first_error();
        EXPECT_EQ(got.calls[0].input_tokens, 7U);
        EXPECT_EQ(std::tuple(got.calls[0].output_tokens, got.calls[0].answer), std::tuple(2U, "y"));
    }
}

// A call without its instant has no place in a trace: its line is refused, the others are read.
TEST(Importers, NeedTheirTimesAndMayBeNamed) {
    for (const std::string& call :
         {std::string(R"({"type":"GENERATION","traceId":"t","input":"x")"),
          std::string(R"({"name":"chat m","attributes":{"gen_ai.prompt":"x"})")}) {
        const std::string timed = call + R"(,"start_time":1767607200})";
        const LogReading got = read_log(timed + "\n" + call + "}\n" + timed + "\n");
        EXPECT_EQ(got.calls.size(), 2U) << call;
        EXPECT_EQ(got.errors.count, 1U);
        EXPECT_TRUE(says(got.first_error(), "log:2: start_time is missing"));
    }
    // The format may be named; an array of objects that are of no log is refused once.
    const std::string langfuse =
        R"([{"type":"GENERATION","traceId":"t","startTime":"2026-01-05T10:00:00Z","input":"x"},7])";
    const LogReading named = read_log(langfuse, "langfuse");
    EXPECT_EQ(std::tuple(named.calls.size(), named.format), std::tuple(1U, "langfuse"));
    EXPECT_TRUE(says(named.first_error(), "is not a JSON object"));
    EXPECT_TRUE(read_log(langfuse, "litellm").calls.empty());
    const LogReading unknown = read_log(R"([{"a":1},{"b":2}])");
    EXPECT_EQ(unknown.errors.count, 1U);
    EXPECT_TRUE(says(unknown.first_error(), "does not have the keys of a known log format"));
    const LogReading foreign = read_log(langfuse, "nginx");
    EXPECT_TRUE(says(foreign.first_error(), "this version reads otel, langfuse, litellm, plain"));
}

TEST(OpenTelemetry, TakesMessagesAndLeavesOutOtherSpans) {
    const LogReading numbered =
        read_log(R"({"name":"openai.chat","context":{"trace_id":"t","span_id":"s"},)"
                 R"("start_time":"2026-01-05T10:00:00Z","attributes":{"llm.request.type":"chat",)"
                 R"("gen_ai.prompt.0.role":"user","gen_ai.prompt.0.content":"hi",)"
                 R"("gen_ai.prompt.1.role":"assistant","gen_ai.completion.0.content":"ho"}})"
                 "\n");
    ASSERT_EQ(numbered.calls.size(), 1U) << numbered.first_error();
    EXPECT_EQ(as_text(numbered), "1767607200000000000..-1|user:hi|assistant:|=ho|0+0|t\n");
    EXPECT_EQ(numbered.calls[0].id, "t/s");
    const LogReading system = read_log(
        R"({"name":"chat m","start_time":1767607200,"attributes":{)"
        R"("gen_ai.system_instructions":"[{\"type\":\"text\",\"content\":\"be brief\"}]",)"
        R"("gen_ai.tool.definitions":"[{\"name\":\"f\"}]","gen_ai.input.messages":[)"
        R"({"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","parts":)"
        R"([{"type":"tool_call","id":"1","name":"f","arguments":{"x":1}}]},{"role":"tool","parts":)"
        R"([{"type":"tool_call_response","id":"1","response":"2"}]}]}})"
        "\n");
    ASSERT_EQ(system.calls.size(), 1U) << system.first_error();
    EXPECT_EQ(as_text(system),
              "1767607200000000000..-1|tools:[{\"name\":\"f\"}]|system:be brief|user:hi|"
              "assistant:f\n{\"x\":1}|tool:2|=-|0+0|\n");
    const LogReading got = read_log(
        R"({"spans":[{"name":"execute_tool f","start_time":1767607200,"attributes":{)"
        R"("gen_ai.operation.name":"execute_tool"}},{"name":"chat m","start_time":1767607200,)"
        R"("attributes":{"gen_ai.operation.name":"embeddings"}},{"name":"chat m",)"
        R"("status":{"code":"STATUS_CODE_ERROR"},"start_time":1767607200,"attributes":{}}]})"
        "\n");
    ASSERT_EQ(got.calls.size(), 1U);
    EXPECT_TRUE(got.calls[0].failed);
    EXPECT_EQ(got.calls[0].place, "spans[2].");
    EXPECT_EQ(got.count("not a request to a model"), 2U);
}

std::string plain(const std::string& more) {
    return R"({"timestamp":1767607200,)" + more + "}\n";
}

TEST(Plain, TakesEveryApi) {
    const auto prompt = [](const std::string& body) {
        const std::string all = as_text(read_log(plain(R"("request":)" + body)));
        const std::size_t begin = all.find('|');
        return all.substr(begin, all.find("|=") - begin);
    };
    EXPECT_EQ(prompt(R"({"prompt":"once"})"), "|:once");
    EXPECT_EQ(prompt(R"("{\"prompt\":\"once\"}")"), "|:once");
    EXPECT_EQ(prompt(R"({"prompt":"{\"a\":1}"})"), "|:{\"a\":1}");
    EXPECT_EQ(prompt(R"({"prompt":"{\"output\":1}"})"), "|:{\"output\":1}");
    EXPECT_EQ(prompt(R"({"prompt":"[{\"role\":1}, 2]"})"), "|:[{\"role\":1}, 2]");
    EXPECT_EQ(prompt(R"({"system":[{"type":"text","text":"s"}],"messages":[{"role":"user",)"
                     R"("content":[{"type":"tool_result","content":[{"type":"text","text":"r"}]},)"
                     R"({"type":"text","text":"u"}]}]})"),
              "|system:s|user:r\nu");
    EXPECT_EQ(prompt(R"({"instructions":"s","input":[{"role":"user","content":[{"type":)"
                     R"("input_text","text":"u"}]},{"type":"function_call","name":"f",)"
                     R"("arguments":"{}"},{"type":"function_call_output","output":"o"}]})"),
              "|system:s|user:u|assistant:f\n{}|tool:o");
    EXPECT_EQ(prompt(R"({"tools":[{"x":1}],"messages":[{"role":"assistant","content":null,)"
                     R"("tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]})"),
              "|tools:[{\"x\":1}]|assistant:f\n{}");
    EXPECT_EQ(prompt(R"({"prompt":[1,2,3]})"), "");
    EXPECT_EQ(prompt(R"({"messages":[{"role":"user","content":{"type":"text","text":"u"}}]})"),
              "|user:u");
}

TEST(Plain, CountsWhatIsNoTextAndReadsUsage) {
    const auto image = [](const char* url) {
        return plain(R"("messages":[{"role":"user","content":[{"type":"text","text":"see"},)"
                     R"({"type":"image_url","image_url":{"url":")" +
                     std::string(url) +
                     R"("}}]}],"n":2,"response":{"choices":[{"text":"a"},)"
                     R"({"text":"b"}]})");
    };
    const LogReading other_got =
        read_log(image("data:one") + image("data:two") + image("data:one"));
    ASSERT_EQ(other_got.calls.size(), 3U) << other_got.first_error();
    EXPECT_EQ(other_got.count("is not text"), 3U);
    EXPECT_EQ(other_got.count("has several answers"), 3U);
    EXPECT_EQ(other_got.count("asks for several answers"), 3U);
    const auto text = [&](std::size_t i) { return other_got.calls[i].prompt[0].text; };
    EXPECT_TRUE(text(0).starts_with("see\n[part "));
    EXPECT_FALSE(says(text(0), "data:"));
    EXPECT_EQ(text(0), text(2));
    EXPECT_NE(text(0), text(1));
    EXPECT_EQ(other_got.calls[0].answer, "a");
    const auto usage = [](const std::string& json) {
        const LogReading got =
            read_log(plain(R"("prompt":"x","response":{"text":"y","usage":)" + json + "}"));
        return std::to_string(got.calls[0].input_tokens.value_or(0)) + "+" +
               std::to_string(got.calls[0].output_tokens.value_or(0));
    };
    EXPECT_EQ(usage(R"({"prompt_tokens":3,"completion_tokens":4,"total_tokens":7})"), "3+4");
    EXPECT_EQ(usage(R"({"input_tokens":3,"output_tokens":4})"), "3+4");
    EXPECT_EQ(usage(R"({"input_tokens":3,"cache_read_input_tokens":20,)"
                    R"("cache_creation_input_tokens":100,"output_tokens":4})"),
              "123+4");
    EXPECT_EQ(usage(R"({"prompt_tokens":-3,"completion_tokens":1e99})"), "0+0");
    EXPECT_EQ(usage(R"({"prompt_tokens":134217728,"completion_tokens":134217729})"), "134217728+0");
}

TEST(Plain, TakesTimesOfEveryUnitAndFailures) {
    const auto start = [](const std::string& time) {
        const LogReading got = read_log(R"({"prompt":"x","time":)" + time + "}\n");
        return got.calls.empty() ? -1 : got.calls[0].start_ns;
    };
    constexpr std::int64_t at = 1'767'607'200'250'000'000;
    expect_each(start, gives("1767607200.25", at), gives("1767607200250", at),
                gives("\"1767607200250000\"", at), gives("1767607200250000000", at),
                gives("\"2026-01-05T10:00:00.25Z\"", at),
                gives("\"2026-01-05 11:30:00.250+01:30\"", at), gives("17", -1), gives("true", -1));
    const LogReading got = read_log(plain(R"("prompt":"x","end_time":1767607199)") +
                                    plain(R"("prompt":"x","end_time":1767607200)"));
    ASSERT_EQ(got.calls.size(), 2U);
    EXPECT_FALSE(got.calls[0].end_ns);
    EXPECT_TRUE(got.calls[1].end_ns);
    EXPECT_EQ(got.count("end is not after"), 1U);
    const auto failed = [](const std::string& more) {
        return read_log(plain(R"("prompt":"x",)" + more)).calls[0].failed;
    };
    EXPECT_TRUE(failed(R"("status":429)") && failed(R"("status_code":500)"));
    EXPECT_TRUE(failed(R"("status":"Error")") && failed(R"("error":"timeout")"));
    EXPECT_TRUE(failed(R"("response":{"error":{"message":"no"}})"));
    EXPECT_FALSE(failed(R"("status":200,"error":null)") || failed(R"("status":399,"error":"")"));
}

// Every format of logs gives the same calls of the same service, however its bytes are cut.

std::string file(const std::string& name) {
    return read_bytes(TEST_DATA "/logs/" + name);
}

struct Export {
    const char* name;
    const char* format;
};
constexpr Export exports[] = {{"litellm.jsonl", "litellm"},
                              {"langfuse.jsonl", "langfuse"},
                              {"otel.json", "otel"},
                              {"otlp.jsonl", "otel"},
                              {"plain.jsonl", "plain"}};

TEST(LogFormats, HoldTheSameCalls) {
    const LogReading plain = read_log(file("plain.jsonl"));
    ASSERT_EQ(plain.calls.size(), 4U) << plain.first_error();
    for (const Export& one : exports) {
        const LogReading got = read_log(file(one.name));
        EXPECT_EQ(got.format, one.format);
        ASSERT_EQ(got.calls.size(), 4U) << one.name << ": " << got.first_error();
        EXPECT_TRUE(got.errors.empty()) << got.first_error();
        for (std::size_t i = 0; i < 4; ++i) {
            const LogCall& a = got.calls[i];
            const LogCall& b = plain.calls[i];
            EXPECT_EQ(a.start_ns, b.start_ns) << one.name;
            EXPECT_EQ(a.end_ns, b.end_ns) << one.name;
            EXPECT_EQ(a.session, b.session) << one.name;
            EXPECT_EQ(a.failed, i == 0) << one.name;
            ASSERT_EQ(a.prompt.size(), b.prompt.size()) << one.name;
            for (std::size_t m = 0; m < a.prompt.size(); ++m) {
                EXPECT_EQ(a.prompt[m].role, b.prompt[m].role) << one.name;
                EXPECT_EQ(a.prompt[m].text, b.prompt[m].text) << one.name;
            }
            EXPECT_FALSE(a.id.empty() || a.model.empty());
            if (i > 0) {
                EXPECT_EQ(a.answer, b.answer) << one.name;
                EXPECT_EQ(a.input_tokens, b.input_tokens) << one.name;
                EXPECT_EQ(a.output_tokens, b.output_tokens) << one.name;
            }
        }
    }
}

// Expectations by hand, not by another importer.
TEST(LogFormats, SayWhatTheScriptWroteHoweverItIsCut) {
    const LogReading got = read_log(file("plain.jsonl"));
    ASSERT_EQ(got.calls.size(), 4U);
    EXPECT_EQ(got.calls[1].start_ns, 1'767'607'200'000'000'000);
    EXPECT_EQ(std::tuple(got.calls[3].start_ns, got.calls[3].end_ns, got.calls[3].prompt.size()),
              std::tuple(1'767'607'204'125'000'000, 1'767'607'205'000'000'000, 4U));
    EXPECT_EQ(got.calls[3].prompt[2].role, "assistant");
    EXPECT_EQ(got.calls[3].input_tokens, 397U);
    EXPECT_EQ(std::tuple(got.calls[3].output_tokens, got.calls[3].answer, got.calls[3].session),
              std::tuple(21U, "Yes, until Friday noon.", "conversation-alpha"));
    EXPECT_EQ(got.calls[3].streamed, true);
    for (const Export& one : exports) {
        const std::string text = file(one.name);
        const std::string whole = as_text(read_log(text));
        EXPECT_EQ(as_text(read_log(text, "", {}, 1)), whole) << one.name;
        for (std::size_t piece = 2; piece < 600; ++piece) {
            ASSERT_EQ(as_text(read_log(text, "", {}, piece)), whole) << one.name << " by " << piece;
        }
    }
    // Cut anywhere, a log gives the calls whose lines are whole, and a complaint that quotes no
    // text.
    const std::string text = file("litellm.jsonl");
    for (std::size_t size = 1; size < text.size(); ++size) {
        const LogReading other_got = read_log(std::string_view(text).substr(0, size));
        const auto lines = static_cast<std::size_t>(
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
        const bool at_end = text[size - 1] == '\n' || text[size] == '\n';
        EXPECT_EQ(other_got.errors.count, at_end ? 0U : 1U) << size << other_got.first_error();
        EXPECT_EQ(other_got.calls.size(), lines + (at_end && text[size] == '\n' ? 1 : 0)) << size;
        EXPECT_FALSE(says(other_got.first_error(), "Marzipan"));
    }
}

TEST(LogFormats, AreFoundOverSeveralLinesOrNamed) {
    EXPECT_TRUE(says(read_log("{\"a\":1}\n").first_error(), "keys of a known log"));
    EXPECT_TRUE(says(read_log("{}\n", "csv").first_error(), "litellm"));
    EXPECT_TRUE(says(read_log("time,prompt\n1,2\n").first_error(), "is not a JSON object"));
    EXPECT_TRUE(says(read_log("[1]\n").first_error(), "is not a JSON object"));
    EXPECT_TRUE(read_log("").errors.empty() && read_log("[]\n").errors.empty());
    const LogReading got = read_log(file("litellm.jsonl"), "", {"model_group", "cache_hit"});
    ASSERT_EQ(got.calls.size(), 4U);
    EXPECT_EQ(got.calls[0].kept, R"({"model_group":"harbour","cache_hit":false})");
    const LogReading spans = read_log(file("otlp.jsonl"), "", {"gen_ai.request.model"});
    ASSERT_EQ(spans.calls.size(), 4U);
    EXPECT_EQ(spans.calls[0].kept, R"({"gen_ai.request.model":"harbour-7b"})");
    EXPECT_TRUE(says(read_log(file("plain.jsonl"), "", {"modle"}).first_error(), "modle"));
    // As jq writes them: objects over several lines, one behind the other.
    const std::string lines = file("litellm.jsonl");
    std::string spread;
    for (const char c : lines) {
        spread += c;
        spread += c == '{' || c == '}' ? "\n" : "";  // the log has none of them in its strings
    }
    const LogReading other_got = read_log(spread);
    const LogReading plain = read_log(lines);
    EXPECT_EQ(other_got.first_error(), "");
    EXPECT_EQ(as_text(other_got), as_text(plain));
    const LogReading broken = read_log("{\n\"id\": 1,}\n" + spread);
    EXPECT_EQ(broken.errors.count, 1U) << as_text(broken);
}

}  // namespace
}  // namespace driftless
