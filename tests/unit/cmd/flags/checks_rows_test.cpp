// What --extra-body may replace, and what is refused before anything is sent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/flags/checks.hpp"

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
    EXPECT_NE(said(R"({"top_p":1,"messages":[]})").find("--extra-body: \"messages\"" + held),
              std::string::npos);
    EXPECT_NE(said(R"({"input":""})", {"--api", "openai-responses"}).find("\"input\"" + held),
              std::string::npos);
    const std::string form = std::string(TEST_DATA) + "/templates/ollama.json";
    EXPECT_NE(said(R"({"prompt":"x"})", {"--api", "template", "--template", form})
                  .find("\"prompt\"" + held),
              std::string::npos);
    EXPECT_NE(said(R"({"messages":[]})", {"--dry-run"}), "");
}

TEST(ExtraBody, IsMergedIntoTheObjectOfTheLength) {
    EXPECT_NE(said(R"({"options":1})", {"--api", "ollama"}).find("\"options\" has other members"),
              std::string::npos);
    EXPECT_EQ(said(R"({"options":{"num_ctx":4096}})", {"--api", "ollama"}), "");
}

TEST(ExtraBody, MayReplaceAllElse) {
    EXPECT_EQ(said(R"({"temperature":1,"stream_options":null,"model":"x","max_tokens":3})"), "");
    EXPECT_EQ(said("{}"), "");
}

TEST(ExtraBody, KnowsItsPlaceholders) {
    EXPECT_EQ(said(R"({"priority":"{kept.prio}","r":"{row}"})", {"--keep", "prio"}), "");
    EXPECT_NE(said(R"({"priority":"{kept.prio}"})").find("add --keep prio"), std::string::npos);
    EXPECT_NE(said(R"({"priority":"{rwo}"})").find("--extra-body: {rwo} is not one of {row}"),
              std::string::npos);
    EXPECT_NE(said(R"({"u":"{user}"})").find("add --users N"), std::string::npos);
    EXPECT_EQ(said(R"({"regex":"[a-z]{3}"})"), "");
}

}  // namespace
}  // namespace driftless
