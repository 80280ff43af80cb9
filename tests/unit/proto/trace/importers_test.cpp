// What each importer leaves out, counts or refuses, by the oddities of its source.
#include <gtest/gtest.h>

#include "tests/unit/proto/trace/log_reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string litellm(const std::string& more) {
    return R"({"call_type":"completion","startTime":1767607200.5,"endTime":1767607201.25)" + more +
           "}\n";
}

TEST(LiteLlm, LeavesOutWhatNoServerSaw) {
    const LogReading got =
        read_log(litellm(R"(,"cache_hit":true,"messages":"x")") +
                 litellm(R"(,"cache_hit":"True","messages":"x")") +
                 R"({"call_type":"aembedding","startTime":1767607200,"input":"x"})"
                 "\n");
    EXPECT_TRUE(got.calls.empty());
    EXPECT_TRUE(got.errors.empty());
    EXPECT_EQ(got.count("answered by the proxy's cache"), 2U);
    EXPECT_EQ(got.count("call of another kind"), 1U);
}

TEST(LiteLlm, KnowsRedactedText) {
    const LogReading got = read_log(litellm(
        R"(,"prompt_tokens":9,"completion_tokens":3,"messages":[{"role":"user","content":"redacted-by-litellm"}],)"
        R"("response":{"text":"redacted-by-litellm"})"));
    ASSERT_EQ(got.calls.size(), 1U);
    EXPECT_TRUE(got.calls[0].prompt.empty());
    EXPECT_FALSE(got.calls[0].answer);
    EXPECT_EQ(got.calls[0].input_tokens, 9U);
    EXPECT_EQ(got.count("redacted"), 1U);
}

TEST(LiteLlm, TakesSpendLogs) {
    const LogReading got = read_log(
        R"({"request_id":"r","call_type":"acompletion","startTime":"2026-01-05T10:00:00.500Z",)"
        R"("endTime":"2026-01-05 10:00:01.250+00:00","session_id":"s","trace_id":"t",)"
        R"("messages":"[{\"role\": \"user\", \"content\": \"hi\"}]","response":"{\"choices\": [)"
        R"({\"message\": {\"content\": \"ho\"}}]}","prompt_tokens":"12","completion_tokens":1})"
        "\n");
    ASSERT_EQ(got.calls.size(), 1U) << got.first_error();
    EXPECT_EQ(as_text(got), "1767607200500000000..1767607201250000000|user:hi|=ho|12+1|s\n");
}

TEST(LiteLlm, NeedsItsTime) {
    const LogReading got = read_log(R"({"call_type":"completion","startTime":"soon"})"
                                    "\n" +
                                    litellm("") +
                                    R"({"call_type":"completion"})"
                                    "\n");
    EXPECT_EQ(got.calls.size(), 1U);
    EXPECT_EQ(got.errors.count, 2U);
    EXPECT_TRUE(says(to_text(got.errors.list[0]), "log:1: startTime"));
    EXPECT_FALSE(says(to_text(got.errors.list[0]), "soon"));
    EXPECT_TRUE(says(to_text(got.errors.list[1]), "log:3: startTime is missing"));
}

TEST(Langfuse, TakesApiPagesAndTraces) {
    const std::string one =
        R"({"type":"GENERATION","traceId":"t","startTime":"2026-01-05T10:00:00.500Z",)"
        R"("input":{"messages":[{"role":"user","content":"hi"}]},"output":"ho",)"
        R"("usage":{"input":7,"output":2,"total":9,"unit":"TOKENS","inputCost":1}})";
    const LogReading page = read_log("{\"data\":[" + one + "," + one + "],\n\"meta\":{}}");
    ASSERT_EQ(page.calls.size(), 2U) << page.first_error();
    EXPECT_EQ(page.calls[1].place, "data[1].");
    EXPECT_EQ(page.calls[0].session, "t");
    EXPECT_EQ(page.calls[0].input_tokens, 7U);
    EXPECT_EQ(page.calls[0].output_tokens, 2U);
    EXPECT_FALSE(page.calls[0].end_ns);
    const LogReading trace =
        read_log(R"({"id":"t","sessionId":"whole","observations":[)" + one + "]}\n");
    ASSERT_EQ(trace.calls.size(), 1U) << trace.first_error();
    EXPECT_EQ(trace.calls[0].session, "whole");
    EXPECT_EQ(trace.calls[0].prompt[0].text, "hi");
}

