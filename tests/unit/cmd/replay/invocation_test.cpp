// Whatever of a command line is a credential is known as one, and nothing else is.
#include "cmd/replay/invocation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "cmd/base/secrets.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

ReplayOptions options_of(const Texts& flags) {
    Texts arguments = {"t.jsonl", "--url=http://h"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    ReplayCommandLine line = parse_replay_options(arguments, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return std::move(line.options);
}

Texts secrets(const Texts& flags) {
    const ReplayOptions options = options_of(flags);
    return secrets_of(take_credentials(options.request, options.server.targets).value().all);
}

TEST(Credentials, AreKnownWhereverTheyStand) {
    EXPECT_EQ(secrets({"--api-key=sk-1"}), (Texts{"Bearer sk-1", "sk-1"}));
    EXPECT_EQ(secrets({"--header=X-Api-Key: prod-{row}-of-{turn}"}), (Texts{"prod-", "-of-"}));
    EXPECT_EQ(secrets({R"(--extra-body={"api_key":"sk\\/1"})"}), (Texts{R"(sk\\/1)", R"(sk\/1)"}));
    EXPECT_EQ(secrets({R"(--extra-body={"user":"me"})", "--header=X-Team: blue-{row}"}), Texts{});
}

// The key is in what is sent and nowhere else: not in the flags, not in the environment.
TEST(Credentials, ComeFromTheEnvironmentAndLeaveTheFlagsAsTyped) {
    ASSERT_EQ(::setenv("DRIFTLESS_TEST_KEY", "sk-9", 1), 0);
    const ReplayOptions options = options_of({"--header=X-Team: env:DRIFTLESS_TEST_KEY"});
    const Credentials credentials =
        take_credentials(options.request, options.server.targets).value();
    EXPECT_EQ(credentials.headers.front().value, "sk-9");
    EXPECT_EQ(secrets_of(credentials.all), Texts{"sk-9"});
    EXPECT_EQ(options.request.headers.front().value, "env:DRIFTLESS_TEST_KEY");
    EXPECT_EQ(std::getenv("DRIFTLESS_TEST_KEY"), nullptr);
}

// Saved bodies would hold the key, and no file may.
TEST(Credentials, AreNotSavedWithPrompts) {
    const ReplayCommandLine line = parse_replay_options(
        {"t.jsonl", "--url=http://h", "--save-prompts=p", R"(--extra-body={"api_key":"sk-1"})"},
        "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::refused);
    EXPECT_TRUE(says(line.text, "api_key"));
    EXPECT_FALSE(says(line.text, "sk-1"));
}

}  // namespace
}  // namespace driftless
