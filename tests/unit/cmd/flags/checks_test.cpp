// `--against`: the second of two servers, and the flags that do not go with it, each with a reason
// and a remedy.
#include "cmd/flags/checks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cmd/flags/parse_flags.hpp"

namespace driftless {
namespace {

Words against(Words more) {
    more.insert(more.begin(), {"--against", "http://g:9000/base"});
    return more;
}

TEST(DualFlags, AgainstIsTheSecondTarget) {
    const ReplayOptions options = options_with(against({}));
    EXPECT_TRUE(options.server.dual);
    ASSERT_EQ(options.server.targets.size(), 2u);
    EXPECT_EQ(options.server.targets[0].url.host, "h");
    EXPECT_EQ(options.server.targets[1].url.host, "g");
    EXPECT_EQ(options.server.targets[1].api_path, "/base/v1/chat/completions");
    EXPECT_EQ(options.server.targets[1].root_path, "/base");
}

TEST(DualFlags, TakesTheServerOfTheFirstSideAsWell) {
    const ReplayOptions options = options_with({"--against", "http://h:8000"});
    EXPECT_EQ(options.server.targets.size(), 2u);
}

TEST(DualFlags, NamesAModelOfItsOwn) {
    EXPECT_EQ(options_with(against({"--against-model", "m"})).request.against_model, "m");
    EXPECT_TRUE(says(refusal_with({"--against-model", "m"}), "needs --against"));
    EXPECT_TRUE(
        says(refusal_with(against({"--model", "{kept.m}", "--keep", "m", "--against-model", "n"})),
             "remove --against-model"));
}

TEST(DualFlags, RefuseWhatTheAnswersOfOneServerDecide) {
    const std::pair<const char*, Words> loops[] = {
        {"--users", {"--users", "2"}},
        {"--concurrency", {"--concurrency", "2"}},
        {"--sessions closed", {"--sessions", "closed"}},
        {"--budget-input", {"--budget-input", "100000/m"}},
        {"--budget-output", {"--budget-output", "100000/m"}},
    };
    for (const auto& [flag, words] : loops) {
        const std::string refusal = refusal_with(against(words));
        EXPECT_TRUE(says(refusal, "but with " + std::string(flag) + " "));
        EXPECT_TRUE(says(refusal, "remove one"));
    }
    EXPECT_TRUE(
        says(refusal_with(against({"--assistant", "live", "--sessions", "closed"})), "remove one"));
}

TEST(DualFlags, RefuseWhatHasOnePlaceForTwoServers) {
    EXPECT_TRUE(says(refusal_with(against({"--url", "http://i:1"})), "give only one --url"));
    EXPECT_TRUE(says(refusal_with(against({"--connect-to", "i:1"})), "--connect-to"));
    EXPECT_TRUE(says(refusal_with(against({"--connection", "sticky", "--balance", "session"})),
                     "--connection sticky"));
    EXPECT_TRUE(says(refusal_with(against({"--save-prompts", "f"})), "--save-prompts"));
    const ReplayCommandLine alone =
        parse_replay_options({"trace.jsonl", "--dry-run", "--against", "http://g:1"}, "");
    EXPECT_TRUE(says(alone.text, "give the first with --url"));
}

}  // namespace
}  // namespace driftless