// Its decorators log the arguments of a call: the prompt may be a named one. As JSON and as text.
TEST(Langfuse, TakesNamedArguments) {
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

TEST(Langfuse, AddsUpUsage) {
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
}

// Its older shape names them as OpenAI does.
TEST(Langfuse, TakesUsageOfOpenAi) {
    for (const char* usage :
         {R"({"promptTokens":7,"completionTokens":2,"totalTokens":9})",
          R"({"prompt_tokens":7,"completion_tokens":2,"input":1000,"output":1000})"}) {
        const LogReading got =
            read_log(R"({"type":"GENERATION","traceId":"t","startTime":1767607200,"input":"x",)"
                     R"("output":["y"],"usage":)" +
                     std::string(usage) + "}\n");
        ASSERT_EQ(got.calls.size(), 1U) << got.first_error();
        EXPECT_EQ(got.calls[0].input_tokens, 7U);
        EXPECT_EQ(got.calls[0].output_tokens, 2U);
        EXPECT_EQ(got.calls[0].answer, "y");
    }
}

// A call without its instant has no place in a trace: its line is refused, the others are read.
TEST(Importers, NeedTheirTimes) {
    for (const std::string& call :
         {std::string(R"({"type":"GENERATION","traceId":"t","input":"x")"),
          std::string(R"({"name":"chat m","attributes":{"gen_ai.prompt":"x"})")}) {
        const std::string timed = call + R"(,"start_time":1767607200})";
        const LogReading got = read_log(timed + "\n" + call + "}\n" + timed + "\n");
        EXPECT_EQ(got.calls.size(), 2U) << call;
        EXPECT_EQ(got.errors.count, 1U);
        EXPECT_TRUE(says(got.first_error(), "log:2: start_time is missing"));
    }
}

// The format may be named; an array of objects that are of no log is refused once.
TEST(Importers, TakeTheNamedFormatAlone) {
    const std::string langfuse =
        R"([{"type":"GENERATION","traceId":"t","startTime":"2026-01-05T10:00:00Z","input":"x"},7])";
    const LogReading named = read_log(langfuse, "langfuse");
    EXPECT_EQ(named.calls.size(), 1U);
    EXPECT_EQ(named.format, "langfuse");
    EXPECT_TRUE(says(named.first_error(), "is not a JSON object"));
    EXPECT_TRUE(read_log(langfuse, "litellm").calls.empty());
    const LogReading unknown = read_log(R"([{"a":1},{"b":2}])");
    EXPECT_EQ(unknown.errors.count, 1U);
    EXPECT_TRUE(says(unknown.first_error(), "does not have the keys of a known log format"));
    const LogReading foreign = read_log(langfuse, "nginx");
    EXPECT_TRUE(says(foreign.first_error(), "this version reads otel, langfuse, litellm, plain"));
}

TEST(OpenTelemetry, TakesNumberedMessagesAndInstructions) {
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
}

TEST(OpenTelemetry, LeavesOutOtherSpans) {
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

TEST(Plain, CountsWhatIsNoText) {
    const auto image = [](const char* url) {
        return plain(R"("messages":[{"role":"user","content":[{"type":"text","text":"see"},)"
                     R"({"type":"image_url","image_url":{"url":")" +
                     std::string(url) +
                     R"("}}]}],"n":2,"response":{"choices":[{"text":"a"},)"
                     R"({"text":"b"}]})");
    };
    const LogReading got = read_log(image("data:one") + image("data:two") + image("data:one"));
    ASSERT_EQ(got.calls.size(), 3U) << got.first_error();
    EXPECT_EQ(got.count("is not text"), 3U);
    EXPECT_EQ(got.count("has several answers"), 3U);
    EXPECT_EQ(got.count("asks for several answers"), 3U);
    const auto text = [&](std::size_t i) { return got.calls[i].prompt[0].text; };
    EXPECT_TRUE(text(0).starts_with("see\n[part "));
    EXPECT_FALSE(says(text(0), "data:"));
    EXPECT_EQ(text(0), text(2));
    EXPECT_NE(text(0), text(1));
    EXPECT_EQ(got.calls[0].answer, "a");
}

TEST(Plain, ReadsUsageOfEveryApi) {
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

TEST(Plain, TakesTimesOfEveryUnit) {
    const auto start = [](const std::string& time) {
        const LogReading got = read_log(R"({"prompt":"x","time":)" + time + "}\n");
        return got.calls.empty() ? -1 : got.calls[0].start_ns;
    };
    constexpr std::int64_t at = 1'767'607'200'250'000'000;
    EXPECT_EQ(start("1767607200.25"), at);
    EXPECT_EQ(start("1767607200250"), at);
    EXPECT_EQ(start("\"1767607200250000\""), at);
    EXPECT_EQ(start("1767607200250000000"), at);
    EXPECT_EQ(start("\"2026-01-05T10:00:00.25Z\""), at);
    EXPECT_EQ(start("\"2026-01-05 11:30:00.250+01:30\""), at);
    EXPECT_EQ(start("17"), -1);
    EXPECT_EQ(start("true"), -1);
}

TEST(Plain, DropsAnEndBeforeTheBeginning) {
    const LogReading got = read_log(plain(R"("prompt":"x","end_time":1767607199)") +
                                    plain(R"("prompt":"x","end_time":1767607200)"));
    ASSERT_EQ(got.calls.size(), 2U);
    EXPECT_FALSE(got.calls[0].end_ns);
    EXPECT_TRUE(got.calls[1].end_ns);
    EXPECT_EQ(got.count("end is not after"), 1U);
}

TEST(Plain, KnowsFailures) {
    const auto failed = [](const std::string& more) {
        return read_log(plain(R"("prompt":"x",)" + more)).calls[0].failed;
    };
    EXPECT_TRUE(failed(R"("status":429)"));
    EXPECT_TRUE(failed(R"("status_code":500)"));
    EXPECT_TRUE(failed(R"("status":"Error")"));
    EXPECT_TRUE(failed(R"("error":"timeout")"));
    EXPECT_TRUE(failed(R"("response":{"error":{"message":"no"}})"));
    EXPECT_FALSE(failed(R"("status":200,"error":null)"));
    EXPECT_FALSE(failed(R"("status":399,"error":"")"));
}

}  // namespace
}  // namespace driftless
