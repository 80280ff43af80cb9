// What --extra-body may replace, and what is refused before anything is sent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/flags/checks.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

/// What is said of the command; empty: it runs.
std::string said(const std::string& extra, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"t.jsonl", "--url", "http://h:8000", "--extra-body", extra};
    words.insert(words.end(), more.begin(), more.end());
    const ReplayCommandLine line = parse_replay_options(words, "");
    return line.kind == ReplayCommandLine::Kind::run ? "" : line.text;
}

TEST(ExtraBody, NeverReplacesThePrompt) {
    const std::string held = " contains the prompt and cannot be replaced; remove it";
    EXPECT_TRUE(says(said(R"({"top_p":1,"messages":[]})"), "--extra-body: \"messages\"" + held));
    EXPECT_TRUE(says(said(R"({"input":""})", {"--api", "openai-responses"}), "\"input\"" + held));
    const std::string form = std::string(TEST_DATA) + "/templates/ollama.json";
    EXPECT_TRUE(says(said(R"({"prompt":"x"})", {"--api", "template", "--template", form}),
                     "\"prompt\"" + held));
    EXPECT_NE(said(R"({"messages":[]})", {"--dry-run"}), "");
}

TEST(ExtraBody, IsMergedIntoTheObjectOfTheLength) {
    EXPECT_TRUE(
        says(said(R"({"options":1})", {"--api", "ollama"}), "\"options\" has other members"));
    EXPECT_EQ(said(R"({"options":{"num_ctx":4096}})", {"--api", "ollama"}), "");
}

TEST(ExtraBody, MayReplaceAllElse) {
    EXPECT_EQ(said(R"({"temperature":1,"stream_options":null,"model":"x","max_tokens":3})"), "");
    EXPECT_EQ(said("{}"), "");
}

TEST(ExtraBody, KnowsItsPlaceholders) {
    EXPECT_EQ(said(R"({"priority":"{kept.prio}","r":"{row}"})", {"--keep", "prio"}), "");
    EXPECT_TRUE(says(said(R"({"priority":"{kept.prio}"})"), "add --keep prio"));
    EXPECT_TRUE(says(said(R"({"priority":"{rwo}"})"), "--extra-body: {rwo} is not one of {row}"));
    EXPECT_TRUE(says(said(R"({"u":"{user}"})"), "add --users N"));
    EXPECT_EQ(said(R"({"regex":"[a-z]{3}"})"), "");
}

}  // namespace
}  // namespace driftless
