// Every shape in which services write what was asked and answered gives the text that was there:
// parts, results of tools, items of the responses API, and JSON within a string.
#include <gtest/gtest.h>

#include <string>

#include "proto/trace/logs.hpp"
#include "tests/unit/proto/trace/log_reading.hpp"

namespace driftless {
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
    EXPECT_EQ(prompt_of(user(R"(["a",{"type":"text","text":"b"},{"thinking":"c"}])")),
              "user:a\nb\nc|");
    EXPECT_EQ(prompt_of(user(R"({"type":"text","text":"one part"})")), "user:one part|");
    EXPECT_EQ(prompt_of(user(R"([{"type":"tool_use","name":"f","input":{"a":1}}])")),
              "user:f\n{\"a\":1}|");
    EXPECT_EQ(prompt_of(user(R"([{"type":"tool_result","content":"plain"}])")), "user:plain|");
    EXPECT_EQ(prompt_of(user(R"([{"type":"tool_result","content":[{"text":"x"},"y"]}])")),
              "user:x\ny|");
    EXPECT_EQ(prompt_of(user("7")), "user:7|");
    EXPECT_EQ(prompt_of(user("null")), "user:|");
}

// What is no text is there all the same: equal parts have equal marks, others have others.
TEST(LogMessages, MarkWhatIsNoText) {
    const auto marks_of = [](const std::string& content) {
        const LogReading got = call(user(content), R"({"content":"x"})");
        EXPECT_EQ(got.count("not text (image"), 1U);
        return got.calls.empty() ? "" : got.calls[0].prompt[0].text;
    };
    const std::string image = marks_of(R"([{"type":"image","data":"QQ=="}])");
    EXPECT_EQ(image.substr(0, 6), "[part ");
    EXPECT_EQ(image.size(), 23U);
    EXPECT_EQ(image,
              marks_of(R"([{"type":"tool_result","content":[{"type":"image","data":"QQ=="}]}])"));
    EXPECT_NE(image, marks_of(R"([{"type":"image","data":"Qg=="}])"));
}

TEST(LogMessages, HoldInstructionsAndTools) {
    EXPECT_EQ(prompt_of(R"({"tools":[{"name":"f"}],"system":[{"type":"text","text":"s"}],)"
                        R"("messages":[{"role":"user","content":"q"}]})"),
              "tools:[{\"name\":\"f\"}]|system:s|user:q|");
    EXPECT_EQ(prompt_of(R"({"prompt":"as it stands"})"), ":as it stands|");
    EXPECT_EQ(prompt_of(R"({"prompt":{"role":"user","content":"alone"}})"), "user:alone|");
    EXPECT_EQ(prompt_of(R"({"prompt":"{\"messages\":[{\"role\":\"user\",\"content\":\"in\"}]}"})"),
              "user:in|");
    EXPECT_EQ(call(R"({"prompt":[1,2,3],"n":2})", R"({"content":"x"})").count("list of token ids"),
              1U);
}

TEST(LogMessages, HoldTheItemsOfTheResponsesApi) {
    EXPECT_EQ(prompt_of(R"({"instructions":"be kind","input":[{"type":"message","role":"user",)"
                        R"("content":[{"type":"input_text","text":"q"}]},{"type":"function_call",)"
                        R"("name":"f","arguments":"{}"},{"type":"function_call_output",)"
                        R"("output":"r"}]})"),
              "system:be kind|user:q|assistant:f\n{}|tool:r|");
    EXPECT_EQ(answer_of(R"({"output":[{"type":"message","content":[{"type":"output_text",)"
                        R"("text":"a"}]},{"type":"function_call","name":"g","arguments":"{}"}]})"),
              "a\ng\n{}");
}

TEST(LogMessages, HoldTheFirstOfSeveralAnswers) {
    EXPECT_EQ(answer_of(R"("bare")"), "bare");
    EXPECT_EQ(answer_of(R"({"choices":[]})"), "-");
    EXPECT_EQ(answer_of(R"([{"message":{"content":"a"}},{"message":{"content":"b"}}])"), "a");
    EXPECT_EQ(answer_of(R"({"choices":[{"message":{"content":"a","reasoning":"why"}}]})"),
              "a\nwhy");
    const std::string calls =
        R"({"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f",)"
        R"("arguments":"{}"}}]}},{"message":{"content":"b"}}]})";
    EXPECT_EQ(answer_of(calls), "f\n{}");
    const LogReading got = call(user("\"q\""), calls);
    EXPECT_EQ(got.count("answer calls tools"), 1U);
    EXPECT_EQ(got.count("several answers"), 1U);
}

}  // namespace
}  // namespace driftless
