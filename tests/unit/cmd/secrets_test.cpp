// No key, token or password survives in what is shown or recorded.
#include "cmd/secrets.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(Secrets, MaskUserPartsOfUrls) {
    EXPECT_EQ(mask_url("http://user:word@host:80/v1"), "http://***@host:80/v1");
    EXPECT_EQ(mask_url("http://user:w@rd@host"), "http://***@host");
    EXPECT_EQ(mask_url("user:word@host:80"), "***@host:80");
    EXPECT_EQ(mask_url("http://host/a@b"), "http://host/a@b");
    EXPECT_EQ(mask_url("trace@2024.jsonl"), "trace@2024.jsonl");
    EXPECT_EQ(mask_url("http://host:80"), "http://host:80");
}

// Both spellings of a flag with its value, and nothing else is touched.
TEST(Secrets, MaskCommandLines) {
    const std::vector<std::string> typed{"replay",
                                         "t.jsonl",
                                         "--api-key",
                                         "sk-1",
                                         "--api-key=sk-2",
                                         "--header",
                                         "Authorization: Bearer sk-3",
                                         "--header=X-Api-Key=sk-4",
                                         "--header",
                                         "X-Team: a",
                                         "--url",
                                         "http://u:sk-5@h",
                                         "--speed",
                                         "2"};
    const std::vector<std::string> masked{"replay",
                                          "t.jsonl",
                                          "--api-key",
                                          "***",
                                          "--api-key=***",
                                          "--header",
                                          "Authorization:***",
                                          "--header=X-Api-Key=***",
                                          "--header",
                                          "X-Team: a",
                                          "--url",
                                          "http://***@h",
                                          "--speed",
                                          "2"};
    EXPECT_EQ(mask_command(typed), masked);
}

// A reference to the environment is no secret: it is what run.json keeps of one.
TEST(Secrets, LeaveReferences) {
    EXPECT_EQ(environment_name("env:MY_KEY2"), "MY_KEY2");
    for (const char* other : {"", "env:", "env:a-b", "env:a b", "Env:A", "xenv:A", "sk-env:A"}) {
        EXPECT_EQ(environment_name(other), "") << other;
    }
    EXPECT_EQ(mask_value("--api-key", "env:MY_KEY"), "env:MY_KEY");
    EXPECT_EQ(mask_value("--api-key", "env:my key"), "***");
    EXPECT_EQ(mask_value("--header", "X-Api-Key: env:MY_KEY"), "X-Api-Key: env:MY_KEY");
    EXPECT_EQ(mask_value("--header", "X-Api-Key : s3cret"), "X-Api-Key :***");
}

TEST(Secrets, KnowHeadersThatCarryThem) {
    for (const char* name : {"Authorization", "authorization", "Proxy-Authorization", "Cookie",
                             "X-API-Key", "api-key", "X-Auth-Token", "Client-Secret"}) {
        EXPECT_TRUE(is_secret_header(name)) << name;
    }
    for (const char* name : {"X-Team", "Accept", "User-Agent", "traceparent"}) {
        EXPECT_FALSE(is_secret_header(name)) << name;
    }
}

// A server may repeat the bare token without "Bearer"; very short values would mask plain words.
TEST(Secrets, AreListedForMasking) {
    const std::vector<std::string> secrets = secrets_of(
        {{"Authorization", "Bearer sk-123"}, {"X-Api-Key", "abc"}, {"X-Team", "blue-green"}});
    EXPECT_EQ(secrets, std::vector<std::string>{"sk-123"});
}

}  // namespace
}  // namespace driftless
