// What one answer to a probe says is read whole, and no impossible number is believed.
#include "engine/preflight/probe.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace driftless {
namespace {

Reply reply_of(std::string body, const std::string& fields = "") {
    Reply reply;
    reply.status = 200;
    reply.head = "HTTP/1.1 200 OK\r\n" + fields + "\r\n";
    reply.body = std::move(body);
    return reply;
}

std::int64_t prompt_tokens(const std::string& told) {
    const std::string event =
        R"(data: {"id":"r","choices":[],"usage":{"prompt_tokens":)" + told + "}}\n\n";
    return read_probe(dialect_of(Api::openai_chat), true, reply_of(event)).prompt_tokens;
}

TEST(Probe, BelievesNoImpossibleCount) {
    EXPECT_EQ(prompt_tokens("17"), 17);
    EXPECT_EQ(prompt_tokens("134217728"), tokens_told_max);
    for (const char* told : {"134217729", "4294967300", "9223372036854775807", "-5", "\"5\""}) {
        EXPECT_EQ(prompt_tokens(told), -1) << told;
    }
    const auto by_head = [](const char* field) {
        const Reply reply = reply_of(R"({"generated_text":"a"})", field);
        return read_probe(dialect_of(Api::tgi), false, reply).prompt_tokens;
    };
    EXPECT_EQ(by_head("x-prompt-tokens: 12\r\n"), 12);
    EXPECT_EQ(by_head("x-prompt-tokens: -5\r\n"), -1);
    EXPECT_EQ(by_head("x-prompt-tokens: 4294967300\r\n"), -1);
    EXPECT_EQ(by_head(""), -1);
}

TEST(Probe, BelievesNoImpossibleContext) {
    EXPECT_EQ(read_context(R"({"max_total_tokens":4096})"), 4096);
    EXPECT_EQ(read_context(R"({"default_generation_settings":{"n_ctx":2048}})"), 2048);
    for (const char* told : {"134217729", "9223372036854775807", "-9223372036854775808", "null"}) {
        EXPECT_EQ(read_context(R"({"max_total_tokens":)" + std::string(told) + "}"), -1) << told;
    }
}

}  // namespace
}  // namespace driftless
